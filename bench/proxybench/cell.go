package main

import (
	"context"
	"math"
	"time"
)

// runner is one cell being measured.
type runner struct {
	h        *harness
	c        benchCase
	address  string
	proxy    []int // nil: direct
	upstream []int // the harness itself included
}

func (r *runner) run(ctx context.Context, dir string) (cell, error) {
	switch r.c.kind {
	case throughput:
		return r.throughput(ctx, dir)
	case idle:
		return r.idle(ctx)
	default:
		return r.timed(ctx)
	}
}

// between runs job with the accounts read before and after.
func (r *runner) between(job func() (children time.Duration, err error)) (account, error) {
	before, err := take(r.proxy, r.upstream)
	if err != nil {
		return account{}, err
	}
	children, err := job()
	if err != nil {
		return account{}, err
	}
	after, err := take(r.proxy, r.upstream)
	if err != nil {
		return account{}, err
	}
	core := r.h.proxyCore
	if r.proxy == nil {
		core = -1
	}
	return settle(before, after, core, r.h.helpCore, children), nil
}

// charge adds what the accounts say to m. Without a proxy there is nothing to
// charge: the row shows what a client sees of the upstream itself.
func (r *runner) charge(m cell, a account, units float64) error {
	m[mForeign] = a.foreign
	if r.proxy == nil {
		return nil
	}
	m[mBusy] = a.busy
	if units > 0 {
		m[mCPU] = float64(a.cpu.Nanoseconds()) / 1e3 / units
	}
	rss, err := residentOf(r.proxy)
	m[mRSS] = float64(rss)
	return err
}

func (r *runner) throughput(ctx context.Context, dir string) (cell, error) {
	drive := r.ownThroughput
	if r.h.wrk != "" {
		if err := writeScript(dir, r.address, r.h.tokenizer, &r.c); err != nil {
			return nil, err
		}
		drive = func(ctx context.Context, length time.Duration) (driven, error) {
			return runWrk(ctx, r.h.wrk, dir, "http://"+r.address+r.c.path(), r.h.helpCore, length)
		}
	}
	if _, err := drive(ctx, time.Second); err != nil { // warm up
		return nil, err
	}
	var d driven
	a, err := r.between(func() (time.Duration, error) {
		var err error
		d, err = drive(ctx, r.h.length)
		return d.cpu, err
	})
	if err != nil {
		return nil, err
	}
	m := cell{mRate: d.done / d.span.Seconds(), mFailed: d.failed}
	return m, r.charge(m, a, d.done)
}

// driven is what a throughput generator did.
type driven struct {
	done, failed float64
	span         time.Duration
	cpu          time.Duration
}

func (r *runner) ownThroughput(ctx context.Context, length time.Duration) (driven, error) {
	o := r.c.order(r.address, &r.h.options)
	o.Length = length
	y, cpu, err := r.generator(ctx, o, nil)
	return driven{done: float64(y.Done), failed: float64(y.Failed), span: length, cpu: cpu}, err
}

// timed runs the own generator: latency, first byte, events.
func (r *runner) timed(ctx context.Context) (cell, error) {
	o := r.c.order(r.address, &r.h.options)
	var y yield
	a, err := r.between(func() (time.Duration, error) {
		var cpu time.Duration
		var err error
		y, cpu, err = r.generator(ctx, o, nil)
		return cpu, err
	})
	if err != nil {
		return nil, err
	}
	if y.LastError != "" {
		r.h.remark("case %s: %d failed, the last: %s", r.c.name, y.Failed, y.LastError)
	}
	m := cell{mP50: y.P50, mP99: y.P99, mFailed: float64(y.Failed)}
	units := float64(y.Done)
	if r.c.kind == events {
		units = float64(y.Events)
		m[mDisorder], m[mFirstP50] = float64(y.Disorder), y.FirstP50
	}
	return m, r.charge(m, a, units)
}

// idle compares the memory of the proxy before and while it holds the streams.
func (r *runner) idle(ctx context.Context) (cell, error) {
	o := r.c.order(r.address, &r.h.options)
	warm := o
	warm.Conns = 8 // buffers and caches that are there once
	if _, _, err := r.generator(ctx, warm, func() error { return nil }); err != nil {
		return nil, err
	}
	before, err := residentOf(r.proxy)
	if err != nil {
		return nil, err
	}
	var held int64
	y, _, err := r.generator(ctx, o, func() error {
		if err := pause(ctx, settleTime); err != nil {
			return err
		}
		var err error
		held, err = residentOf(r.proxy)
		return err
	})
	if err != nil {
		return nil, err
	}
	if y.LastError != "" {
		r.h.remark("case %s: %d failed, the last: %s", r.c.name, y.Failed, y.LastError)
	}
	m := cell{mStreams: float64(y.Done), mFailed: float64(y.Failed), mRSS: float64(held), mPerUnit: math.NaN()}
	if y.Done > 0 {
		m[mPerUnit] = float64(held-before) / float64(y.Done)
	}
	return m, nil
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

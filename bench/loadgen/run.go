package loadgen

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"penstock/bench/trace"
)

// Config is one run.
type Config struct {
	URL   string       // base URL; the API's path is added unless it is there
	Trace *trace.Trace // what to send, and when
	Synth trace.Synth  // how to turn it into bodies

	Headers       []string      // "name: value" lines added to each request
	SessionHeader string        // header that carries Request.Session; "" sends none
	Concurrency   int           // requests in flight; beyond it sends are late; 0 means 4096
	Timeout       time.Duration // from the send to the last byte; 0 means 10 minutes
	SLO           time.Duration // TTFT target counted in WithinSLO; 0 means none

	clock clock // zero means the system clock
}

const (
	defaultConcurrency = 4096
	defaultTimeout     = 10 * time.Minute
	dialTimeout        = 5 * time.Second
	shards             = 8
	prepared           = 32 // requests built ahead of their time
)

// Run sends the trace and returns what it measured. When ctx ends it stops
// sending, gives up what is in flight, and returns the rest without an error.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	r, err := newRun(cfg)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	jobs := make(chan job, prepared)
	r.all.Go(func() {
		defer close(jobs)
		r.prepare(ctx, jobs)
	})
	start := r.clock.now().Add(10 * time.Millisecond) // let the first requests be built
	r.dispatch(ctx, start, jobs)
	close(r.work)
	r.all.Wait()

	total := newResult()
	for _, s := range r.shards {
		total.Merge(s.Result)
	}
	total.Elapsed = r.clock.now().Sub(start)
	return total, nil
}

// run is the state of one Run.
type run struct {
	cfg    Config
	clock  clock
	target target
	lines  string // head after the request line, up to the session
	work   chan job
	free   chan []byte // request buffers
	slots  chan struct{}
	shards [shards]*shard
	all    sync.WaitGroup
	count  int // workers started, owned by dispatch
}

// job is one request, built and waiting for its time.
type job struct {
	at      time.Duration
	due     time.Time
	request []byte
}

func newRun(cfg Config) (*run, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("cannot parse URL: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("cannot use URL %q: want http://host or https://host", cfg.URL)
	}
	if cfg.Trace == nil || len(cfg.Trace.Requests) == 0 {
		return nil, errors.New("cannot run an empty trace")
	}
	if cfg.Concurrency <= 0 {
		cfg.Concurrency = defaultConcurrency
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.clock.now == nil {
		cfg.clock = systemClock()
	}
	r := &run{
		cfg: cfg, clock: cfg.clock, target: newTarget(u, endpoint(u, cfg.Synth.API)),
		work: make(chan job), free: make(chan []byte, prepared), slots: make(chan struct{}, cfg.Concurrency),
	}
	var b strings.Builder
	b.WriteString("Host: " + r.target.host + "\r\nContent-Type: application/json\r\nUser-Agent: penstock-load\r\n")
	for _, h := range cfg.Headers {
		if strings.ContainsAny(h, "\r\n") || !strings.Contains(h, ":") {
			return nil, fmt.Errorf("cannot send header %q", h)
		}
		b.WriteString(h + "\r\n")
	}
	r.lines = b.String()
	for i := range r.shards {
		r.shards[i] = &shard{Result: newResult()}
	}
	return r, nil
}

// endpoint is the path of the API below the base URL u.
func endpoint(u *url.URL, api trace.API) string {
	base := strings.TrimSuffix(u.EscapedPath(), "/")
	path := api.Path()
	if strings.HasSuffix(base, strings.TrimPrefix(path, "/v1")) {
		return base
	}
	return strings.TrimSuffix(base, "/v1") + path
}

// prepare builds requests a little ahead of their time, in order.
func (r *run) prepare(ctx context.Context, jobs chan<- job) {
	var body []byte
	for i := range r.cfg.Trace.Requests {
		q := &r.cfg.Trace.Requests[i]
		body = r.cfg.Synth.AppendBody(body[:0], r.cfg.Trace, i)
		var b []byte
		select {
		case b = <-r.free:
		default:
		}
		b = append(b[:0], "POST "...)
		b = append(b, r.target.path...)
		b = append(b, " HTTP/1.1\r\n"...)
		b = append(b, r.lines...)
		if q.Session != "" && r.cfg.SessionHeader != "" {
			b = append(b, r.cfg.SessionHeader...)
			b = append(b, ": "...)
			b = append(b, q.Session...)
			b = append(b, "\r\n"...)
		}
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, int64(len(body)), 10)
		b = append(b, "\r\n\r\n"...)
		b = append(b, body...)
		select {
		case jobs <- job{at: q.At, request: b}:
		case <-ctx.Done():
			return
		}
	}
}

// dispatch hands each job to a worker at its time. It is the only caller of
// clock.wait.
func (r *run) dispatch(ctx context.Context, start time.Time, jobs <-chan job) {
	for j := range jobs {
		j.due = start.Add(j.at)
		if r.clock.wait(ctx, j.due) != nil {
			return
		}
		select {
		case r.slots <- struct{}{}: // given back by the worker
		case <-ctx.Done():
			return
		}
		select {
		case r.work <- j:
		default:
			r.start(ctx, j)
		}
	}
}

// start adds a worker: none is idle. Their number is bounded by the slots.
func (r *run) start(ctx context.Context, first job) {
	w := &worker{run: r, shard: r.shards[r.count%shards]}
	r.count++
	r.all.Go(func() {
		defer w.close()
		w.handle(ctx, first)
		for j := range r.work {
			w.handle(ctx, j)
		}
	})
}

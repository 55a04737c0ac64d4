//go:build linux

package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"penstock/bench/enginesim"
	"penstock/bench/enginesim/core"
	"penstock/configs"
)

// SoakOptions say how long a soak runs and how hard.
type SoakOptions struct {
	For     time.Duration // how long the load runs
	Every   time.Duration // between samples
	Clients int           // at once
	Seed    uint64        // of what the clients do
	Out     io.Writer     // the table
}

// How much the last third of a soak may hold more than the second third. The
// resident memory of a Go process moves by some megabytes with the moment of
// its garbage collections.
const (
	memoryShare  = 0.10
	memorySlack  = 6 << 20
	countShare   = 0.15
	countSlack   = 16
	settleWithin = 30 * time.Second
)

// Soak runs a gateway in front of engines that fail, under clients that
// misbehave, and returns an error when what the gateway holds grows, or does not
// come back to what it was.
func Soak(ctx context.Context, o SoakOptions) (err error) {
	dir, err := os.MkdirTemp("", "penstock-soak-")
	if err != nil {
		return fmt.Errorf("cannot make a directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary, err := Build(ctx, dir)
	if err != nil {
		return err
	}
	engines, err := soakEngines(ctx, o.Seed)
	defer func() {
		for _, e := range engines {
			err = errors.Join(err, e.Close())
		}
	}()
	if err != nil {
		return err
	}
	urls := make([]string, 0, len(engines))
	for _, e := range engines {
		urls = append(urls, e.URL)
	}
	g, err := binary.Start(ctx, dir, soakConfig(dir, urls))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	return soak(ctx, g, engines, o)
}

// soakConfig cuts slow clients and silent engines soon, so that the soak meets
// each of these ends many times.
func soakConfig(dir string, urls []string) *configs.Config {
	cfg := Config(urls...)
	ms := func(n int) configs.Duration { return configs.Duration(time.Duration(n) * time.Millisecond) }
	cfg.Listen.HeaderTimeout, cfg.Listen.WriteTimeout, cfg.Listen.IdleTimeout = ms(1000), ms(1500), ms(2000)
	cfg.Listen.UserTimeout, cfg.Listen.Heartbeat = ms(2000), ms(1000)
	cfg.Log.AccessFile = dir + "/access.log"
	cfg.Pools[0].Timeouts.FirstByte, cfg.Pools[0].Timeouts.FirstBytePerKiB = ms(2000), 0
	cfg.Pools[0].Timeouts.Gap = ms(1000)
	cfg.Pools[0].Breaker.Open = ms(500)
	return cfg
}

// soakEngines are two that work, at different speeds, one that fails in turn in
// every way it knows, and one whose connections die.
func soakEngines(ctx context.Context, seed uint64) ([]*Engine, error) {
	var all []*Engine
	for _, step := range []float64{2e-4, 5e-3, 2e-3} {
		cfg := EngineConfig()
		cfg.Engine.Timing = core.Timing{Base: step, Prefill: 2e-6}
		cfg.LogTail = 0
		e, err := StartEngine(ctx, cfg)
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
	m, err := StartMortal(ctx, RandomLives(seed, 20_000))
	if err != nil {
		return all, err
	}
	return append(all, m.Engine), nil
}

// troubles is what the failing engine goes through.
var troubles = []enginesim.Fault{
	{},
	{Cut: enginesim.CutDie, After: 3},
	{Status: 503, RetryAfter: "1"},
	{Cut: enginesim.CutReset, After: 2},
	{Cut: enginesim.CutHang},
	{CloseIdle: true},
	{Cut: enginesim.CutHangAfter, After: 2},
	{Surplus: true},
	{Cut: enginesim.CutError},
	{TruncateJSON: true},
	{CommentsOnly: true},
	{Restart: true},
	{SplitEvents: true, CRLF: true},
	{Refuse: 5},
	{Status: 500},
}

func soak(ctx context.Context, g *Gateway, engines []*Engine, o SoakOptions) error {
	base, err := restingFootprint(ctx, g)
	if err != nil {
		return err
	}
	loadCtx, stop := context.WithTimeout(ctx, o.For)
	defer stop()
	var running sync.WaitGroup
	running.Go(func() { trouble(loadCtx, engines[2]) })
	clients := newSoakers(o, g.Data)
	for i := range o.Clients {
		running.Go(func() { clients.run(loadCtx, i) })
	}
	rows, err := sample(loadCtx, g, clients, o)
	stop()
	running.Wait()
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("cannot finish the soak: %w", context.Cause(ctx))
	}
	if err := report(ctx, g, clients, o.Out); err != nil {
		return err
	}
	return errors.Join(flat(rows), comesBack(ctx, g, base, o.Out))
}

// restingFootprint is taken after one request of each kind, so that what is kept
// for good is there already.
func restingFootprint(ctx context.Context, g *Gateway) (Footprint, error) {
	for _, stream := range []bool{false, true} {
		if _, err := Ask(ctx, g.Data, (&Chat{Tokens: 2, Stream: stream}).Raw()); err != nil {
			return Footprint{}, err
		}
	}
	var f Footprint
	err := every(ctx, 100*time.Millisecond, settleWithin, func() (bool, error) {
		var err error
		f, err = g.Footprint(ctx)
		m, merr := g.Metrics(ctx)
		return f.Connections == 0 && m.Sum("penstock_upstream_idle_connections") == 0, errors.Join(err, merr)
	})
	return f, err
}

// every asks done again and again.
func every(ctx context.Context, pause, patience time.Duration, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("cannot wait any longer: %w", context.Cause(ctx))
		}
	}
}

// trouble changes the failing engine's fault twice a second.
func trouble(ctx context.Context, e *Engine) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		e.SetFault(troubles[i%len(troubles)])
		select {
		case <-tick.C:
		case <-ctx.Done():
			e.SetFault(enginesim.Fault{})
			return
		}
	}
}

// sample prints a row each time until ctx ends.
func sample(ctx context.Context, g *Gateway, s *soakers, o SoakOptions) ([]Footprint, error) {
	var rows []Footprint
	began := time.Now()
	tick := time.NewTicker(o.Every)
	defer tick.Stop()
	if _, err := fmt.Fprintf(o.Out, "%8s %10s %8s %8s %11s %7s %8s %8s\n",
		"s", "requests", "RSS MiB", "files", "goroutines", "leases", "streams", "clients"); err != nil {
		return nil, err
	}
	for {
		select {
		case <-ctx.Done():
			return rows, nil
		case <-g.Exited():
			return rows, fmt.Errorf("cannot go on: the gateway ended: %s", g.Stderr.Text())
		case <-tick.C:
		}
		f, err := g.Footprint(context.WithoutCancel(ctx))
		if err != nil {
			return rows, err
		}
		rows = append(rows, f)
		if _, err := fmt.Fprintf(o.Out, "%8.0f %10d %8.1f %8d %11d %7.0f %8.0f %8.0f\n", time.Since(began).Seconds(), s.asked.Load(),
			float64(f.Resident)/(1<<20), f.Files, f.Goroutines, f.Leases, f.Streams, f.Connections); err != nil {
			return rows, err
		}
	}
}

// report says what the clients did and how the gateway counted it.
func report(ctx context.Context, g *Gateway, clients *soakers, out io.Writer) error {
	m, err := g.Metrics(ctx)
	if err != nil {
		return err
	}
	var lines []string
	for sample, v := range m {
		name, _, _ := strings.Cut(sample, "{")
		if v > 0 && slices.Contains([]string{
			"penstock_requests_total", "penstock_streams_cut_total", "penstock_refusals_total", "penstock_retries_total",
		}, name) {
			lines = append(lines, fmt.Sprintf("%7.0f  %s", v, sample))
		}
	}
	slices.Sort(lines)
	_, err = fmt.Fprintf(out, "\n%s\n%s\n\n", clients, strings.Join(lines, "\n"))
	return err
}

// flat compares the medians of the second and the last third.
func flat(rows []Footprint) error {
	third := len(rows) / 3
	if third < 2 {
		return errors.New("cannot judge a soak of fewer than six samples")
	}
	var errs []error
	for _, c := range []struct {
		name         string
		of           func(f *Footprint) float64
		share, slack float64
	}{
		{"resident bytes", func(f *Footprint) float64 { return float64(f.Resident) }, memoryShare, memorySlack},
		{"descriptors", func(f *Footprint) float64 { return float64(f.Files) }, countShare, countSlack},
		{"goroutines", func(f *Footprint) float64 { return float64(f.Goroutines) }, countShare, countSlack},
		{"leases", func(f *Footprint) float64 { return f.Leases }, countShare, countSlack},
	} {
		before, after := median(rows[third:2*third], c.of), median(rows[2*third:], c.of)
		if after > before*(1+c.share)+c.slack {
			errs = append(errs, fmt.Errorf("%s grew from %.0f to %.0f", c.name, before, after))
		}
	}
	return errors.Join(errs...)
}

func median(rows []Footprint, of func(f *Footprint) float64) float64 {
	values := make([]float64, 0, len(rows))
	for i := range rows {
		values = append(values, of(&rows[i]))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// comesBack waits until the gateway holds what it held before the load.
func comesBack(ctx context.Context, g *Gateway, base Footprint, out io.Writer) error {
	var f Footprint
	err := every(ctx, 200*time.Millisecond, settleWithin, func() (bool, error) {
		var err error
		f, err = g.Footprint(ctx)
		return f.Above(base) == "", err
	})
	if over := f.Above(base); over != "" {
		return errors.Join(err, fmt.Errorf("the gateway still holds %s", over))
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "at rest: %.1f MiB, %d files, %d goroutines, no lease\n",
		float64(f.Resident)/(1<<20), f.Files, f.Goroutines)
	return err
}

func newRandom(seed uint64, i int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(i)))
}

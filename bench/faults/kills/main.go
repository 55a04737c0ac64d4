//go:build linux

// Command kills keeps a fleet of simulated engines dying behind a gateway, so
// that clients in any language can be checked: none of their parsers may take a
// cut answer for a whole one.
//
//	go run ./bench/faults/kills
//	node bench/e2e/sdk_truncation.mjs --model sim --base GATEWAY --control CONTROL
//
// It prints the gateway's address and that of an engine that does not die, runs
// until it is interrupted or --for is over, and then says how many kills there
// were. Half of the fleet are connections that end at a random byte, the other
// half processes that get kill -9 and come back on their port.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"penstock/bench/faults"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

type options struct {
	life  time.Duration
	bytes int
	every time.Duration
	seed  uint64
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("kills", flag.ContinueOnError)
	fs.SetOutput(stderr)
	var o options
	fs.DurationVar(&o.life, "for", 0, "how long to run; 0: until interrupted")
	fs.IntVar(&o.bytes, "bytes", 60_000, "longest life of a connection in bytes")
	fs.DurationVar(&o.every, "every", 300*time.Millisecond, "a process is killed about this often")
	fs.Uint64Var(&o.seed, "seed", 1, "of the random deaths")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	if o.life > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.life)
		defer cancel()
	}
	if err := killAll(ctx, o, stdout); err != nil && ctx.Err() == nil {
		_, _ = fmt.Fprintf(stderr, "kills: %v\n", err)
		return 1
	}
	return 0
}

// fleet is everything that runs; close ends it in reverse order.
type fleet struct {
	mortals   []*faults.Mortal
	processes []*faults.Process
	closers   []io.Closer
}

func (f *fleet) close() error {
	var errs []error
	for _, c := range slices.Backward(f.closers) {
		errs = append(errs, c.Close())
	}
	for _, p := range f.processes {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

func killAll(ctx context.Context, o options, stdout io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "penstock-kills-")
	if err != nil {
		return fmt.Errorf("cannot make a directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary, err := faults.Build(ctx, dir)
	if err != nil {
		return err
	}
	f := &fleet{}
	defer func() { err = errors.Join(err, f.close()) }()
	urls, err := f.start(ctx, binary, o)
	if err != nil {
		return err
	}
	control, err := faults.StartEngine(ctx, faults.EngineConfig())
	if err != nil {
		return err
	}
	f.closers = append(f.closers, control)
	cfg := faults.Config(urls...)
	cfg.Pools[0].Breaker.Failures = 0 // all of them fail, all of the time
	g, err := binary.Start(ctx, dir, cfg)
	if err != nil {
		return err
	}
	f.closers = append(f.closers, g)
	if _, err := fmt.Fprintf(stdout, "gateway http://%s\ncontrol %s\nmodel %s\n", g.Data, control.URL, faults.Model); err != nil {
		return err
	}
	killed, err := f.reap(ctx, binary, o)
	cut := int64(0)
	for _, m := range f.mortals {
		cut += m.Kills()
	}
	_, werr := fmt.Fprintf(stdout, "%d connections died, %d processes were killed\n", cut, killed)
	return errors.Join(err, werr)
}

// start runs two engines of each kind.
func (f *fleet) start(ctx context.Context, binary faults.Binary, o options) (urls []string, err error) {
	for i := range uint64(2) {
		m, err := faults.StartMortal(ctx, faults.RandomLives(o.seed+i, o.bytes))
		if err != nil {
			return nil, err
		}
		f.mortals, f.closers = append(f.mortals, m), append(f.closers, m)
		p, err := binary.StartProcess(ctx, processArgs()...)
		if err != nil {
			return nil, err
		}
		f.processes = append(f.processes, p)
		urls = append(urls, m.URL, p.URL)
	}
	return urls, nil
}

func processArgs(more ...string) []string { return append([]string{"--speed", "10"}, more...) }

// reap kills processes in turn and starts them again, until ctx ends.
func (f *fleet) reap(ctx context.Context, binary faults.Binary, o options) (killed int, err error) {
	random := rand.New(rand.NewPCG(o.seed, 2))
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ; ; killed++ {
		timer.Reset(time.Duration(random.Int64N(2 * int64(max(o.every, time.Millisecond)))))
		select {
		case <-ctx.Done():
			return killed, nil
		case <-timer.C:
		}
		p := f.processes[killed%len(f.processes)]
		if err := p.Close(); err != nil {
			return killed, err
		}
		again, err := binary.StartProcess(ctx, processArgs("--listen", strings.TrimPrefix(p.URL, "http://"))...)
		if err != nil {
			return killed, err
		}
		f.processes[killed%len(f.processes)] = again
	}
}

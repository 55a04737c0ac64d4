//go:build linux

package faults

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"penstock/configs"
)

func TestRestartUnderLoadRefusesAndCutsNothing(t *testing.T) {
	real(t)
	e := engine(t, 2*time.Millisecond)
	socket := filepath.Join(t.TempDir(), "handover")
	old := launch(t, []string{e.URL}, func(c *configs.Config) { c.Listen.HandoverSocket = socket })
	base, address := old.base, old.Data
	l := startLoad(t, address, 6)
	for generation := range 3 {
		_, long := old.open(&Chat{Tokens: 700, Stream: true}, 2) // it outlives the takeover
		l.passes(20)
		g, err := binary.Serve(t.Context(), old.ConfigPath, "--takeover")
		if err != nil {
			t.Fatal(err)
		}
		next := &rig{Gateway: g, t: t, base: base}
		t.Cleanup(func() { _ = g.Close() })
		if next.Data != address {
			t.Fatalf("the successor listens on %s, not %s", next.Data, address)
		}
		l.passes(20)
		long.Rest()
		if !long.Complete() || !long.Clean {
			t.Errorf("generation %d: a stream was cut: %s", generation, long)
		}
		old.exits(0)
		old.neverPanicked()
		old = next
	}
	l.finish()
	old.settles()
	old.neverPanicked()
}

// exits waits for the end of the process.
func (r *rig) exits(want int) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	code, err := r.ExitCode(ctx)
	if err != nil || code != want {
		r.t.Errorf("exit code %d, %v, want %d", code, err, want)
	}
}

// A successor that cannot start must leave its predecessor in charge: one with a
// bad file, and one that fails after it has been handed the sockets.
func TestFailedSuccessorLeavesThePredecessorServing(t *testing.T) {
	real(t)
	e := engine(t, 2*time.Millisecond)
	socket := filepath.Join(t.TempDir(), "handover")
	g := start(t, []string{e.URL}, func(c *configs.Config) { c.Listen.HandoverSocket = socket })
	taken, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	bad, late := Config(e.URL), Config(e.URL)
	bad.Pools[0].Policy = "no such policy"
	late.Admin.ExternalMetrics = taken.Addr().String()
	l := startLoad(t, g.Data, 4)
	for range 3 {
		for name, cfg := range map[string]*configs.Config{"bad": bad, "late": late} {
			cfg.Listen.HandoverSocket = socket
			path := filepath.Join(t.TempDir(), name+".yaml")
			if err := WriteConfig(path, cfg); err != nil {
				t.Fatal(err)
			}
			if next, err := binary.Serve(t.Context(), path, "--takeover"); err == nil {
				t.Errorf("%s: a successor started", name)
				_ = next.Close()
			}
			l.passes(20)
		}
	}
	l.finish()
	select {
	case <-g.Exited():
		t.Error("the predecessor has gone")
	default:
	}
}

// After kill -9 the handover socket's file is still there, and nobody behind it.
func TestStartAfterACrashNeedsNoCleaning(t *testing.T) {
	real(t)
	e := engine(t, 0)
	socket := filepath.Join(t.TempDir(), "handover")
	g := launch(t, []string{e.URL}, func(c *configs.Config) { c.Listen.HandoverSocket = socket })
	cfg := Config(e.URL)
	cfg.Listen.Address, cfg.Admin.Address, cfg.Listen.HandoverSocket = g.Data, g.Admin, socket
	for range 3 {
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		next, err := binary.Start(t.Context(), t.TempDir(), cfg, "--takeover")
		if err != nil {
			t.Fatal(err)
		}
		g = adopt(t, next)
		g.asks((&Chat{Tokens: 1}).Raw(), http.StatusOK)
	}
	g.settles()
}

func TestSIGTERMTurnsUnreadyFirstThenFinishesStreams(t *testing.T) {
	real(t)
	e := engine(t, 2*time.Millisecond)
	g := launch(t, []string{e.URL}, func(c *configs.Config) { c.Shutdown.Settle = ms(1500) })
	_, stream := g.open(&Chat{Tokens: 1500, Stream: true}, 2) // about three seconds
	c := g.dial()
	g.send(c, (&Chat{Tokens: 1200}).Raw()) // the same in one piece
	kept := g.dial()
	if a, err := kept.Do((&Chat{Tokens: 1}).Raw()); err != nil || !a.Complete() {
		t.Fatalf("got %v, %v", a, err)
	}
	signal(t, g, syscall.SIGTERM)
	g.eventually("readiness gone", func() bool {
		status, _, err := g.Ask(t.Context(), http.MethodGet, "/readyz", "")
		return err == nil && status == http.StatusServiceUnavailable
	})
	// Load balancers need time to notice; until then everybody is served.
	if a := g.asks((&Chat{Tokens: 1}).Raw(), http.StatusOK); !a.Complete() {
		t.Errorf("a new connection while settling: %s", a)
	}
	if a, err := kept.Do((&Chat{Tokens: 1}).Raw()); err != nil || !a.Complete() {
		t.Errorf("a kept connection while settling: %v, %v", a, err)
	}
	stream.Rest()
	if !stream.Complete() || !stream.Clean {
		t.Errorf("the stream was cut: %s", stream)
	}
	a := g.follow(c, 0)
	a.Rest()
	if !a.Complete() {
		t.Errorf("the answer in one piece was cut: %s", a)
	}
	g.exits(0)
	g.neverPanicked()
}

func TestDrainDeadlineCutsWithAnErrorEvent(t *testing.T) {
	real(t)
	e := engine(t, 5*time.Millisecond)
	g := launch(t, []string{e.URL}, func(c *configs.Config) { c.Shutdown.Drain = ms(700) })
	_, stream := g.open(&Chat{Tokens: 7000, Stream: true}, 2)
	signal(t, g, syscall.SIGTERM)
	stream.Rest()
	if stream.Complete() || stream.Done || stream.Clean || stream.Failed == "" {
		t.Errorf("got %s, want an error event and no good end", stream)
	}
	if !strings.Contains(stream.Failed, "penstock_shutting_down") {
		t.Errorf("the error is %s", stream.Failed)
	}
	g.exits(0)
	g.neverPanicked()
}

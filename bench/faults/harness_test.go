//go:build linux

package faults

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"penstock/bench/enginesim"
	"penstock/bench/enginesim/core"
	"penstock/configs"
)

// binary is the gateway under test; empty with -short, where only the harness
// itself is tested.
var binary Binary

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "penstock-faults-")
	if err == nil && !testing.Short() {
		binary, err = Build(context.Background(), dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// These tests wait more than they compute: they may run side by side on
	// few cores, unless -parallel says otherwise.
	if p := flag.Lookup("test.parallel"); p != nil && p.Value.String() == p.DefValue {
		_ = p.Value.Set("6")
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// real marks a test that runs processes.
func real(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs processes; make integration and make faults run it")
	}
	t.Parallel()
}

// rig is a gateway with its engines. It ends with the gateway's footprint
// checked.
type rig struct {
	*Gateway
	t    *testing.T
	base Footprint
}

type configure func(c *configs.Config)

// start runs a gateway in front of urls. At the end of the test it must hold
// what it held before the first request.
func start(t *testing.T, urls []string, change configure, args ...string) *rig {
	t.Helper()
	g := launch(t, urls, change, args...)
	t.Cleanup(func() {
		if !t.Failed() {
			g.settles()
		}
		g.neverPanicked()
	})
	return g
}

// launch is start without the check at the end, for gateways that end earlier.
func launch(t *testing.T, urls []string, change configure, args ...string) *rig {
	t.Helper()
	cfg := Config(urls...)
	if change != nil {
		change(cfg)
	}
	g, err := binary.Start(t.Context(), t.TempDir(), cfg, args...)
	if err != nil {
		t.Fatal(err)
	}
	return adopt(t, g)
}

// adopt takes over a started gateway.
func adopt(t *testing.T, g *Gateway) *rig {
	t.Helper()
	r := &rig{Gateway: g, t: t}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("log of the gateway:\n%s", tail(logOf(g), 4000))
		}
	})
	r.measure()
	return r
}

// logOf is the gateway's log without its first line, which quotes the whole
// configuration.
func logOf(g *Gateway) string {
	_, rest, _ := strings.Cut(g.Stderr.Text(), "\"msg\":\"serving\"")
	_, rest, _ = strings.Cut(rest, "\n")
	return rest
}

// measure takes the footprint at rest. A question that the gateway answers by
// itself comes first: part of what it keeps is started with the first client.
func (r *rig) measure() {
	r.t.Helper()
	// Over TLS it fails in the handshake, which does as well.
	_, _ = Ask(r.t.Context(), r.Data, "GET /health HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n")
	r.eventually("the gateway at rest", func() bool {
		f, err := r.Footprint(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		r.base = f
		return f.Connections == 0
	})
}

func tail(s string, n int) string {
	if len(s) > n {
		return "..." + s[len(s)-n:]
	}
	return s
}

// settles waits until the gateway holds no more than at its start.
func (r *rig) settles() {
	r.t.Helper()
	var over string
	err := poll(Patience, func() bool {
		f, err := r.Footprint(context.Background())
		if err != nil {
			over = err.Error()
			return false
		}
		over = f.Above(r.base)
		return over == ""
	})
	if err != nil {
		profile, _ := r.Get(context.Background(), "/debug/pprof/goroutine?debug=1")
		r.t.Errorf("the gateway still holds: %s\n%s\n%s", over, profile, descriptors(r.Pid()))
	}
}

// descriptors lists what a process has open.
func descriptors(pid int) string {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, _ := os.ReadDir(dir) // for a message only
	var b strings.Builder
	for _, e := range entries {
		to, _ := os.Readlink(dir + "/" + e.Name())
		b.WriteString(e.Name() + " " + to + "\n")
	}
	return b.String()
}

func (r *rig) neverPanicked() {
	r.t.Helper()
	log := logOf(r.Gateway)
	for _, bad := range []string{"request panicked", "panic: ", "fatal error:", "DATA RACE"} {
		if strings.Contains(log, bad) {
			r.t.Errorf("the gateway's log speaks of %q:\n%s", bad, tail(log, 6000))
		}
	}
}

// poll asks until until says true.
func poll(patience time.Duration, until func() bool) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.NewTimer(patience)
	defer end.Stop()
	for !until() {
		select {
		case <-tick.C:
		case <-end.C:
			return fmt.Errorf("cannot see it happen within %s", patience)
		}
	}
	return nil
}

func (r *rig) eventually(what string, until func() bool) {
	r.t.Helper()
	if err := poll(Patience, until); err != nil {
		r.t.Fatalf("%s: %v", what, err)
	}
}

// metric sums samples.
func (r *rig) metric(name string, labels ...string) float64 {
	r.t.Helper()
	m, err := r.Metrics(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	return m.Sum(name, labels...)
}

// breakerClosed checks that no replica is held responsible for what happened,
// by asking for the state of the breaker that failures would have opened.
func (r *rig) breakersClosed() {
	r.t.Helper()
	if n := r.metric("penstock_replica_breaker_state", `state="open"`) +
		r.metric("penstock_replica_breaker_state", `state="half_open"`); n != 0 {
		r.t.Errorf("%g breakers are open", n)
	}
}

// dial connects a client that is closed with the test.
func (r *rig) dial() *Client {
	r.t.Helper()
	return dial(r.t, r.Data)
}

func dial(t *testing.T, address string) *Client {
	t.Helper()
	c, err := Dial(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// open begins a streamed answer and reads its first events.
func (r *rig) open(q *Chat, events int) (*Client, *Answer) {
	r.t.Helper()
	c := r.dial()
	r.send(c, q.Raw())
	return c, r.follow(c, events)
}

func (r *rig) send(c *Client, raw string) {
	r.t.Helper()
	if err := c.Send(raw); err != nil {
		r.t.Fatal(err)
	}
}

// follow reads the head and the first events of an answer that was asked for.
func (r *rig) follow(c *Client, events int) *Answer {
	r.t.Helper()
	a, err := c.Receive()
	if err != nil {
		r.t.Fatal(err)
	}
	for range events {
		if err := a.Event(); err != nil {
			r.t.Fatalf("the stream ended early: %s", a)
		}
	}
	return a
}

// ask gets a whole answer over a connection of its own.
func (r *rig) ask(raw string) *Answer {
	r.t.Helper()
	a, err := Ask(r.t.Context(), r.Data, raw)
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

// asks is ask with a wanted status.
func (r *rig) asks(raw string, status int) *Answer {
	r.t.Helper()
	a := r.ask(raw)
	if a.StatusCode != status {
		r.t.Fatalf("got %s, want status %d", a, status)
	}
	return a
}

// engine starts a simulated engine whose steps, one token each, take step.
func engine(t *testing.T, step time.Duration, change ...func(c *enginesim.Config)) *Engine {
	t.Helper()
	cfg := EngineConfig()
	if step > 0 {
		cfg.Engine.Timing = core.Timing{Base: step.Seconds()}
	}
	for _, f := range change {
		f(&cfg)
	}
	e, err := StartEngine(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// process starts an engine that can be killed; its steps take 6.5 ms.
func process(t *testing.T, args ...string) *Process {
	t.Helper()
	p, err := binary.StartProcess(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func script(t *testing.T, f Scripted) *Script {
	t.Helper()
	s, err := StartScript(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func signal(t *testing.T, to interface{ Signal(syscall.Signal) error }, s syscall.Signal) {
	t.Helper()
	if err := to.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func ms(n int) configs.Duration { return configs.Duration(time.Duration(n) * time.Millisecond) }

// pool changes the only pool.
func pool(f func(p *configs.Pool)) configure {
	return func(c *configs.Config) { f(&c.Pools[0]) }
}

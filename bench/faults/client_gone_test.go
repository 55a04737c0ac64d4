//go:build linux

package faults

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"penstock/bench/enginesim"
	"penstock/bench/enginesim/core"
)

// ways are how a client leaves.
var ways = map[string]func(c *Client) error{
	"FIN":        (*Client).Close,
	"RST":        (*Client).Reset,
	"half-close": func(c *Client) error { return c.Conn.CloseWrite() },
}

// moments are the points of a request's life at which a client leaves.
var moments = map[string]struct {
	chat   Chat
	events int // seen before leaving
	timing core.Timing
}{
	"mid-prefill":           {Chat{Prompt: strings.Repeat("word ", 4000), Tokens: 5, Stream: true}, 0, core.Timing{Base: 1e-3, Prefill: 10e-3}},
	"mid-stream":            {Chat{Tokens: 5000, Stream: true}, 4, core.Timing{Base: 5e-3}},
	"mid-decode, one piece": {Chat{Tokens: 5000}, 0, core.Timing{Base: 5e-3}},
}

func TestClientThatLeavesIsAbortedAtTheEngineAndBlamesNobody(t *testing.T) {
	real(t)
	for moment, m := range moments {
		for way, leave := range ways {
			t.Run(moment+", "+way, func(t *testing.T) {
				t.Parallel()
				e := engine(t, 0, func(c *enginesim.Config) { c.Engine.Timing = m.timing })
				received, aborted := make(chan struct{}, 16), make(chan struct{}, 16)
				e.OnRequest(func(enginesim.RequestInfo) { received <- struct{}{} })
				e.OnAbort(func(enginesim.RequestInfo) { aborted <- struct{}{} })
				g := start(t, []string{e.URL}, nil)
				// More often than the breaker's five failures.
				const clients = 7
				for range clients {
					c := g.dial()
					g.send(c, m.chat.Raw())
					await(t, received, "the request at the engine")
					if m.events > 0 {
						g.follow(c, m.events)
					}
					if err := leave(c); err != nil {
						t.Fatal(err)
					}
					await(t, aborted, "the abort at the engine")
					_ = c.Close()
				}
				g.neutral(clients)
			})
		}
	}
}

// A client that leaves while its request waits for an engine that says nothing.
func TestClientThatLeavesBeforeTheFirstByteClosesTheUpstream(t *testing.T) {
	real(t)
	for way, leave := range ways {
		for _, stream := range []bool{false, true} {
			t.Run(way, func(t *testing.T) {
				t.Parallel()
				received, closed := make(chan struct{}, 16), make(chan struct{}, 16)
				s := script(t, func(c *tcp, _ *http.Request, _ []byte) bool {
					received <- struct{}{}
					_, _ = c.Read(make([]byte, 1)) // returns when the gateway closes
					closed <- struct{}{}
					return false
				})
				g := start(t, []string{s.URL}, nil)
				const clients = 20
				var slowest time.Duration
				for range clients {
					c := g.dial()
					g.send(c, (&Chat{Stream: stream}).Raw())
					await(t, received, "the request at the engine")
					left := time.Now()
					if err := leave(c); err != nil {
						t.Fatal(err)
					}
					await(t, closed, "the engine's connection closed")
					slowest = max(slowest, time.Since(left))
					_ = c.Close()
				}
				t.Logf("the engine's connection was closed within %s", slowest)
				if slowest > 3*time.Second {
					t.Error("that is not at once")
				}
				g.neutral(clients)
			})
		}
	}
}

// A request that its client gave up while it was being retried must not reach
// another engine.
func TestClientThatLeftIsNotRetried(t *testing.T) {
	real(t)
	received, closed := make(chan struct{}, 4), make(chan struct{}, 4)
	f := func(c *tcp, _ *http.Request, _ []byte) bool {
		received <- struct{}{}
		_, _ = c.Read(make([]byte, 1))
		closed <- struct{}{}
		return false
	}
	a, b := script(t, f), script(t, f)
	g := start(t, []string{a.URL, b.URL}, nil)
	c := g.dial()
	g.send(c, (&Chat{}).Raw())
	await(t, received, "the request at an engine")
	if err := c.Reset(); err != nil {
		t.Fatal(err)
	}
	await(t, closed, "the engine's connection closed")
	g.settles()
	if n := len(received); n != 0 {
		t.Errorf("%d more requests reached an engine", n)
	}
	g.neutral(1)
}

// neutral checks that clients which left were counted as such and nothing else.
func (r *rig) neutral(clients int) {
	r.t.Helper()
	r.eventually("every request counted as 499", func() bool {
		return r.metric("penstock_requests_total", `status="499"`)+
			r.metric("penstock_streams_cut_total", `reason="penstock_client_gone"`) >= float64(clients)
	})
	r.breakersClosed()
	if n := r.metric("penstock_attempt_failures_total"); n != 0 {
		r.t.Errorf("%g failed attempts were counted against the engine", n)
	}
}

func await(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	select {
	case <-c:
	case <-timer.C:
		t.Fatalf("cannot see %s", what)
	}
}

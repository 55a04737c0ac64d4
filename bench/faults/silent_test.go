//go:build linux

package faults

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"penstock/bench/enginesim"
	"penstock/configs"
)

func firstByte(n int) configure {
	return pool(func(p *configs.Pool) {
		p.Timeouts.FirstByte, p.Timeouts.FirstBytePerKiB = ms(n), 0
		p.Policy = configs.PolicyRoundRobin
	})
}

func TestStoppedReplicaIs504AndItsConnectionIsClosed(t *testing.T) {
	real(t)
	p := process(t)
	g := start(t, []string{p.URL}, firstByte(500))
	g.asks((&Chat{Tokens: 2}).Raw(), http.StatusOK) // the connection it keeps is stopped too
	signal(t, p, syscall.SIGSTOP)
	for _, stream := range []bool{false, true} {
		a := g.asks((&Chat{Tokens: 2, Stream: stream}).Raw(), http.StatusGatewayTimeout)
		if a.Failed == "" {
			t.Errorf("stream %t: got %s, want an error body", stream, a)
		}
	}
	g.eventually("the stopped replica's connections closed", func() bool {
		return g.metric("penstock_upstream_idle_connections") == 0
	})
	signal(t, p, syscall.SIGCONT)
	g.asks((&Chat{Tokens: 2}).Raw(), http.StatusOK)
}

// Nothing was generated and nothing reached the client, so another replica may
// be tried once the first is given up.
func TestStoppedReplicaIsReplacedByAnother(t *testing.T) {
	real(t)
	p, other := process(t), engine(t, 0)
	g := start(t, []string{p.URL, other.URL}, firstByte(500))
	signal(t, p, syscall.SIGSTOP)
	for range 4 {
		for _, stream := range []bool{false, true} {
			if a := g.asks((&Chat{Tokens: 2, Stream: stream}).Raw(), http.StatusOK); !a.Complete() {
				t.Fatalf("got %s", a)
			}
		}
	}
	if n := g.metric("penstock_retries_total"); n == 0 {
		t.Error("no retry was counted")
	}
}

func TestGapBetweenTokensEndsTheStreamWithAnError(t *testing.T) {
	real(t)
	for name, f := range map[string]enginesim.Fault{
		"silence":       {Cut: enginesim.CutHangAfter, After: 4},
		"JSON, silence": {Cut: enginesim.CutHangAfter, After: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := engine(t, 0)
			e.SetFault(f)
			g := start(t, []string{e.URL}, pool(func(p *configs.Pool) {
				p.Timeouts.Gap, p.Timeouts.FirstByte, p.Timeouts.FirstBytePerKiB = ms(500), ms(1500), 0
			}))
			a := g.ask((&Chat{Tokens: 50, Stream: name == "silence"}).Raw())
			if a.Complete() || a.Done || a.Failed == "" {
				t.Errorf("got %s, want an error", a)
			}
			if a.Stream() && a.Clean {
				t.Errorf("ends in good form: %s", a)
			}
		})
	}
}

// Comments keep a connection alive; they are no sign of an engine that works.
func TestCommentsDoNotCountAsTokens(t *testing.T) {
	real(t)
	before := engine(t, 0) // comments before the first event, its own fault
	before.SetFault(enginesim.Fault{CommentsOnly: true})
	after := script(t, func(c *tcp, _ *http.Request, _ []byte) bool {
		return say(c, sseHead("Transfer-Encoding: chunked")+chunk(event("a"))) && sayUntilGone(c, chunk(": still here\n\n"))
	})
	for name, url := range map[string]string{"before the first event": before.URL, "between events": after.URL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := start(t, []string{url}, pool(func(p *configs.Pool) {
				p.Timeouts.Gap, p.Timeouts.FirstByte, p.Timeouts.FirstBytePerKiB = ms(700), ms(700), 0
			}))
			a := g.ask((&Chat{Tokens: 50, Stream: true}).Raw())
			if a.Complete() || a.Done || a.Failed == "" {
				t.Errorf("got %s, want an error", a)
			}
			if strings.HasPrefix(name, "before") && a.StatusCode != http.StatusGatewayTimeout {
				t.Errorf("got %s, want 504: nothing was committed yet", a)
			}
		})
	}
}

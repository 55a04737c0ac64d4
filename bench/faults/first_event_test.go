//go:build linux

package faults

import (
	"net/http"
	"testing"

	"penstock/bench/enginesim"
	"penstock/configs"
)

// SGLang says "too busy" in the first event of a 200 (engines.md section 5.3);
// its client asked for a status.
func TestOverloadToldInTheFirstEventIs503(t *testing.T) {
	real(t)
	e := engine(t, 0, func(c *enginesim.Config) {
		d := enginesim.Default(enginesim.SGLang)
		d.Model, d.Engine.Timing = c.Model, c.Engine.Timing
		*c = d
	})
	e.SetFault(enginesim.Fault{Cut: enginesim.CutError})
	g := start(t, []string{e.URL}, pool(func(p *configs.Pool) { p.Engine = configs.EngineSGLang }))
	a := g.asks((&Chat{Tokens: 5, Stream: true}).Raw(), http.StatusServiceUnavailable)
	if a.Failed == "" || a.Stream() {
		t.Errorf("got %s, want an error body", a)
	}
	g.breakersClosed()
}

func TestOverloadToldInTheFirstEventIsTriedElsewhere(t *testing.T) {
	real(t)
	busy := script(t, func(c *tcp, _ *http.Request, _ []byte) bool {
		return say(c, sseHead("Transfer-Encoding: chunked")+
			chunk(`data: {"error":{"object":"error","message":"busy","type":"SERVICE_UNAVAILABLE","code":503}}`+"\n\n"+done)+"0\r\n\r\n")
	})
	e := engine(t, 0)
	g := start(t, []string{busy.URL, e.URL}, pool(func(p *configs.Pool) { p.Policy = configs.PolicyRoundRobin }))
	for range 6 {
		if a := g.asks((&Chat{Tokens: 5, Stream: true}).Raw(), http.StatusOK); !a.Complete() {
			t.Errorf("got %s", a)
		}
	}
	g.breakersClosed()
}

// Later the status is out: the event is passed on, and the stream is no success.
func TestErrorEventInTheMiddleIsPassedOn(t *testing.T) {
	real(t)
	e := engine(t, 0)
	e.SetFault(enginesim.Fault{Cut: enginesim.CutError, After: 3})
	g := start(t, []string{e.URL}, nil)
	a := g.asks((&Chat{Tokens: 50, Stream: true}).Raw(), http.StatusOK)
	if a.Failed == "" || a.Complete() {
		t.Errorf("got %s, want the engine's error event", a)
	}
}

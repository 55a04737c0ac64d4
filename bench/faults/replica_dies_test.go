//go:build linux

package faults

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"penstock/bench/enginesim"
	"penstock/configs"
)

func TestReplicaKilledMidStreamIsAnErrorNotAnEnd(t *testing.T) {
	real(t)
	p := process(t)
	g := start(t, []string{p.URL}, nil)
	_, a := g.open(&Chat{Tokens: 5000, Stream: true}, 5)
	signal(t, p, syscall.SIGKILL)
	a.Rest()
	if a.Failed == "" {
		t.Errorf("no error event: %s", a)
	}
	if a.Done || a.Clean {
		t.Errorf("the cut answer ends in good form: %s", a)
	}
	if n := g.metric("penstock_streams_cut_total"); n != 1 {
		t.Errorf("%g streams counted as cut, want 1", n)
	}
}

func TestReplicaKilledBeforeItsAnswerIsReplacedByAnother(t *testing.T) {
	real(t)
	p := process(t, "--faults", "hang")
	other := engine(t, 0)
	g := start(t, []string{p.URL, other.URL}, pool(func(p *configs.Pool) { p.Policy = configs.PolicyRoundRobin }))
	// Both replicas get one request each; the one on the hanging replica must
	// move when its process dies.
	answers := make(chan *Answer, 2)
	for range 2 {
		c := g.dial()
		g.send(c, (&Chat{Tokens: 3}).Raw())
		go func() {
			a, err := c.Receive()
			if err != nil {
				t.Error(err)
				a = &Answer{Response: &http.Response{}}
			} else {
				a.Rest()
			}
			answers <- a
		}()
	}
	g.eventually("a request on each replica", func() bool { return g.metric("penstock_choices_total") == 2 })
	signal(t, p, syscall.SIGKILL)
	for range 2 {
		if a := <-answers; !a.Complete() {
			t.Errorf("got %s, want a whole answer", a)
		}
	}
}

func TestOnlyReplicaKilledBeforeItsAnswerIs502(t *testing.T) {
	real(t)
	for _, stream := range []bool{false, true} {
		p := process(t, "--faults", "hang")
		g := start(t, []string{p.URL}, nil)
		c := g.dial()
		g.send(c, (&Chat{Tokens: 3, Stream: stream}).Raw())
		g.eventually("the request at the replica", func() bool { return g.metric("penstock_upstream_dials_total") == 1 })
		signal(t, p, syscall.SIGKILL)
		a := g.follow(c, 0)
		a.Rest()
		if a.StatusCode != http.StatusBadGateway || a.Failed == "" {
			t.Errorf("stream %t: got %s, want 502", stream, a)
		}
	}
}

// A replica that refuses connections has its port closed: killed before any
// request.
func TestDeadReplicaIsAvoidedWithoutFailures(t *testing.T) {
	real(t)
	p := process(t)
	other := engine(t, 0)
	signal(t, p, syscall.SIGKILL)
	<-p.exited
	g := start(t, []string{p.URL, other.URL}, pool(func(p *configs.Pool) { p.Policy = configs.PolicyRoundRobin }))
	for range 20 {
		if a := g.asks((&Chat{Tokens: 2}).Raw(), http.StatusOK); !a.Complete() {
			t.Fatalf("got %s", a)
		}
	}
	// One failure makes the other preferred for a second, and five open the
	// breaker: without either it would have been tried every other time.
	if n := g.metric("penstock_attempt_failures_total", `phase="dial"`); n < 1 || n > 5 {
		t.Errorf("the dead replica was tried %v times", n)
	}
}

// The port stays and the engine behind it changes: pooled connections are dead.
func TestEngineRestartBetweenRequestsIsNotSeen(t *testing.T) {
	real(t)
	cfg := EngineConfig()
	e, err := StartEngine(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	address := strings.TrimPrefix(e.URL, "http://")
	g := start(t, []string{e.URL}, pool(func(p *configs.Pool) { p.Connections.IdleTimeout = ms(3000) }))
	for life := range 5 {
		for _, stream := range []bool{false, true, false} {
			a := g.ask((&Chat{Tokens: 2, Stream: stream}).Raw())
			if !a.Complete() {
				t.Fatalf("life %d: got %s", life, a)
			}
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		ln, err := Listen(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		if e, err = ServeEngine(ln, cfg); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnswerInOnePieceThatIsCutIsAnError(t *testing.T) {
	real(t)
	e := engine(t, 0)
	g := start(t, []string{e.URL}, pool(func(p *configs.Pool) { p.Breaker.Failures = 0 }))
	for name, f := range map[string]enginesim.Fault{
		"closed short of its length": {TruncateJSON: true},
		"closed in its middle":       {Cut: enginesim.CutDie, After: 1},
		"reset in its middle":        {Cut: enginesim.CutReset, After: 1},
		"closed before its head":     {Cut: enginesim.CutDie},
		"reset before its head":      {Cut: enginesim.CutReset},
	} {
		e.SetFault(f)
		a := g.ask((&Chat{Tokens: 50}).Raw())
		if a.Complete() || a.StatusCode == http.StatusOK && a.Clean {
			t.Errorf("%s: got %s", name, a)
		}
		if a.StatusCode != http.StatusBadGateway {
			t.Errorf("%s: got %s, want 502: nothing was committed yet", name, a)
		}
	}
}

// truncations are answers whose end does not come, in every framing. Those
// marked whole end by their own rules and must pass.
var truncations = []struct {
	name, answer string
	reset, whole bool
	status       int // wanted
}{
	{"length, short", head("application/json", "Content-Length: 100") + `{"choices":[]`, false, false, 502},
	{"length, reset", head("application/json", "Content-Length: 100") + `{"choices":[]`, true, false, 502},
	{"length, nothing", head("application/json", "Content-Length: 100"), false, false, 502},
	{"head, half", "HTTP/1.1 200 OK\r\nContent-Ty", false, false, 502},
	{"chunked JSON, no last chunk", head("application/json", "Transfer-Encoding: chunked") + "5\r\n{\"a\":\r\n", false, false, 0},
	{"chunked JSON, inside a chunk", head("application/json", "Transfer-Encoding: chunked") + "ff\r\n{\"a\":", false, false, 0},
	{"chunked JSON, inside a size", head("application/json", "Transfer-Encoding: chunked") + "5\r\n{\"a\":\r\n1", false, false, 0},
	{"chunked JSON, inside the last chunk", head("application/json", "Transfer-Encoding: chunked") + "7\r\n{\"a\":1}\r\n0\r\n", false, false, 0},
	{"chunked SSE, no last chunk", sseHead("Transfer-Encoding: chunked") + chunk(event("a")), false, false, 200},
	{"chunked SSE, reset", sseHead("Transfer-Encoding: chunked") + chunk(event("a")), true, false, 0},
	{"chunked SSE, inside an event", sseHead("Transfer-Encoding: chunked") + chunk(event("a")+"data: {\"choi"), false, false, 200},
	{"chunked SSE, good end without [DONE]", sseHead("Transfer-Encoding: chunked") + chunk(event("a")) + "0\r\n\r\n", false, false, 200},
	{"chunked SSE, finish reason but no [DONE]", sseHead("Transfer-Encoding: chunked") + chunk(event("a")+finished) + "0\r\n\r\n", false, false, 200},
	{"chunked SSE, no event at all", sseHead("Transfer-Encoding: chunked") + "0\r\n\r\n", false, false, 502},
	{"close-delimited SSE, no [DONE]", sseHead() + event("a"), false, false, 200},
	{"close-delimited SSE, inside an event", sseHead() + event("a") + "data: {\"ch", false, false, 200},
	{"close-delimited SSE, [DONE] as text", sseHead() + event("data: [DONE]"), false, false, 200},
	{"close-delimited SSE, with [DONE]", sseHead() + event("a") + finished + done, false, true, 200},
	{"length SSE, short", sseHead("Content-Length: 999") + event("a"), false, false, 200},
	{"chunked SSE, whole", sseHead("Transfer-Encoding: chunked") + chunk(event("a")+finished+done) + "0\r\n\r\n", false, true, 200},
}

const (
	finished = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	done     = "data: [DONE]\n\n"
)

func head(contentType string, more ...string) string {
	return "HTTP/1.1 200 OK\r\nContent-Type: " + contentType + "\r\n" + strings.Join(append(more, "", ""), "\r\n")
}

func sseHead(more ...string) string { return head("text/event-stream; charset=utf-8", more...) }

func event(text string) string {
	return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":null}]}\n\n", text)
}

func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

func TestTruncatedUpstreamIsNeverACompleteAnswer(t *testing.T) {
	real(t)
	for _, c := range truncations {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := script(t, func(conn *tcp, _ *http.Request, _ []byte) bool {
				_, _ = conn.Write([]byte(c.answer))
				if c.reset {
					// What was written must arrive before the reset destroys it.
					<-time.After(100 * time.Millisecond)
					_ = conn.SetLinger(0)
				}
				return false
			})
			g := start(t, []string{s.URL}, nil)
			a := g.ask((&Chat{Stream: strings.Contains(c.name, "SSE")}).Raw())
			if a.Complete() != c.whole {
				t.Errorf("got %s, want complete %t", a, c.whole)
			}
			if !c.whole && a.Done {
				t.Errorf("a [DONE] that the engine never sent: %s", a)
			}
			if c.status != 0 && a.StatusCode != c.status {
				t.Errorf("got %s, want status %d", a, c.status)
			}
			if a.StatusCode == http.StatusOK && a.Stream() && !c.whole && a.Failed == "" {
				t.Errorf("no error event: %s", a)
			}
		})
	}
}

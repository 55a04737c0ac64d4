//go:build linux

package faults

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"penstock/bench/enginesim"
	"penstock/configs"
)

const poison = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 47\r\n\r\n" +
	`{"choices":[{"message":{"content":"poison!!"}}]}`

// Bytes that follow an answer belong to nobody, whenever they come.
func TestSurplusBytesReachNoOtherTenant(t *testing.T) {
	real(t)
	sse := sseHead("Transfer-Encoding: chunked") + chunk(event("mine")+finished+done) + "0\r\n\r\n"
	for name, c := range map[string]struct {
		answer string
		stream bool
		pause  time.Duration
	}{
		"in the same segment, JSON":   {jsonAnswer("mine"), false, 0},
		"in the same segment, stream": {sse, true, 0},
		"later, JSON":                 {jsonAnswer("mine"), false, 20 * time.Millisecond},
		"later, stream":               {sse, true, 20 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := script(t, func(conn *tcp, _ *http.Request, _ []byte) bool {
				if c.pause == 0 {
					return say(conn, c.answer+poison)
				}
				if !say(conn, c.answer) {
					return false
				}
				<-time.After(c.pause)
				return say(conn, poison)
			})
			g := start(t, []string{s.URL}, pool(func(p *configs.Pool) { p.Connections.IdleTimeout = ms(3000) }))
			g.twoTenants(&Chat{Stream: c.stream}, 30)
			if n := g.metric("penstock_upstream_surplus_total") + g.metric("penstock_upstream_poisoned_total"); n == 0 {
				t.Error("no surplus was noticed")
			}
		})
	}
}

// twoTenants sends requests of two tenants in turn, one at a time so that they
// share the engine's connection, with a pause that lets late bytes arrive.
func (r *rig) twoTenants(q *Chat, rounds int) {
	r.t.Helper()
	tenants := []*Client{r.dial(), r.dial()}
	for i := range rounds {
		a, err := tenants[i%2].Do(q.Raw())
		if err != nil {
			r.t.Fatal(err)
		}
		if strings.Contains(string(a.Body), "poison") {
			r.t.Fatalf("round %d got bytes of nobody's answer: %s", i, a)
		}
		if a.Text != "mine" {
			r.t.Errorf("round %d: got %s", i, a)
		}
		<-time.After(30 * time.Millisecond)
	}
	for _, c := range tenants {
		_ = c.Close()
	}
}

// Surplus that comes after an idle connection was looked at cannot be told from
// an answer. So a replica that was caught once gets no second request on any
// connection, which is what holds when many tenants share it: here each answer
// says whose it is, and the surplus comes at the worst times.
func TestReplicaCaughtWithSurplusIsNotReusedUnderLoad(t *testing.T) {
	real(t)
	e := engine(t, time.Millisecond)
	e.SetFault(enginesim.Fault{Surplus: true})
	s := script(t, func(c *tcp, _ *http.Request, body []byte) bool {
		_, rest, _ := strings.Cut(string(body), `"content":"`)
		who, _, _ := strings.Cut(rest, `"`)
		return say(c, jsonAnswer(who)) && say(c, poison)
	})
	for name, url := range map[string]string{"engine": e.URL, "script": s.URL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := start(t, []string{url}, pool(func(p *configs.Pool) { p.Connections.IdleTimeout = ms(3000) }))
			g.eventually("the replica caught", func() bool {
				g.asks((&Chat{Prompt: "first", Tokens: 2}).Raw(), http.StatusOK)
				<-time.After(30 * time.Millisecond)
				return g.metric("penstock_upstream_surplus_total")+g.metric("penstock_upstream_poisoned_total") > 0
			})
			g.manyTenants(8, 40)
			if n := g.metric("penstock_upstream_idle_connections"); n != 0 {
				t.Errorf("%g connections are kept", n)
			}
		})
	}
}

// manyTenants lets each tenant ask for its own name, all at once.
func (r *rig) manyTenants(tenants, rounds int) {
	r.t.Helper()
	var whole atomic.Int64
	var all sync.WaitGroup
	for tenant := range tenants {
		all.Go(func() {
			me := "tenant-" + itoa(tenant)
			for range rounds {
				a, err := Ask(r.t.Context(), r.Data, (&Chat{Prompt: me, Tokens: 2}).Raw())
				if err != nil {
					r.t.Error(err)
					return
				}
				if strings.Contains(string(a.Body), "poison") || strings.Contains(a.Text, "tenant-") && a.Text != me {
					r.t.Errorf("%s got %s", me, a)
				}
				if a.Complete() {
					whole.Add(1)
				}
			}
		})
	}
	all.Wait()
	if n := whole.Load(); n != int64(tenants*rounds) {
		r.t.Errorf("%d of %d answers are whole", n, tenants*rounds)
	}
}

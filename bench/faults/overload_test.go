//go:build linux

package faults

import (
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"penstock/configs"
)

// When every replica refuses, retries must not multiply what they refuse.
func TestRetryStormStaysWithinTheBudget(t *testing.T) {
	real(t)
	for _, status := range []int{http.StatusServiceUnavailable, http.StatusTooManyRequests} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			var upstream atomic.Int64
			f := func(c *tcp, _ *http.Request, _ []byte) bool {
				upstream.Add(1)
				<-time.After(20 * time.Millisecond) // so that requests are in flight together
				return say(c, statusAnswer(status, "Retry-After: 7"))
			}
			var urls []string
			for range 4 {
				urls = append(urls, script(t, f).URL)
			}
			g := start(t, urls, nil)
			const clients, each = 60, 12
			var asking sync.WaitGroup
			for range clients {
				c := g.dial()
				asking.Go(func() {
					defer c.Close()
					for range each {
						a, err := c.Do((&Chat{Tokens: 1}).Raw())
						if err != nil || a.StatusCode != status || a.Header.Get("Retry-After") == "" || a.Failed == "" {
							t.Errorf("got %v, %v, want the refusal", a, err)
							return
						}
					}
				})
			}
			asking.Wait()
			if n := upstream.Load(); float64(n) > 1.2*clients*each {
				t.Errorf("%d requests became %d", clients*each, n)
			}
			g.breakersClosed()
		})
	}
}

func TestRefusalOfTheOnlyReplicaIsPassedThrough(t *testing.T) {
	real(t)
	for _, status := range []int{http.StatusServiceUnavailable, http.StatusTooManyRequests} {
		s := script(t, func(c *tcp, _ *http.Request, _ []byte) bool { return say(c, statusAnswer(status, "Retry-After: 7")) })
		g := start(t, []string{s.URL}, nil)
		for range 10 {
			for _, stream := range []bool{false, true} {
				a := g.asks((&Chat{Stream: stream}).Raw(), status)
				if a.Header.Get("Retry-After") != "7" || a.Failed == "" {
					t.Errorf("got %s, Retry-After %q", a, a.Header.Get("Retry-After"))
				}
			}
		}
		g.breakersClosed()
	}
}

// Requests beyond max_in_flight are refused at once and leave nothing behind.
func TestRequestsBeyondTheLimitAreRefusedAtOnce(t *testing.T) {
	real(t)
	e := engine(t, 5*time.Millisecond)
	g := start(t, []string{e.URL}, func(c *configs.Config) { c.Limits.MaxInFlight = 3 })
	var open []*Client
	for range 3 {
		c, _ := g.open(&Chat{Tokens: 5000, Stream: true}, 1)
		open = append(open, c)
	}
	a := g.asks((&Chat{Tokens: 1}).Raw(), http.StatusTooManyRequests)
	if a.Header.Get("Retry-After") == "" {
		t.Errorf("no Retry-After: %s", a)
	}
	for _, c := range open {
		_ = c.Close()
	}
	g.eventually("service again", func() bool {
		return g.ask((&Chat{Tokens: 1}).Raw()).StatusCode == http.StatusOK
	})
}

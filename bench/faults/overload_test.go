//go:build linux

package faults

import (
	"net/http"
	"os"
	"strconv"
	"strings"
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

// Bodies wait in memory for engines that do not answer: beyond the limit they
// are refused, and the memory is free again when their clients have gone.
func TestBodiesBeyondTheMemoryLimitAreRefused(t *testing.T) {
	real(t)
	var working atomic.Bool
	s := script(t, func(c *tcp, _ *http.Request, _ []byte) bool {
		if working.Load() {
			return say(c, jsonAnswer("x"))
		}
		_, _ = c.Read(make([]byte, 1)) // returns when the gateway closes
		return false
	})
	g := start(t, []string{s.URL}, func(c *configs.Config) { c.Limits.MaxBodyMemory, c.Listen.MaxBodyBytes = 4<<20, 2<<20 })
	large := &Chat{Prompt: strings.Repeat("x", 1<<20), Tokens: 1}
	var held []*Client
	for i := range 3 { // a fourth goes over
		c := g.dial()
		g.send(c, large.Raw())
		g.eventually("the body in memory", func() bool { return g.metric("penstock_body_bytes") > float64(i+1)*(1<<20) })
		held = append(held, c)
	}
	a := g.asks(large.Raw(), http.StatusServiceUnavailable)
	if a.Header.Get("Retry-After") == "" || a.Failed == "" {
		t.Errorf("got %s", a)
	}
	for _, c := range held {
		_ = c.Close()
	}
	g.eventually("the memory free", func() bool { return g.metric("penstock_body_bytes") == 0 })
	working.Store(true)
	g.asks(large.Raw(), http.StatusOK)
}

// A full disk costs log lines, not requests.
func TestAccessLogOnAFullDiskCostsNoRequest(t *testing.T) {
	real(t)
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full")
	}
	e := engine(t, 0)
	g := start(t, []string{e.URL}, func(c *configs.Config) { c.Log.AccessFile = "/dev/full" })
	l := startLoad(t, g.Data, 4)
	l.passes(200)
	g.eventually("lost lines counted", func() bool { return g.metric("penstock_access_log_dropped_total") > 0 })
	l.finish()
}

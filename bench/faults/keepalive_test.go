//go:build linux

package faults

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"penstock/bench/enginesim"
	"penstock/configs"
)

// Engines close idle connections, some of them at the very moment at which the
// next request is on its way. No POST may fail for it.
func TestConnectionsThatTheEngineClosesFailNoRequest(t *testing.T) {
	real(t)
	closes := engine(t, 0)
	closes.SetFault(enginesim.Fault{CloseIdle: true})
	impatient := engine(t, 0, func(c *enginesim.Config) { c.KeepAlive = 5 * time.Millisecond })
	resets := script(t, func(c *tcp, _ *http.Request, _ []byte) bool {
		ok := say(c, jsonAnswer("mine"))
		<-time.After(2 * time.Millisecond)
		_ = c.SetLinger(0)
		return ok && false
	})
	// Takes the second request on a connection and dies without an answer: what
	// a close that crosses the request looks like.
	var mu sync.Mutex
	seen := map[*tcp]bool{}
	crosses := script(t, func(c *tcp, _ *http.Request, _ []byte) bool {
		mu.Lock()
		again := seen[c]
		seen[c] = true
		mu.Unlock()
		return !again && say(c, jsonAnswer("mine"))
	})
	for name, url := range map[string]string{
		"after each answer":        closes.URL,
		"after five milliseconds":  impatient.URL,
		"with a reset":             resets.URL,
		"as the request is coming": crosses.URL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := start(t, []string{url}, pool(func(p *configs.Pool) { p.Connections.IdleTimeout = ms(3000) }))
			var clients sync.WaitGroup
			for range 4 {
				c := g.dial()
				clients.Go(func() {
					defer c.Close()
					for i := range 60 {
						a, err := c.Do((&Chat{Tokens: 2, Stream: i%3 == 0 && name != "with a reset" && !strings.HasPrefix(name, "as")}).Raw())
						if err != nil || !a.Complete() {
							t.Errorf("request %d: %v, %v", i, a, err)
							return
						}
						if i%4 == 0 {
							<-time.After(5 * time.Millisecond) // the engine's idle time, to hit its close
						}
					}
				})
			}
			clients.Wait()
			g.breakersClosed()
		})
	}
}

//go:build linux

package faults

import (
	"net/http"
	"testing"

	"golang.org/x/sys/unix"

	"penstock/configs"
)

// TestRunningOutOfDescriptorsTurnsClientsAway lowers the limit of the running
// gateway and opens more connections than fit. Each client is served, turned
// away, or held until the connections of others have been idle too long.
func TestRunningOutOfDescriptorsTurnsClientsAway(t *testing.T) {
	real(t)
	e := engine(t, 0)
	g := start(t, []string{e.URL}, func(c *configs.Config) { c.Listen.IdleTimeout = ms(1000) })
	const limit, clients = 64, 200
	var old unix.Rlimit
	if err := unix.Prlimit(g.Pid(), unix.RLIMIT_NOFILE, nil, &old); err != nil {
		t.Skipf("cannot read the limit of another process: %v", err)
	}
	if err := unix.Prlimit(g.Pid(), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit, Max: old.Max}, nil); err != nil {
		t.Skipf("cannot lower the limit of another process: %v", err)
	}
	var all []*Client
	for range clients {
		c := g.dial()
		_ = c.Send((&Chat{Tokens: 1}).Raw()) // those turned away may be closed already
		all = append(all, c)
	}
	served, refused := 0, 0
	for _, c := range all {
		a, err := c.Receive()
		switch {
		case err != nil && closedByPeer(err):
			refused++
		case err != nil:
			t.Errorf("a client hangs: %v", err)
		default:
			a.Rest()
			switch a.StatusCode {
			case http.StatusOK:
				served++
			case http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusTooManyRequests:
				refused++
			default:
				t.Errorf("got %s", a)
			}
		}
	}
	t.Logf("%d served, %d refused", served, refused)
	if refused == 0 {
		t.Error("descriptors never ran out")
	}
	for _, c := range all {
		_ = c.Close()
	}
	g.eventually("service again under the low limit", func() bool {
		a, err := Ask(t.Context(), g.Data, (&Chat{Tokens: 1}).Raw())
		return err == nil && a.StatusCode == http.StatusOK
	})
	if err := unix.Prlimit(g.Pid(), unix.RLIMIT_NOFILE, &old, nil); err != nil {
		t.Error(err)
	}
}

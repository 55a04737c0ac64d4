package pools

import (
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"penstock/configs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a clock that tests move by hand.
type clock struct{ at time.Time }

func newClock() *clock                         { return &clock{at: time.Unix(1_800_000_000, 0)} }
func (c *clock) now() time.Time                { return c.at }
func (c *clock) advance(d time.Duration)       { c.at = c.at.Add(d) }
func (c *clock) elapsed(v *View) time.Duration { return v.Elapsed(c.at) }

// poolOf is a pool of n replicas r0, r1, ... with the default settings.
func poolOf(n int) configs.Pool {
	p := configs.Pool{
		Name:           "p",
		Breaker:        configs.Breaker{Failures: 3, Open: configs.Duration(10 * time.Second), HalfOpenRequests: 1},
		Health:         configs.Health{Fall: 3, Rise: 2},
		Load:           configs.Load{StaleAfter: configs.Duration(10 * time.Second)},
		Retry:          configs.Retry{MaxRetryAfter: configs.Duration(2 * time.Second)},
		SlowStart:      configs.Duration(30 * time.Second),
		PanicThreshold: 0.5,
		DrainTimeout:   configs.Duration(time.Minute),
	}
	for i := range n {
		p.Replicas = append(p.Replicas, configs.Replica{ID: fmt.Sprintf("r%d", i), URL: fmt.Sprintf("http://10.0.0.%d:8000", i+1)})
	}
	return p
}

func newTestSet(t *testing.T, cfg configs.Pool, now func() time.Time) *Set {
	t.Helper()
	s, err := New("p", cfg, Deps{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// member returns a replica of the current view.
func (s *Set) member(t *testing.T, id ReplicaID) *Member {
	t.Helper()
	v := s.View()
	i := v.Find(id)
	if i < 0 {
		t.Fatalf("no replica %q in the view", id)
	}
	return &v.Members[i]
}

// acquire takes a lease that must be given.
func acquire(t *testing.T, s *Set, id ReplicaID) *Lease {
	t.Helper()
	l, err := s.AcquireMember(*s.member(t, id), Cost{PromptTokens: 100, OutputTokens: 50})
	if err != nil {
		t.Fatalf("cannot acquire %q: %v", id, err)
	}
	return l
}

// ready reports one passed probe of each replica.
func ready(s *Set) {
	v := s.View()
	for i := range v.Members {
		s.ReportProbe(v.Members[i].ID, v.Members[i].Epoch, true, "")
	}
}

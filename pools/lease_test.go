package pools

import (
	"errors"
	"sync"
	"testing"
	"time"
)

func TestLeaseGivesBackExactlyOnce(t *testing.T) {
	t.Parallel()
	s := newTestSet(t, poolOf(2), nil)
	l := acquire(t, s, "r0")
	m := s.member(t, "r0")
	check := func(what string, inFlight int, tokens int64) {
		t.Helper()
		if got := m.Load(); got.InFlight != inFlight || got.Tokens != tokens {
			t.Fatalf("%s: in flight %d, tokens %d; want %d, %d", what, got.InFlight, got.Tokens, inFlight, tokens)
		}
	}
	check("acquired", 1, 150)
	l.PromptDone()
	l.PromptDone()
	check("prompt done", 1, 50)
	l.Progress(20)
	check("20 tokens out", 1, 30)
	l.Settle(40)
	check("settled above what is left", 1, 30)
	l.Settle(10)
	check("settled", 1, 10)
	l.Progress(1000)
	check("more out than reserved", 1, 0)
	l.End(OutcomeOK)
	l.End(OutcomeFailed)
	l.Progress(5)
	l.PromptDone()
	check("ended twice", 0, 0)
	if n := s.Leases(); n != 0 {
		t.Fatalf("leases out: %d", n)
	}
}

func TestLeaseIsSafeFromAnyGoroutine(t *testing.T) {
	t.Parallel()
	s := newTestSet(t, poolOf(2), nil)
	for range 200 {
		l := acquire(t, s, "r0")
		var wg sync.WaitGroup
		for _, f := range []func(){
			func() { l.End(OutcomeClientGone) }, func() { l.End(OutcomeOK) },
			l.PromptDone, func() { l.Progress(7) }, func() { l.Settle(3) },
		} {
			wg.Go(f)
		}
		wg.Wait()
	}
	if l := s.member(t, "r0").Load(); l.InFlight != 0 || l.Tokens != 0 {
		t.Fatalf("left over: %+v", l)
	}
}

func TestAcquireRefusesWhatItMust(t *testing.T) {
	t.Parallel()
	cfg := poolOf(3)
	cfg.Replicas[0].MaxConcurrency = 1
	s := newTestSet(t, cfg, nil)
	m := *s.member(t, "r0")
	l := acquire(t, s, "r0")
	if m.Eligible("") {
		t.Error("a full replica is eligible")
	}
	if _, err := s.AcquireMember(m, Cost{}); !errors.Is(err, ErrFull) {
		t.Errorf("full: %v", err)
	}
	l.End(OutcomeOK)
	if _, err := s.Acquire("r0", m.Epoch+1, Cost{}); !errors.Is(err, ErrGone) {
		t.Errorf("other epoch: %v", err)
	}
	if err := s.Drain("r0"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.AcquireMember(m, Cost{}); !errors.Is(err, ErrGone) {
		t.Errorf("draining: %v", err)
	}
	if n := s.Leases(); n != 0 {
		t.Errorf("refusals left %d leases", n)
	}
}

func TestBackpressureIsAvoidedForAWhile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ retryAfter, avoided time.Duration }{
		"no Retry-After":        {0, time.Second},
		"short":                 {300 * time.Millisecond, 300 * time.Millisecond},
		"longer than the bound": {time.Hour, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c1 := newClock()
			s := newTestSet(t, poolOf(2), c1.now)
			for range 10 { // ten refusals in a row do not trip
				acquire(t, s, "r0").EndAfter(OutcomeBackpressure, c.retryAfter)
			}
			m := s.member(t, "r0")
			if m.State() != StatePending {
				t.Fatalf("state %v", m.State())
			}
			at := c1.elapsed(s.View())
			if !m.AvoidedAt(at+c.avoided-1) || m.AvoidedAt(at+c.avoided) {
				t.Fatalf("not avoided for %v", c.avoided)
			}
		})
	}
}

// The budget is two allocations: the lease, and the callback of the breaker.
func TestFailureIsAvoidedForAMoment(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := newTestSet(t, poolOf(2), clock.now)
	acquire(t, s, "r0").End(OutcomeFailed)
	m := s.member(t, "r0")
	if !m.AvoidedAt(s.elapsed()) || !m.Eligible("") {
		t.Fatal("others should be preferred, and the replica still be there when they are gone")
	}
	clock.advance(failedWindow)
	if m.AvoidedAt(s.elapsed()) {
		t.Fatal("avoided for ever")
	}
	acquire(t, s, "r1").End(OutcomeClientGone)
	if s.member(t, "r1").AvoidedAt(s.elapsed()) {
		t.Fatal("a client that left is held against the replica")
	}
}

func TestAcquireAllocates(t *testing.T) {
	s := newTestSet(t, poolOf(2), nil)
	m := *s.member(t, "r0")
	if n := testing.AllocsPerRun(1000, func() {
		l, _ := s.AcquireMember(m, Cost{PromptTokens: 1, OutputTokens: 1})
		l.End(OutcomeOK)
	}); n > 2 {
		t.Fatalf("%v allocations", n)
	}
}

func BenchmarkAcquireEnd(b *testing.B) {
	for _, failures := range []int{0, 5} {
		b.Run(map[int]string{0: "breaker off", 5: "breaker on"}[failures], func(b *testing.B) {
			cfg := poolOf(2)
			cfg.Breaker.Failures = failures
			s, err := New("p", cfg, Deps{})
			if err != nil {
				b.Fatal(err)
			}
			m := s.View().Members[0]
			b.ReportAllocs()
			for b.Loop() {
				l, _ := s.AcquireMember(m, Cost{PromptTokens: 1, OutputTokens: 1})
				l.End(OutcomeOK)
			}
		})
	}
}

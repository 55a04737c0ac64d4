package pools

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// fail ends n requests on a replica as failed.
func fail(t *testing.T, s *Set, id ReplicaID, n int) {
	t.Helper()
	for range n {
		acquire(t, s, id).End(OutcomeFailed)
	}
}

func (s *Set) stateOf(t *testing.T, id ReplicaID) State {
	t.Helper()
	return s.member(t, id).State()
}

func TestBreakerTripsTestsAndCloses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestSet(t, poolOf(3), time.Now)
		ready(s)
		version := s.View().Version
		fail(t, s, "r0", 3)
		m := *s.member(t, "r0")
		if m.State() != StateTripped || m.Eligible("") || s.View().Version == version {
			t.Fatalf("after three failures: %v, eligible %v", m.State(), m.Eligible(""))
		}
		if _, err := s.AcquireMember(m, Cost{}); !errors.Is(err, ErrTripped) {
			t.Fatalf("acquired a tripped replica: %v", err)
		}
		<-time.After(10*time.Second + 1)
		if !m.Eligible("") {
			t.Fatal("not tested after the open time")
		}
		test := acquire(t, s, "r0")
		if m.Eligible("") {
			t.Fatal("a second test request is let through")
		}
		test.End(OutcomeFailed)
		if m.Eligible("") {
			t.Fatal("eligible after the test failed")
		}
		<-time.After(10*time.Second + 1)
		acquire(t, s, "r0").End(OutcomeOK)
		if got := s.stateOf(t, "r0"); got != StateReady {
			t.Fatalf("after the test passed: %v", got)
		}
		if r := m.Load().Ramp; r > 0.11 {
			t.Fatalf("back with the full share at once: %v", r)
		}
		if n := s.Leases(); n != 0 {
			t.Fatalf("leases %d", n)
		}
	})
}

func TestFirstEventProvesATestRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestSet(t, poolOf(2), time.Now)
		fail(t, s, "r0", 3)
		<-time.After(11 * time.Second)
		stream := acquire(t, s, "r0")
		stream.PromptDone()
		if got := s.stateOf(t, "r0"); got != StatePending {
			t.Fatalf("while the stream runs: %v", got)
		}
		stream.End(OutcomeFailed) // counts as one more request
		if n := s.member(t, "r0").m.breaker.Load().two.Counts().ConsecutiveFailures; n != 1 {
			t.Fatalf("failures counted: %d", n)
		}
	})
}

func TestWhatSaysNothingDoesNotTrip(t *testing.T) {
	t.Parallel()
	s := newTestSet(t, poolOf(2), nil)
	for _, o := range []Outcome{OutcomeClientGone, OutcomeNeutral, OutcomeBackpressure} {
		for range 20 {
			acquire(t, s, "r0").End(o)
		}
	}
	fail(t, s, "r0", 2)
	acquire(t, s, "r0").End(OutcomeOK)
	fail(t, s, "r0", 2)
	if got := s.stateOf(t, "r0"); got != StatePending {
		t.Fatalf("state %v", got)
	}
}

func TestExcludedTestRequestGivesItsPlaceBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestSet(t, poolOf(2), time.Now)
		fail(t, s, "r0", 3)
		<-time.After(11 * time.Second)
		for range 5 {
			acquire(t, s, "r0").End(OutcomeClientGone)
		}
		if !s.member(t, "r0").Eligible("") {
			t.Fatal("clients that left used up the test")
		}
	})
}

func TestLastUsableReplicaIsNeverTripped(t *testing.T) {
	t.Parallel()
	cfg := poolOf(3)
	cfg.PanicThreshold = 0 // the rule holds by itself
	s := newTestSet(t, cfg, nil)
	for range 3 {
		s.ReportProbe("r2", s.member(t, "r2").Epoch, false, "")
	}
	fail(t, s, "r0", 3)
	fail(t, s, "r1", 30)
	if a, b, c := s.stateOf(t, "r0"), s.stateOf(t, "r1"), s.stateOf(t, "r2"); a != StateTripped || b != StatePending || c != StateDown {
		t.Fatalf("states %v, %v, %v", a, b, c)
	}
	if !s.member(t, "r1").Eligible("") || s.counts.lastStand.Load() == 0 {
		t.Fatal("the last one does not take requests")
	}
	if s.member(t, "r1").SoundAt(0) {
		t.Fatal("a failing replica kept in use is called sound")
	}
	acquire(t, s, "r1").End(OutcomeOK)
	if !s.member(t, "r1").SoundAt(0) {
		t.Fatal("not sound after a good answer")
	}
	// Now the last one goes down by its probes: the tripped one is better than none.
	for range 3 {
		s.ReportProbe("r1", s.member(t, "r1").Epoch, false, "")
	}
	if !s.member(t, "r0").Eligible("") || s.member(t, "r1").Eligible("") {
		t.Fatal("a tripped replica is refused though nothing else is left")
	}
	acquire(t, s, "r0").End(OutcomeOK)
}

func TestTwoReplicasDoNotTripCountingOnEachOther(t *testing.T) {
	t.Parallel()
	for range 50 {
		cfg := poolOf(2)
		cfg.PanicThreshold = 0
		s := newTestSet(t, cfg, nil)
		done := make(chan struct{})
		for _, id := range []ReplicaID{"r0", "r1"} {
			m := *s.member(t, id)
			go func() {
				defer func() { done <- struct{}{} }()
				for range 3 {
					if l, err := s.AcquireMember(m, Cost{}); err == nil {
						l.End(OutcomeFailed)
					}
				}
			}()
		}
		<-done
		<-done
		if s.stateOf(t, "r0") == StateTripped && s.stateOf(t, "r1") == StateTripped {
			t.Fatal("both tripped")
		}
	}
}

func TestReloadedBreakerStartsClosed(t *testing.T) {
	t.Parallel()
	cfg := poolOf(2)
	s := newTestSet(t, cfg, nil)
	late := acquire(t, s, "r0") // let through by the old breaker
	fail(t, s, "r0", 3)
	cfg.Breaker.Failures = 2
	if err := s.Apply(cfg); err != nil {
		t.Fatal(err)
	}
	late.End(OutcomeFailed)
	if got := s.stateOf(t, "r0"); got != StatePending {
		t.Fatalf("state %v", got)
	}
	cfg.Breaker.Failures = 0
	if err := s.Apply(cfg); err != nil {
		t.Fatal(err)
	}
	fail(t, s, "r0", 50)
	if got := s.stateOf(t, "r0"); got != StatePending {
		t.Fatalf("tripped though off: %v", got)
	}
}

package pools

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"penstock/configs"
)

func ids(s *Set) []ReplicaID {
	v := s.View()
	out := make([]ReplicaID, len(v.Members))
	for i := range v.Members {
		out[i] = v.Members[i].ID
	}
	return out
}

func wantIDs(t *testing.T, s *Set, want ...ReplicaID) {
	t.Helper()
	if got := ids(s); !slices.Equal(got, want) {
		t.Fatalf("replicas %v, want %v", got, want)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestRemoveWaitsForItsRequests(t *testing.T) {
	t.Parallel()
	s := newTestSet(t, poolOf(2), nil)
	changed, stop := s.Watch()
	defer stop()
	l := acquire(t, s, "r0")
	left, err := s.Remove("r0")
	if err != nil {
		t.Fatal(err)
	}
	wantIDs(t, s, "r0", "r1")
	if s.stateOf(t, "r0") != StateDraining || isClosed(left) {
		t.Fatal("gone with a request running")
	}
	if err := s.Undrain("r0"); !errors.Is(err, ErrUnknown) {
		t.Fatalf("a removal was taken back: %v", err)
	}
	<-changed
	l.End(OutcomeOK)
	wantIDs(t, s, "r1")
	if !isClosed(left) || !isClosed(changed) {
		t.Fatal("nobody was told")
	}
	if left, err := s.Remove("r1"); err != nil || !isClosed(left) {
		t.Fatalf("an idle replica does not leave at once: %v", err)
	}
	if _, err := s.Remove("r1"); !errors.Is(err, ErrUnknown) {
		t.Fatalf("removed twice: %v", err)
	}
}

func TestDrainTimeoutExpels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestSet(t, poolOf(2), time.Now)
		l := acquire(t, s, "r0")
		if _, err := s.Remove("r0"); err != nil {
			t.Fatal(err)
		}
		<-time.After(59 * time.Second)
		synctest.Wait()
		wantIDs(t, s, "r0", "r1")
		if isClosed(l.Left()) {
			t.Fatal("told to leave early")
		}
		<-time.After(2 * time.Second)
		synctest.Wait()
		wantIDs(t, s, "r1")
		if !isClosed(l.Left()) {
			t.Fatal("the stream was not told")
		}
		if n := s.Leases(); n != 1 {
			t.Fatalf("a running request is not counted: %d", n)
		}
		l.End(OutcomeNeutral)
		if n := s.Leases(); n != 0 {
			t.Fatalf("leases %d", n)
		}
	})
}

func TestDrainIsTakenBack(t *testing.T) {
	t.Parallel()
	s := newTestSet(t, poolOf(2), nil)
	if err := s.Drain("r0"); err != nil {
		t.Fatal(err)
	}
	wantIDs(t, s, "r0", "r1")
	if err := s.Undrain("r0"); err != nil {
		t.Fatal(err)
	}
	acquire(t, s, "r0").End(OutcomeOK)
	if err := s.Drain("nobody"); !errors.Is(err, ErrUnknown) {
		t.Fatal(err)
	}
}

func TestDuplicateIsRefusedAndANewLifeTakesOver(t *testing.T) {
	t.Parallel()
	s := newTestSet(t, poolOf(2), nil)
	again := Replica{ID: "r0", URL: "http://10.0.0.1:8000"}
	if err := s.Add(again); !errors.Is(err, ErrDuplicate) {
		t.Fatalf("duplicate: %v", err)
	}
	old := *s.member(t, "r0")
	l := acquire(t, s, "r0")
	again.Epoch = old.Epoch + 10
	if err := s.Add(again); err != nil {
		t.Fatal(err)
	}
	wantIDs(t, s, "r0", "r1")
	m := s.member(t, "r0")
	if m.Epoch <= old.Epoch || m.Load().InFlight != 0 || s.Leases() != 1 {
		t.Fatalf("new life %+v", m.Load())
	}
	if _, err := s.AcquireMember(old, Cost{}); !errors.Is(err, ErrGone) {
		t.Fatalf("the old life takes requests: %v", err)
	}
	l.End(OutcomeOK)
	if n := s.Leases(); n != 0 {
		t.Fatalf("leases %d", n)
	}
	if !isClosed(l.Left()) {
		t.Fatal("the old life never left")
	}
	// A replica that drains may register again.
	acquire(t, s, "r1")
	if _, err := s.Remove("r1"); err != nil {
		t.Fatal(err)
	}
	before := s.member(t, "r1").Epoch
	if err := s.Add(Replica{ID: "r1", URL: "http://10.0.0.2:8000"}); err != nil {
		t.Fatal(err)
	}
	if ep := s.member(t, "r1").Epoch; ep <= before {
		t.Fatalf("epoch %d after %d", ep, before)
	}
}

func TestAddRefusesWhatIsNoAddress(t *testing.T) {
	t.Parallel()
	s := newTestSet(t, poolOf(1), nil)
	for _, url := range []string{"", "10.0.0.1:80", "ftp://host", "http://", "http://%zz"} {
		if s.Add(Replica{ID: "x", URL: url}) == nil {
			t.Errorf("%q was taken", url)
		}
	}
	if err := s.Add(Replica{URL: "http://10.0.0.9:80/base/"}); err != nil {
		t.Fatal(err)
	}
	m := s.member(t, "10.0.0.9:80/base")
	if m.URL != "http://10.0.0.9:80/base" || m.Weight != 1 || m.Ranks != 1 || !m.Registered {
		t.Fatalf("%+v", m.Replica)
	}
}

func TestUpdateKeepsIdentityAndCounters(t *testing.T) {
	t.Parallel()
	s := newTestSet(t, poolOf(1), nil)
	l := acquire(t, s, "r0")
	old := s.member(t, "r0").Replica
	err := s.Update("r0", func(r *Replica) { r.ID, r.URL, r.Epoch, r.Weight, r.MaxConcurrency = "z", "http://z", 99, 7, 1 })
	if err != nil {
		t.Fatal(err)
	}
	m := s.member(t, "r0")
	if m.URL != old.URL || m.Epoch != old.Epoch || m.Weight != 7 || m.InFlight() != 1 || m.Eligible("") {
		t.Fatalf("%+v", m.Replica)
	}
	l.End(OutcomeOK)
	if err := s.Update("nobody", func(*Replica) {}); !errors.Is(err, ErrUnknown) {
		t.Fatal(err)
	}
}

func TestApplyKeepsWhatStays(t *testing.T) {
	t.Parallel()
	cfg := poolOf(3)
	s := newTestSet(t, cfg, nil)
	ready(s)
	if err := s.Add(Replica{ID: "reg", URL: "http://10.0.1.1"}); err != nil {
		t.Fatal(err)
	}
	kept := acquire(t, s, "r0")
	gone := acquire(t, s, "r1")
	moved := acquire(t, s, "r2")
	if err := s.Update("r0", func(r *Replica) { r.Weight = 5 }); err != nil {
		t.Fatal(err)
	}
	epoch := s.member(t, "r2").Epoch

	next := poolOf(3)
	next.Replicas = []configs.Replica{
		{ID: "new", URL: "http://10.0.2.1"}, {ID: "r2", URL: "http://10.9.9.9"}, next.Replicas[0],
	}
	if err := s.Apply(next); err != nil {
		t.Fatal(err)
	}
	wantIDs(t, s, "new", "r2", "r0", "r1", "reg")
	if m := s.member(t, "r0"); m.InFlight() != 1 || m.State() != StateReady || m.Weight != 5 {
		t.Fatalf("r0 did not stay as it was: %v %+v", m.State(), m.Load())
	}
	if m := s.member(t, "r2"); m.Epoch == epoch || m.InFlight() != 0 {
		t.Fatal("another address is not another life")
	}
	if s.stateOf(t, "r1") != StateDraining || s.stateOf(t, "reg") == StateDraining {
		t.Fatal("the wrong one drains")
	}
	gone.End(OutcomeOK)
	moved.End(OutcomeOK)
	kept.End(OutcomeOK)
	wantIDs(t, s, "new", "r2", "r0", "reg")

	bad := poolOf(2)
	bad.Replicas[1].ID = "r0"
	version := s.View().Version
	if err := s.Apply(bad); !errors.Is(err, ErrDuplicate) || s.View().Version != version {
		t.Fatalf("a bad configuration: %v", err)
	}
	changed := poolOf(1)
	changed.Replicas[0].Weight = 3
	if err := s.Apply(changed); err != nil {
		t.Fatal(err)
	}
	if w := s.member(t, "r0").Weight; w != 3 {
		t.Fatalf("a changed line does not win over an update: weight %d", w)
	}
}

// A drain that begins while requests come in must neither lose one nor leave a
// replica behind for ever.
func TestRemoveRacesWithAcquire(t *testing.T) {
	t.Parallel()
	for range 200 {
		s := newTestSet(t, poolOf(2), nil)
		m := *s.member(t, "r0")
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 20 {
				if l, err := s.AcquireMember(m, Cost{PromptTokens: 5}); err == nil {
					l.End(OutcomeOK)
				}
			}
		}()
		left, err := s.Remove("r0")
		if err != nil {
			t.Fatal(err)
		}
		<-done
		<-left
		wantIDs(t, s, "r1")
		if n := s.Leases(); n != 0 {
			t.Fatalf("leases %d", n)
		}
	}
}

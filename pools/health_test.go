package pools

import (
	"math"
	"testing"
	"time"

	"penstock/configs"
)

func TestProbesMoveTheStateByFallAndRise(t *testing.T) {
	t.Parallel()
	s := newTestSet(t, poolOf(3), nil)
	ep := s.member(t, "r0").Epoch
	step := func(ok bool, want State) {
		t.Helper()
		s.ReportProbe("r0", ep, ok, "x")
		if got := s.stateOf(t, "r0"); got != want {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
	step(false, StatePending)
	step(false, StatePending)
	step(true, StateReady) // one passed probe is enough at first
	step(false, StateReady)
	step(false, StateReady)
	step(true, StateReady)
	step(false, StateReady)
	step(false, StateReady)
	step(false, StateDown)
	step(true, StateDown)
	step(false, StateDown)
	step(true, StateDown)
	step(true, StateReady)
	s.ReportProbe("r0", ep+7, false, "another life")
	s.ReportProbe("nobody", ep, false, "")
}

func TestRampIsLinearAndNotAtBoot(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := newTestSet(t, poolOf(3), c.now)
	ready(s)
	m := s.member(t, "r0")
	if r := m.Load().Ramp; r != 1 {
		t.Fatalf("at boot: %v", r)
	}
	for range 3 {
		s.ReportProbe("r0", m.Epoch, false, "")
	}
	for range 2 {
		s.ReportProbe("r0", m.Epoch, true, "")
	}
	for _, want := range []struct {
		after time.Duration
		ramp  float64
	}{{0, 0.1}, {15 * time.Second, 0.55}, {15 * time.Second, 1}, {time.Hour, 1}} {
		c.advance(want.after)
		if r := m.Load().Ramp; math.Abs(r-want.ramp) > 1e-9 {
			t.Fatalf("after %v more: %v, want %v", want.after, r, want.ramp)
		}
	}
}

func TestAddedReplicaWaitsAtTheFloorForItsFirstProbe(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := newTestSet(t, poolOf(2), c.now)
	if err := s.Add(Replica{ID: "new", URL: "http://10.0.1.1"}); err != nil {
		t.Fatal(err)
	}
	c.advance(time.Hour)
	m := s.member(t, "new")
	if r := m.Load().Ramp; r != rampFloor || !m.Eligible("") {
		t.Fatalf("ramp %v", r)
	}
	s.ReportProbe("new", m.Epoch, true, "")
	c.advance(15 * time.Second)
	if r := m.Load().Ramp; math.Abs(r-0.55) > 1e-9 {
		t.Fatalf("half way: %v", r)
	}
}

func TestWithoutProbesReplicasAreReady(t *testing.T) {
	t.Parallel()
	cfg := poolOf(1)
	cfg.Health.Disabled = true
	if got := newTestSet(t, cfg, nil).stateOf(t, "r0"); got != StateReady {
		t.Fatalf("state %v", got)
	}
}

func TestPanicBeginsBelowTheThresholdAndEnds(t *testing.T) {
	t.Parallel()
	s := newTestSet(t, poolOf(4), nil)
	ready(s)
	set := func(id ReplicaID, ok bool) {
		for range 3 {
			s.ReportProbe(id, s.member(t, id).Epoch, ok, "")
		}
	}
	set("r0", false)
	set("r1", false)
	if s.View().Panic || s.member(t, "r0").Eligible("") {
		t.Fatal("half of the replicas is enough")
	}
	set("r2", false)
	if !s.View().Panic || !s.member(t, "r0").Eligible("") || s.counts.panics.Load() != 1 {
		t.Fatal("no panic below the threshold")
	}
	if err := s.Drain("r1"); err != nil {
		t.Fatal(err)
	}
	if s.member(t, "r1").Eligible("") {
		t.Fatal("a draining replica is eligible in a panic")
	}
	set("r0", true)
	if s.View().Panic {
		t.Fatal("the panic does not end: a draining replica is not one of the pool")
	}
}

func TestStaleLoadIsUnknown(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := newTestSet(t, poolOf(1), c.now)
	m := s.member(t, "r0")
	if l := m.Load(); l.Running != -1 || l.Waiting != -1 || l.KVUsage != -1 {
		t.Fatalf("before any reading: %+v", l)
	}
	s.ReportLoad("r0", m.Epoch, EngineLoad{At: c.at, Running: 3, Waiting: 0, KVUsage: 0.5})
	c.advance(10 * time.Second)
	if l := m.Load(); l.Running != 3 || l.Waiting != 0 || l.KVUsage != 0.5 {
		t.Fatalf("fresh: %+v", l)
	}
	c.advance(time.Nanosecond)
	if l := m.Load(); l.Running != -1 || l.Waiting != -1 || l.KVUsage != -1 {
		t.Fatalf("stale: %+v", l)
	}
	s.ReportLoad("r0", m.Epoch, EngineLoad{At: c.at, Running: 3, KVUsage: 0.5}) // unchanged and fresh
	if l := m.Load(); l.Running != 3 {
		t.Fatalf("read again: %+v", l)
	}
	s.ReportLoad("r0", m.Epoch+1, EngineLoad{At: c.at, Running: 9})
	if l := m.Load(); l.Running != 3 {
		t.Fatalf("the reading of another life was taken: %+v", l)
	}
}

func TestModelsRestrictOnlyWhatTheySay(t *testing.T) {
	t.Parallel()
	cfg := poolOf(3)
	cfg.Models = []configs.Model{{ID: "a", Aliases: []string{"alias"}, Adapters: []string{"lora"}}, {ID: "b"}}
	cfg.Replicas[1].Models = []string{"a"}
	s := newTestSet(t, cfg, nil)
	for _, c := range []struct {
		id    ReplicaID
		model string
		want  bool
	}{
		{"r0", "a", true},
		{"r0", "b", true},
		{"r0", "", true},
		{"r0", "unlisted", true},
		{"r1", "a", true},
		{"r1", "lora", true},
		{"r1", "alias", true},
		{"r1", "b", false},
		{"r1", "", true},
	} {
		if got := s.member(t, c.id).Eligible(c.model); got != c.want {
			t.Errorf("%s for %q: %v", c.id, c.model, got)
		}
	}
}

func TestLearnedModelsTellReplicasApart(t *testing.T) {
	t.Parallel()
	s := newTestSet(t, poolOf(2), nil)
	report := func(id ReplicaID, names ...string) { s.ReportModels(id, s.member(t, id).Epoch, names) }
	report("r0", "m", "x")
	report("r1", "x", "m")
	if !s.member(t, "r0").Eligible("unknown") {
		t.Fatal("replicas that list the same are restricted")
	}
	report("r1", "other")
	if s.member(t, "r0").Eligible("other") || !s.member(t, "r1").Eligible("other") || s.member(t, "r1").Eligible("m") {
		t.Fatal("replicas that list different models are not told apart")
	}
	report("r1") // an empty list says nothing
	if !s.member(t, "r1").Eligible("other") {
		t.Fatal("an empty list was believed")
	}
}

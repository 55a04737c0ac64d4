package routing

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"penstock/configs"
	"penstock/pools"
)

// TestNeverIneligible drives every policy through random states and checks each
// choice against what a choice must never be.
func TestNeverIneligible(t *testing.T) {
	t.Parallel()
	for _, name := range allPolicies {
		for seed := range uint64(20) {
			t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
				t.Parallel()
				neverIneligible(t, name, rand.New(rand.NewPCG(seed, 7)))
			})
		}
	}
}

func neverIneligible(t *testing.T, name configs.Policy, r *rand.Rand) {
	t.Helper()
	list := replicas(equal(2 + r.IntN(8))...)
	for i := range list {
		list[i].Weight, list[i].MaxConcurrency = 1+r.IntN(4), r.IntN(4)
		if r.IntN(3) == 0 {
			list[i].Models = []string{"a", "b"}[:1+r.IntN(2)]
		}
	}
	b := newBench(t, name, list)
	var leases []*pools.Lease
	for range 400 {
		b.at = b.at.Add(time.Duration(r.IntN(2000)) * time.Millisecond)
		m := &b.set.View().Members[r.IntN(len(list))]
		switch r.IntN(8) {
		case 0:
			b.probe(m.ID, r.IntN(2) == 0)
		case 1:
			_ = b.set.Drain(m.ID)
		case 2:
			_ = b.set.Undrain(m.ID)
		case 3:
			if len(leases) > 0 {
				leases[0].End(pools.Outcome(r.IntN(5)))
				leases = leases[1:]
			}
		default:
			q := mixed(r.IntN(50))
			q.Model = []string{"", "a", "b", "c"}[r.IntN(4)]
			if r.IntN(3) == 0 {
				q.Exclude = []pools.ReplicaID{m.ID}
			}
			if r.IntN(5) == 0 {
				q.Pin = m.ID
			}
			if l := checkChoice(t, b, q); l != nil {
				leases = append(leases, l)
			}
		}
	}
	for _, l := range leases {
		l.End(pools.OutcomeNeutral)
	}
	if n := b.set.Leases(); n != 0 {
		t.Fatalf("leases left: %d", n)
	}
}

func checkChoice(t *testing.T, b *bench, q Query) *pools.Lease {
	t.Helper()
	v := b.set.View()
	want := map[pools.ReplicaID]bool{}
	for i := range v.Members {
		m := &v.Members[i]
		excluded := len(q.Exclude) > 0 && q.Exclude[0] == m.ID
		if m.EligibleAt(q.Model, v.Elapsed(b.at)) && !excluded && (q.Pin == "" || q.Pin == m.ID) {
			want[m.ID] = true
		}
	}
	d := b.choose(q)
	if d.Index < 0 {
		if len(want) > 0 {
			t.Fatalf("nothing chosen of %v for %+v", want, q)
		}
		if d.Why != ReasonNone {
			t.Fatalf("reason %v without a choice", d.Why)
		}
		return nil
	}
	m := v.Members[d.Index]
	if !want[m.ID] {
		t.Fatalf("chose %s (%v), eligible were %v, query %+v", m.ID, m.State(), want, q)
	}
	if m.State() == pools.StateDraining || (m.State() == pools.StateDown && !v.Panic) {
		t.Fatalf("chose %s in state %v", m.ID, m.State())
	}
	l, err := b.set.AcquireMember(m, q.Cost)
	if err != nil && !errors.Is(err, pools.ErrTripped) {
		t.Fatalf("cannot acquire the choice: %v", err)
	}
	return l
}

func TestPinIsThatReplicaOrNone(t *testing.T) {
	t.Parallel()
	for _, name := range allPolicies {
		b := newBench(t, name, replicas(1, 1, 1))
		if d := b.choose(Query{Pin: "r2"}); d.Index != 2 || d.Why != ReasonPinned {
			t.Errorf("%s: %+v", name, d)
		}
		b.probe("r2", false)
		if d := b.choose(Query{Pin: "r2"}); d.Index != -1 {
			t.Errorf("%s: pinned to a replica that is down: %+v", name, d)
		}
		if d := b.choose(Query{Pin: "elsewhere"}); d.Index != -1 {
			t.Errorf("%s: pinned to a replica that does not exist: %+v", name, d)
		}
	}
}

func TestPanicIgnoresHealthAndSaysSo(t *testing.T) {
	t.Parallel()
	for _, name := range allPolicies {
		b := newBench(t, name, replicas(1, 1, 1))
		for _, id := range []pools.ReplicaID{"r0", "r1", "r2"} {
			b.probe(id, false)
		}
		if d := b.choose(mixed(1)); d.Index < 0 || d.Why != ReasonPanic {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

func TestBusyReplicaIsPassedOverWhileThereAreOthers(t *testing.T) {
	t.Parallel()
	for _, name := range allPolicies {
		b := newBench(t, name, replicas(1, 1))
		busy := func(i int) {
			l, err := b.set.AcquireMember(b.set.View().Members[i], pools.Cost{})
			if err != nil {
				t.Fatal(err)
			}
			l.End(pools.OutcomeBackpressure)
		}
		left := func() int {
			v := b.set.View()
			return OthersLeft(&Input{Now: v.Elapsed(b.at), View: v, Query: &Query{}})
		}
		busy(0)
		for i := range 20 {
			if d := b.choose(mixed(i)); d.Index != 1 {
				t.Fatalf("%s: chose the busy one: %+v", name, d)
			}
		}
		if n := left(); n != 1 {
			t.Errorf("%s: others left %d, want 1", name, n)
		}
		busy(1)
		if d := b.choose(mixed(1)); d.Index < 0 || d.Tried != 2 {
			t.Errorf("%s: all busy: %+v", name, d)
		}
		if n := left(); n != 0 {
			t.Errorf("%s: others left %d, want 0", name, n)
		}
	}
}

func TestUnknownPolicyIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := New("fastest", configs.PolicyOptions{}); err == nil {
		t.Error("no error")
	}
	if _, err := New(configs.PolicySession, configs.PolicyOptions{LoadFactor: 0.5}); err == nil {
		t.Error("no error for a load factor below 1")
	}
}

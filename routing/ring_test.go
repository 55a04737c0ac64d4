package routing

import (
	"fmt"
	"math"
	"testing"

	"penstock/configs"
	"penstock/pools"
)

// home returns where each of n sessions is placed in an idle pool.
func home(b *bench, n int) []pools.ReplicaID {
	out := make([]pools.ReplicaID, n)
	v := b.set.View()
	for i := range out {
		d := b.choose(Query{Session: HashKey([]byte(fmt.Sprint("session", i)))})
		if d.Index < 0 || d.Why != ReasonSession {
			b.t.Fatalf("session %d: %+v", i, d)
		}
		out[i] = v.Members[d.Index].ID
	}
	return out
}

func TestRingMovesFewKeys(t *testing.T) {
	t.Parallel()
	const keys = 5000
	for n := 2; n <= 16; n += 7 {
		b := newBench(t, configs.PolicySession, replicas(equal(n)...))
		before := home(b, keys)
		if err := b.set.Add(pools.Replica{ID: "new", URL: "http://10.0.1.1:8000"}); err != nil {
			t.Fatal(err)
		}
		b.probe("new", true)
		after := home(b, keys)
		moved := 0
		for i := range before {
			if before[i] != after[i] {
				moved++
				if after[i] != "new" {
					t.Fatalf("n=%d: a key moved from %s to %s", n, before[i], after[i])
				}
			}
		}
		if got, limit := float64(moved)/keys, 1.4/float64(n+1); got > limit {
			t.Errorf("n=%d: adding one moved %.3f of the keys, limit %.3f", n, got, limit)
		}
		if _, err := b.set.Remove("new"); err != nil {
			t.Fatal(err)
		}
		for i, id := range home(b, keys) {
			if id != before[i] {
				t.Fatalf("n=%d: key %d is not back where it was", n, i)
			}
		}
	}
}

func TestDownReplicaMovesOnlyItsOwnKeys(t *testing.T) {
	t.Parallel()
	b := newBench(t, configs.PolicyConsistentHash, replicas(equal(8)...))
	before := home(b, 2000)
	points := b.p.(*policy).ring.Load().points
	b.probe("r3", false)
	spread := map[pools.ReplicaID]int{}
	for i, id := range home(b, 2000) {
		if before[i] != "r3" && id != before[i] {
			t.Fatalf("key %d moved from %s to %s", i, before[i], id)
		}
		if before[i] == "r3" {
			spread[id]++
		}
	}
	if len(spread) < 5 {
		t.Errorf("the keys of one replica went to only %d others", len(spread))
	}
	if &points[0] != &b.p.(*policy).ring.Load().points[0] {
		t.Error("a change of health built the ring again")
	}
}

func TestBoundedLoadHolds(t *testing.T) {
	t.Parallel()
	weights := []int{1, 2, 1, 4}
	for _, name := range []configs.Policy{configs.PolicyConsistentHash, configs.PolicySession} {
		b := newBench(t, name, replicas(weights...))
		overflowed := false
		for i := range 1000 { // nine in ten requests are of one session
			q := Query{Session: 42}
			if i%10 == 0 {
				q.Session = HashKey([]byte(fmt.Sprint(i)))
			}
			_, d := b.lease(q)
			overflowed = overflowed || d.Why == ReasonOverflow
			v := b.set.View()
			for j := range v.Members {
				limit := math.Ceil(defaultLoadFactor * float64(i+1) * float64(weights[j]) / 8)
				if got := float64(v.Members[j].InFlight()); got > limit {
					t.Fatalf("%s: after %d requests replica %d has %v, bound %v", name, i+1, j, got, limit)
				}
			}
		}
		if !overflowed {
			t.Errorf("%s: a hot session never overflowed", name)
		}
	}
}

func TestSessionStaysAndPrefixIsSecondChoice(t *testing.T) {
	t.Parallel()
	b := newBench(t, configs.PolicyConsistentHash, replicas(equal(5)...))
	first := b.choose(Query{Session: 7, Prefix: 1})
	for i := range uint64(20) {
		if d := b.choose(Query{Session: 7, Prefix: i}); d.Index != first.Index || d.Why != ReasonSession {
			t.Fatalf("the session moved: %+v", d)
		}
	}
	if d := b.choose(Query{Prefix: 7}); d.Index != first.Index || d.Why != ReasonPrefix {
		t.Errorf("prefix: %+v", d)
	}
	s := newBench(t, configs.PolicySession, replicas(equal(5)...))
	if d := s.choose(Query{Prefix: 7}); d.Why != ReasonPolicy {
		t.Errorf("the session policy used the prefix: %+v", d)
	}
}

func TestRingIsBoundedForHeavyWeights(t *testing.T) {
	t.Parallel()
	owners := make([]owner, 100)
	for i := range owners {
		owners[i] = owner{id: pools.ReplicaID(fmt.Sprint(i)), weight: 1000}
	}
	if n := len(pointsOf(owners)); n > maxPoints || n < maxPoints/2 {
		t.Fatalf("%d points", n)
	}
}

func TestOnlyTheEmptyKeyHashesToNone(t *testing.T) {
	t.Parallel()
	if HashKey(nil) != 0 || HashKey([]byte("a")) == 0 || HashKey([]byte("a")) == HashKey([]byte("b")) {
		t.Error("0 stands for no key, and for nothing else")
	}
}

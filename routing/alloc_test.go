package routing

import (
	"fmt"
	"testing"

	"penstock/configs"
)

func TestChoiceDoesNotAllocate(t *testing.T) {
	for _, name := range allPolicies {
		b := newBench(t, name, replicas(equal(16)...))
		v := b.set.View()
		q := mixed(3)
		in := &Input{Now: v.Elapsed(b.at), View: v, Query: &q, Rand: b.rand}
		var out Decision
		if n := testing.AllocsPerRun(200, func() { b.p.Choose(in, &out) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkChoose(b *testing.B) {
	for _, name := range allPolicies {
		for _, n := range []int{2, 16, 256} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				be := newBench(b, name, replicas(equal(n)...))
				v := be.set.View()
				q := mixed(3)
				q.Model = "m"
				in := &Input{Now: v.Elapsed(be.at), View: v, Query: &q, Rand: be.rand}
				var out Decision
				b.ReportAllocs()
				for b.Loop() {
					be.p.Choose(in, &out)
				}
			})
		}
	}
}

func TestNamesAreClosed(t *testing.T) {
	t.Parallel()
	for r := ReasonNone; r <= ReasonPanic; r++ {
		if r.String() == "unknown" {
			t.Errorf("reason %d has no name", r)
		}
	}
	for r := RetryNone; r <= RefuseBudget; r++ {
		if r.String() == "unknown" {
			t.Errorf("retry reason %d has no name", r)
		}
	}
	if _, err := New("", configs.PolicyOptions{}); err != nil {
		t.Error(err)
	}
}

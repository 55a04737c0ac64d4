package routing

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"penstock/configs"
	"penstock/pools"
)

// allPolicies is every name that New takes.
var allPolicies = []configs.Policy{
	configs.PolicyRoundRobin, configs.PolicyRandom, configs.PolicyLeastLoad, configs.PolicyPowerOfTwo,
	configs.PolicyConsistentHash, configs.PolicySession,
}

// bench is a pool and a policy under test, with a clock moved by hand.
type bench struct {
	t    testing.TB
	set  *pools.Set
	p    Policy
	rand *rand.Rand
	at   time.Time
}

func replicas(weights ...int) []configs.Replica {
	out := make([]configs.Replica, len(weights))
	for i, w := range weights {
		out[i] = configs.Replica{ID: fmt.Sprintf("r%d", i), URL: fmt.Sprintf("http://10.0.0.%d:8000", i+1), Weight: w}
	}
	return out
}

func equal(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = 1
	}
	return out
}

func newBench(t testing.TB, name configs.Policy, r []configs.Replica) *bench {
	t.Helper()
	b := &bench{t: t, rand: rand.New(rand.NewPCG(1, 2)), at: time.Unix(1_800_000_000, 0)}
	cfg := configs.Pool{
		Replicas: r, SlowStart: configs.Duration(30 * time.Second), PanicThreshold: 0.3,
		Breaker: configs.Breaker{Failures: 1, Open: configs.Duration(time.Hour)},
		Load:    configs.Load{StaleAfter: configs.Duration(10 * time.Second)},
		Health:  configs.Health{Fall: 1, Rise: 1},
	}
	set, err := pools.New("p", cfg, pools.Deps{Now: func() time.Time { return b.at }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Close)
	p, err := New(name, configs.PolicyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b.set, b.p = set, p
	return b
}

func (b *bench) choose(q Query) Decision {
	v := b.set.View()
	in := Input{Now: v.Elapsed(b.at), View: v, Query: &q, Rand: b.rand}
	var out Decision
	b.p.Choose(&in, &out)
	return out
}

// lease chooses and reserves, which must work.
func (b *bench) lease(q Query) (*pools.Lease, Decision) {
	b.t.Helper()
	d := b.choose(q)
	if d.Index < 0 {
		b.t.Fatal("nothing was chosen")
	}
	l, err := b.set.AcquireMember(b.set.View().Members[d.Index], q.Cost)
	if err != nil {
		b.t.Fatalf("the choice cannot be acquired: %v", err)
	}
	return l, d
}

func (b *bench) probe(id pools.ReplicaID, ok bool) {
	v := b.set.View()
	b.set.ReportProbe(id, v.Members[v.Find(id)].Epoch, ok, "")
}

// shares counts the choices among n requests that end at once.
func (b *bench) shares(n int, query func(i int) Query) []float64 {
	counts := make([]float64, len(b.set.View().Members))
	for i := range n {
		d := b.choose(query(i))
		if d.Index < 0 {
			b.t.Fatal("nothing was chosen")
		}
		counts[d.Index]++
	}
	for i := range counts {
		counts[i] /= float64(n)
	}
	return counts
}

// mixed makes a query whose fields depend on i.
func mixed(i int) Query {
	return Query{
		Session: HashKey([]byte(fmt.Sprint("s", i))), Prefix: HashKey([]byte(fmt.Sprint("p", i))),
		Cost: pools.Cost{PromptTokens: int64(i%100 + 1), OutputTokens: 10},
	}
}

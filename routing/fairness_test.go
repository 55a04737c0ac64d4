package routing

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"penstock/configs"
	"penstock/pools"
)

func TestSharesFollowWeights(t *testing.T) {
	t.Parallel()
	weights := []int{1, 2, 5, 1}
	for name, tolerance := range map[configs.Policy]float64{
		configs.PolicyRoundRobin: 0.001, configs.PolicyRandom: 0.02, configs.PolicyConsistentHash: 0.06, configs.PolicySession: 0.06,
	} {
		b := newBench(t, name, replicas(weights...))
		for i, got := range b.shares(9000, mixed) {
			if want := float64(weights[i]) / 9; math.Abs(got-want) > tolerance {
				t.Errorf("%s: replica %d has %.3f of the requests, want %.3f", name, i, got, want)
			}
		}
	}
}

// Under load the policies that look at it must hold outstanding work in
// proportion to weight.
func TestOutstandingWorkFollowsWeights(t *testing.T) {
	t.Parallel()
	weights := []int{1, 2, 5}
	for name, tolerance := range map[configs.Policy]float64{configs.PolicyLeastLoad: 0.01, configs.PolicyPowerOfTwo: 0.1} {
		b := newBench(t, name, replicas(weights...))
		for range 4000 {
			b.lease(Query{Cost: pools.Cost{PromptTokens: 100, OutputTokens: 100}})
		}
		v := b.set.View()
		for i := range v.Members {
			got, want := float64(v.Members[i].InFlight())/4000, float64(weights[i])/8
			if math.Abs(got-want) > tolerance {
				t.Errorf("%s: replica %d holds %.3f of the work, want %.3f", name, i, got, want)
			}
		}
	}
}

func TestRoundRobinIsSmooth(t *testing.T) {
	t.Parallel()
	b := newBench(t, configs.PolicyRoundRobin, replicas(5, 1, 1))
	last, run := -1, 0
	for i := range 700 {
		d := b.choose(Query{})
		if d.Index != last {
			last, run = d.Index, 0
		}
		if run++; run > 5 {
			t.Fatalf("request %d: replica %d got %d in a row", i, last, run)
		}
	}
}

func TestRoundRobinDoesNotCatchUpInABurst(t *testing.T) {
	t.Parallel()
	b := newBench(t, configs.PolicyRoundRobin, replicas(1, 1))
	if err := b.set.Drain("r0"); err != nil {
		t.Fatal(err)
	}
	b.shares(1000, mixed)
	if err := b.set.Undrain("r0"); err != nil {
		t.Fatal(err)
	}
	b.at = b.at.Add(time.Minute) // past the ramp
	if got := b.shares(10, mixed)[0]; math.Abs(got-0.5) > 0.11 {
		t.Fatalf("the returned replica gets %.2f of the requests", got)
	}
}

func TestRoundRobinIsFairUnderConcurrency(t *testing.T) {
	t.Parallel()
	b := newBench(t, configs.PolicyRoundRobin, replicas(1, 3))
	v := b.set.View()
	var counts [4][2]int
	var wg sync.WaitGroup
	for g := range counts {
		wg.Go(func() {
			for range 1000 {
				var out Decision
				b.p.Choose(&Input{View: v, Query: &Query{}}, &out)
				counts[g][out.Index]++
			}
		})
	}
	wg.Wait()
	heavy := counts[0][1] + counts[1][1] + counts[2][1] + counts[3][1]
	if heavy < 2990 || heavy > 3010 {
		t.Fatalf("the replica of weight 3 got %d of 4000", heavy)
	}
}

func TestLeastLoadBreaksTiesAtRandom(t *testing.T) {
	t.Parallel()
	b := newBench(t, configs.PolicyLeastLoad, replicas(1, 1, 1, 1))
	for i, got := range b.shares(4000, func(int) Query { return Query{} }) {
		if math.Abs(got-0.25) > 0.04 {
			t.Errorf("idle replica %d gets %.3f", i, got)
		}
	}
}

func TestLeastLoadCountsWhatTheEngineSays(t *testing.T) {
	t.Parallel()
	b := newBench(t, configs.PolicyLeastLoad, replicas(1, 1))
	m := b.set.View().Members[0]
	b.set.ReportLoad(m.ID, m.Epoch, pools.EngineLoad{At: b.at, Running: 3, Waiting: 5})
	if got := b.shares(100, mixed)[0]; got != 0 {
		t.Fatalf("a replica with a queue gets %.2f", got)
	}
	b.at = b.at.Add(11 * time.Second) // stale: back to what we know ourselves
	if got := b.shares(1000, func(int) Query { return Query{} })[0]; math.Abs(got-0.5) > 0.1 {
		t.Fatalf("with a stale reading the replica gets %.2f", got)
	}
}

func TestRampReducesTheShare(t *testing.T) {
	t.Parallel()
	for name, at := range map[configs.Policy][2]float64{ // bounds of the share at the floor, 1/11 of two replicas
		configs.PolicyRoundRobin: {0.07, 0.11}, configs.PolicyRandom: {0.05, 0.13},
		configs.PolicyLeastLoad: {0.05, 0.12}, configs.PolicyPowerOfTwo: {0, 0.2},
		configs.PolicyConsistentHash: {0, 0.15}, configs.PolicySession: {0, 0.15},
	} {
		t.Run(string(name), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, name, replicas(1, 1))
			b.probe("r0", true)
			b.probe("r1", true)
			b.probe("r0", false)
			b.probe("r0", true) // back, and ramping
			n := 500
			got := 0
			for i := range n {
				if _, d := b.lease(mixed(i)); d.Index == 0 {
					got++
				}
			}
			if share := float64(got) / float64(n); share < at[0] || share > at[1] {
				t.Fatalf("share at the start of the ramp %.3f, want %.2f to %.2f", share, at[0], at[1])
			}
		})
	}
}

func TestChoicesRepeatWithTheSeed(t *testing.T) {
	t.Parallel()
	for _, name := range allPolicies {
		var want string
		for range 2 {
			b := newBench(t, name, replicas(1, 2, 3, 4, 5))
			got := ""
			for i := range 200 {
				_, d := b.lease(mixed(i % 40))
				got += fmt.Sprint(d.Index)
			}
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("%s: two runs differ", name)
			}
		}
	}
}

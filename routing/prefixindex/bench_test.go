package prefixindex

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"penstock/pools"
)

func replicaID(i int) pools.ReplicaID { return pools.ReplicaID(fmt.Sprintf("replica-%04d", i)) }

func randomKeys(rng *rand.Rand, n int) []uint64 {
	keys := make([]uint64, n)
	for i := range keys {
		keys[i] = rng.Uint64()
	}
	return keys
}

// filled is an index with replicas, and with other conversations of blocks in it so that
// tables do not fit the processor's caches.
func filled(t testing.TB, replicas, blocks int) *Index {
	t.Helper()
	x, err := New(Options{MaxBytes: 512 << 20, MaxReplicas: replicas})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range replicas {
		if err := x.Join(replicaID(i), 1, ModePrecise); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; blocks > 0; i++ {
		x.Apply(replicaID(i%replicas), 1, []Op{{ActionStored, TierDevice, randomKeys(rng, 1000)}})
		blocks -= 1000
	}
	return x
}

// hold says how many leading blocks of a chain replica i has, and where.
type hold func(i int) (blocks int, t Tier)

var holds = []struct {
	name string
	of   func(replicas, blocks int) hold
}{
	{"conversation", func(replicas, blocks int) hold { // a system prompt everywhere, the rest in two places
		return func(i int) (int, Tier) {
			if i < 2 {
				return blocks, TierDevice
			}
			return blocks / 8, TierDevice
		}
	}},
	{"everywhere", func(_, blocks int) hold { return func(int) (int, Tier) { return blocks, TierDevice } }},
	{"one", func(_, blocks int) hold {
		return func(i int) (int, Tier) { return blocks * max(0, 1-i), TierDevice }
	}},
	{"eight", func(_, blocks int) hold {
		return func(i int) (int, Tier) { return blocks * min(1, max(0, 8-i)), TierDevice }
	}},
	{"spread", func(replicas, blocks int) hold { // every replica has a different depth
		return func(i int) (int, Tier) { return (i + 1) * blocks / replicas, TierDevice }
	}},
	{"tiers", func(replicas, blocks int) hold { // half of it has moved to the host's memory
		return func(i int) (int, Tier) { return blocks, Tier(1 + i%2) }
	}},
}

func BenchmarkMatch(b *testing.B) {
	for _, size := range []struct{ blocks, replicas int }{{625, 16}, {625, 64}, {6250, 1000}} {
		for _, h := range holds {
			b.Run(fmt.Sprintf("%s/blocks=%d/replicas=%d", h.name, size.blocks, size.replicas), func(b *testing.B) {
				x := filled(b, size.replicas, 1_000_000)
				chain := randomKeys(rand.New(rand.NewPCG(2, 2)), size.blocks)
				has := h.of(size.replicas, size.blocks)
				for i := range size.replicas {
					n, tier := has(i)
					x.Apply(replicaID(i), 1, []Op{{ActionStored, tier, chain[:n]}})
				}
				dst := make([]Match, 0, size.replicas)
				b.ReportAllocs()
				for b.Loop() {
					dst = x.Match(chain, dst[:0])
				}
				if len(dst) == 0 {
					b.Fatal("nothing found")
				}
			})
		}
	}
}

// Each lookup is for another of many chains, so that what it reads has left the caches.
func BenchmarkMatchCold(b *testing.B) {
	for _, size := range []struct{ blocks, replicas, chains int }{{625, 64, 1600}, {6250, 1000, 160}} {
		b.Run(fmt.Sprintf("blocks=%d/replicas=%d", size.blocks, size.replicas), func(b *testing.B) {
			x := filled(b, size.replicas, 1000)
			rng := rand.New(rand.NewPCG(2, 2))
			chains := make([][]uint64, size.chains)
			for i := range chains {
				chains[i] = randomKeys(rng, size.blocks)
				for r := range 2 { // one has all but the last turn, one a half
					held := chains[i][:size.blocks*9/10/(1+r)]
					x.Apply(replicaID((i+r)%size.replicas), 1, []Op{{ActionStored, TierDevice, held}})
				}
			}
			dst := make([]Match, 0, size.replicas)
			n := 0
			for b.Loop() {
				n = (n + 1) % len(chains)
				dst = x.Match(chains[n], dst[:0])
			}
		})
	}
}

func BenchmarkApply(b *testing.B) {
	const batch = 64
	perBlock := func(b *testing.B, blocks int) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*blocks), "ns/block")
		b.ReportMetric(float64(b.N*blocks)/b.Elapsed().Seconds()/1e6, "Mblocks/s")
	}
	b.Run("warm", func(b *testing.B) { // stored and removed again, in a full table
		x := filled(b, 64, 1_000_000)
		keys := randomKeys(rand.New(rand.NewPCG(3, 3)), batch)
		ops := []Op{{ActionStored, TierDevice, keys}, {ActionRemoved, TierDevice, keys}}
		b.ReportAllocs()
		id := replicaID(3)
		for b.Loop() {
			x.Apply(id, 1, ops)
		}
		perBlock(b, 2*batch)
	})
	b.Run("growing", func(b *testing.B) { // new blocks, with all rebuilds and evictions
		x := filled(b, 64, 0)
		rng := rand.New(rand.NewPCG(3, 3))
		keys := make([]uint64, batch)
		for b.Loop() {
			for i := range keys {
				keys[i] = rng.Uint64()
			}
			x.Apply(replicaID(3), 1, []Op{{ActionStored, TierDevice, keys}})
		}
		perBlock(b, batch)
	})
	b.Run("churn at the bound", func(b *testing.B) {
		x, err := New(Options{MaxBytes: 64 << 20})
		if err != nil {
			b.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(3, 3))
		_ = x.Join("a", 1, ModePrecise)
		for range 4000 {
			x.Apply("a", 1, []Op{{ActionStored, TierDevice, randomKeys(rng, 1000)}})
		}
		keys := make([]uint64, batch)
		for b.Loop() {
			for i := range keys {
				keys[i] = rng.Uint64()
			}
			x.Apply("a", 1, []Op{{ActionStored, TierDevice, keys}})
		}
		perBlock(b, batch)
	})
	b.Run("shared", func(b *testing.B) { // the same blocks at each of 64 replicas in turn
		x := filled(b, 64, 1_000_000)
		rng := rand.New(rand.NewPCG(3, 3))
		sets := make([][]uint64, 1000)
		for i := range sets {
			sets[i] = randomKeys(rng, batch)
		}
		n := 0
		for b.Loop() {
			action := ActionStored
			if n/(64*len(sets))%2 == 1 {
				action = ActionRemoved
			}
			x.Apply(replicaID(n/len(sets)%64), 1, []Op{{action, TierDevice, sets[n%len(sets)]}})
			n++
		}
		perBlock(b, batch)
	})
}

func BenchmarkPredict(b *testing.B) {
	x := filled(b, 64, 1_000_000)
	rng := rand.New(rand.NewPCG(3, 3))
	keys := make([]uint64, 625)
	now := time.Duration(0)
	for b.Loop() {
		for i := range keys {
			keys[i] = rng.Uint64()
		}
		now += time.Millisecond
		x.Predict(replicaID(5), 1, keys, now)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(keys)), "ns/block")
}

func BenchmarkForget(b *testing.B) {
	x := filled(b, 64, 1_000_000)
	e := pools.Epoch(1)
	for b.Loop() {
		e++
		x.Forget(replicaID(1), e)
		if x.Join(replicaID(1), e, ModePrecise) != nil {
			x.sweepAll()
		}
	}
}

package prefixindex

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

func TestLookupsAndWarmUpdatesDoNotAllocate(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector makes sync.Pool forget")
	}
	x := filled(t, 100, 20_000)
	chain := randomKeys(rand.New(rand.NewPCG(2, 2)), 600)
	for i := range 100 {
		x.Apply(replicaID(i), 1, stored(TierDevice, chain[:6*i]...))
	}
	dst := make([]Match, 0, 100)
	f := func(what string, work func()) {
		t.Helper()
		if n := testing.AllocsPerRun(100, work); n != 0 {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
	id, now := replicaID(3), time.Duration(0)
	own := randomKeys(rand.New(rand.NewPCG(3, 3)), 100)
	ops := []Op{{ActionStored, TierDevice, own}, {ActionRemoved, TierDevice, own}}
	shared := []Op{{ActionStored, TierDevice, chain}, {ActionRemoved, TierDevice, chain}}
	f("lookup", func() { dst = x.Match(chain, dst[:0]) })
	f("updates of one's own blocks", func() { x.Apply(id, 1, ops) })
	f("updates of shared blocks", func() { x.Apply(id, 1, shared) })
	f("predictions", func() {
		now += time.Minute
		x.Predict(id, 1, own, now)
	})
	f("sweep", func() { x.Sweep(100) })
}

// The bound of DESIGN §13, 48 bytes for each pair, from what is allocated for tables and
// rows once there are many keys.
func TestPairTakesAtMost48Bytes(t *testing.T) {
	t.Parallel()
	if raceDetector {
		t.Skip("millions of updates from one goroutine")
	}
	for _, fleet := range []int{1, 64, 300, 1000} {
		for _, holders := range []int{1, 2, 3, 4, 8, 16, 17, 32, 33, 64, 300} {
			if holders > fleet {
				continue
			}
			x := newIndex(t, Options{MaxBytes: 256 << 20, MaxReplicas: fleet, MaxPredictions: 8})
			for i := range fleet {
				join(t, x, replicaID(i), 1, ModePrecise)
			}
			keys := randomKeys(rand.New(rand.NewPCG(2, 2)), max(12_000, 200_000/holders))
			worst, small := 0.0, x.Stats().Bytes
			for part := keys; len(part) > 0; part = part[len(part)/20+1:] {
				for i := range holders {
					x.Apply(replicaID(i*fleet/holders), 1, stored(TierDevice, part[:len(part)/20+1]...))
				}
				if s := x.Stats(); s.Keys > 8000 {
					worst = max(worst, float64(s.Bytes-small)/float64(s.Entries))
				}
			}
			s := x.Stats()
			t.Logf("%4d replicas, %4d hold each block: %.1f bytes a pair, %.1f at worst",
				fleet, holders, float64(s.Bytes)/float64(s.Entries), worst)
			if worst > 48 {
				t.Errorf("%d replicas, %d hold each block: %.1f bytes a pair", fleet, holders, worst)
			}
			if s.Evicted+s.Dropped > 0 || s.Entries != int64(len(keys)*holders) {
				t.Errorf("%+v", s)
			}
		}
	}
}

// What is evicted is only missing: no lookup says more than the replica has, apart from
// holes, and who lost entries is marked.
func TestEvictionForgetsAndInventsNothing(t *testing.T) {
	t.Parallel()
	for _, replicas := range []int{2, 30, 100} {
		t.Run(fmt.Sprint(replicas), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(uint64(replicas), 3))
			d := newDriver(t, Options{MaxBytes: 1<<20 + 24*8, MaxPredictions: 8}, replicas, rng)
			d.oneMode = true
			ballast := randomKeys(rng, 100_000)
			for n := range 8 + 32/patience {
				for range 100 {
					d.step()
				}
				at := n % 20 * 5000
				for id, l := range d.model.lives {
					ops := stored(TierDevice, ballast[at:at+5000]...)
					d.index.Apply(id, l.epoch, ops)
					d.model.apply(id, l.epoch, ops)
					if rng.IntN(3) > 0 {
						break
					}
				}
				d.checkHeld(t)
				if s := d.index.Stats(); s.Bytes > s.MaxBytes {
					t.Fatalf("%d bytes, the bound is %d", s.Bytes, s.MaxBytes)
				}
			}
			if d.index.Stats().Evicted == 0 {
				t.Error("nothing was evicted")
			}
			d.checkIncomplete(t)
			d.checkTables(t)
			d.checkHeld(t)
		})
	}
}

// checkHeld looks up blocks one by one, which is exact.
func (d *driver) checkHeld(t testing.TB) {
	t.Helper()
	for _, chain := range d.chains {
		for i, key := range chain {
			if i%patience > 0 {
				continue
			}
			want := d.model.match([]uint64{key})
			for _, m := range d.index.Match([]uint64{key}, nil) {
				w := want[m.ID]
				for tier := range m.Blocks {
					if m.Epoch != w.Epoch || m.Blocks[tier] > w.Blocks[tier] {
						t.Fatalf("Match says %+v, the model %+v", m, w)
					}
				}
			}
		}
	}
}

func (d *driver) checkIncomplete(t testing.TB) {
	t.Helper()
	missing := map[*modelLife]int64{}
	for p, r := range d.model.pairs {
		for tier := TierDevice; tier <= TierRemote; tier++ {
			missing[p.life] += int64(min(1, r.counts[tier]))
		}
	}
	for id, l := range d.model.lives {
		s, _ := d.index.Replica(id)
		for _, n := range s.Blocks {
			missing[l] -= n
		}
		if missing[l] > 0 && !s.Incomplete {
			t.Errorf("%s misses %d blocks and is not marked", id, missing[l])
		}
	}
}

func TestLookedUpBlocksOutliveOthers(t *testing.T) {
	t.Parallel()
	x := newIndex(t, Options{MaxBytes: 4 << 20})
	join(t, x, "a", 1, ModePrecise)
	rng := rand.New(rand.NewPCG(1, 1))
	chain := randomKeys(rng, exact)
	x.Apply("a", 1, stored(TierDevice, chain...))
	for range 250 {
		x.Apply("a", 1, stored(TierDevice, randomKeys(rng, 1000)...))
		if m := x.Match(chain, nil); len(m) != 1 || m[0].Blocks[0] != exact {
			t.Fatalf("a chain in use was evicted: %+v", m)
		}
	}
	if s := x.Stats(); s.Evicted < 50_000 || s.Dropped > 0 {
		t.Errorf("%+v", s)
	}
}

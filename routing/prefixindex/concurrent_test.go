package prefixindex

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"penstock/pools"
)

// Writers, restarts, sweeps and evictions go on under lookups. What a lookup says must
// then be possible: blocks of a tag that only its own epoch ever had.
func TestReaderNeverSeesWhatWasForgotten(t *testing.T) {
	t.Parallel()
	const replicas, shared = 40, 8
	x := newIndex(t, Options{MaxBytes: 2 << 20, MaxReplicas: replicas, MaxPredictions: 1000, PreciseTTL: time.Millisecond})
	var epochs, gone [replicas]atomic.Uint64
	for i := range replicas {
		epochs[i].Store(1)
		join(t, x, replicaID(i), 1, ModePrecise)
	}
	var writers, readers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 4))
			for n := range 2000 / patience {
				i := w + 4*rng.IntN(replicas/4) // the batches of a replica come in order
				e := epochs[i].Load()
				x.Predict(replicaID(i), pools.Epoch(e), epochChain(i, e), time.Duration(n)*10*time.Microsecond)
				x.Apply(replicaID(i), pools.Epoch(e), []Op{
					{ActionStored, Tier(1 + rng.IntN(Tiers)), commonChain(shared)},
					{ActionStored, TierDevice, epochChain(i, e)},
					{ActionRemoved, Tier(1 + rng.IntN(Tiers)), commonChain(rng.IntN(shared))},
					{ActionStored, TierDevice, randomKeys(rng, 150*patience)},
				})
				if rng.IntN(10) > 0 {
					continue
				}
				x.Forget(replicaID(i), pools.Epoch(e+1))
				gone[i].Store(e)
				for x.Join(replicaID(i), pools.Epoch(e+1), ModePrecise) != nil {
					x.Sweep(500)
				}
				epochs[i].Store(e + 1)
			}
		})
	}
	var done atomic.Bool
	var seen atomic.Int64
	for r := range 3 {
		readers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(r), 5))
			var dst []Match
			for !done.Load() {
				i := rng.IntN(replicas)
				before, tag := gone[i].Load(), epochs[i].Load()
				dst = x.Match(epochChain(i, tag), dst[:0])
				for _, m := range dst {
					if m.ID != replicaID(i) || uint64(m.Epoch) != tag || tag <= before {
						t.Errorf("epoch %d of %s is told the blocks of epoch %d of %d", m.Epoch, m.ID, tag, i)
					}
				}
				seen.Add(int64(len(dst)))
				before = gone[i].Load()
				dst = x.Match(commonChain(shared), dst[:0])
				for _, m := range dst {
					if m.ID == replicaID(i) && uint64(m.Epoch) <= before {
						t.Errorf("%s has blocks of epoch %d after it was forgotten", m.ID, m.Epoch)
					}
				}
				x.Stats()
				x.Replica(replicaID(i))
			}
		})
	}
	writers.Wait()
	done.Store(true)
	readers.Wait()
	for x.Sweep(1000) {
		continue
	}
	if s := x.Stats(); seen.Load() == 0 || s.Bytes > s.MaxBytes || s.Evicted == 0 || s.Confirmed == 0 || s.Unswept > 0 {
		t.Errorf("%d seen, %+v", seen.Load(), s)
	}
}

// commonChain is the start of a chain that every replica has some of.
func commonChain(n int) []uint64 { return randomKeys(rand.New(rand.NewPCG(7, 7)), n) }

// epochChain is what only one life of one replica ever has.
func epochChain(replica int, epoch uint64) []uint64 {
	return randomKeys(rand.New(rand.NewPCG(uint64(replica)<<32|epoch, 8)), 40)
}

// Blocks that nobody removes are found whatever happens to others beside them.
func TestReaderAlwaysFindsWhatStays(t *testing.T) {
	t.Parallel()
	const replicas, steady = 100, 10
	x := newIndex(t, Options{MaxBytes: 64 << 20, MaxReplicas: replicas})
	chain := commonChain(64)
	for i := range replicas {
		join(t, x, replicaID(i), 1, ModePrecise)
		if i < steady {
			x.Apply(replicaID(i), 1, stored(TierDevice, chain...))
		}
	}
	var done atomic.Bool
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			var dst []Match
			for !done.Load() {
				dst = x.Match(chain, dst[:0])
				if len(dst) < steady {
					t.Errorf("%d replicas are found, %d hold the chain", len(dst), steady)
					return
				}
				for _, m := range dst[:steady] {
					if m.Blocks[0] != uint32(len(chain)) {
						t.Errorf("%+v, want %d blocks", m, len(chain))
						return
					}
				}
			}
		})
	}
	rng := rand.New(rand.NewPCG(6, 6))
	for range 3000 / patience { // rows grow to bitmaps and shrink again; tables are rebuilt
		id := replicaID(steady + rng.IntN(replicas-steady))
		from := rng.IntN(len(chain))
		op := Op{ActionStored, TierDevice, chain[from:]}
		if rng.IntN(2) == 0 {
			op.Action = ActionRemoved
		}
		x.Apply(id, 1, []Op{op, {ActionStored, TierDevice, randomKeys(rng, 50)}})
		s := &x.shards[rng.IntN(len(x.shards))]
		s.mu.Lock()
		s.makeRoom()
		s.mu.Unlock()
	}
	done.Store(true)
	readers.Wait()
}

// A lookup that found a row which then went to another key begins again, and can tell by
// the header if that happens while it reads.
func TestRowThatWasGivenAwayIsNotRead(t *testing.T) {
	t.Parallel()
	x := newIndex(t, Options{MaxReplicas: 8, MaxBytes: 1<<20 + 24*8, MaxPredictions: 8}) // one shard
	for i := range 4 {
		join(t, x, replicaID(i), 1, ModePrecise)
	}
	both := func(a Action, key uint64, first, second int) {
		for _, i := range []int{first, second} {
			x.Apply(replicaID(i), 1, []Op{{a, TierDevice, []uint64{key}}})
		}
	}
	both(ActionStored, 11, 0, 1)
	c := new(lookup)
	c.begin(x.roster.Load())
	f := x.locate(11)
	if same, ok := c.load(&f, false); same || !ok || c.set[0] != 1<<0|1<<1 {
		t.Fatalf("ordinals %b have the block", c.set[0])
	}
	row := f.table.row(f.value)
	header := row[0].Load()
	both(ActionRemoved, 11, 0, 1)
	both(ActionStored, 12, 2, 3)
	if g := x.locate(12); &g.table.row(g.value)[0] != &row[0] {
		t.Fatal("the row is not used again")
	}
	if _, ok := c.load(&f, false); ok {
		t.Error("the row of another key is read")
	}
	if row[0].Load() == header {
		t.Error("a reader that is in the row cannot tell")
	}
}

package prefixindex

import (
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"penstock/pools"
)

// Index says which replicas hold how much of a chain of block keys. Match may be called
// from any goroutine and takes no lock; everything else may be called from any goroutine
// too, but the batches of one replica must come in order.
type Index struct {
	options Options
	shards  []shard
	shift   int // of a hash, to the number of its shard
	roster  atomic.Pointer[roster]
	scratch sync.Pool // *lookup

	// mu guards who has which ordinal, and the sweep.
	mu       sync.Mutex
	ordinals []ordinalState
	sweep    sweep

	// waiting are the predictions by the mode they were made in.
	waiting [ModePrecise + 1]queue

	lookups, evicted, dropped, ignored, expired, early, confirmed atomic.Uint64
}

// New makes an empty Index.
func New(o Options) (*Index, error) {
	o = o.withDefaults()
	tables := o.MaxBytes - 2*int64(o.MaxPredictions)*predictionBytes
	switch {
	case o.MaxReplicas < 1 || o.MaxReplicas >= maxOrdinals:
		return nil, fmt.Errorf("cannot index %d replicas: want 1 to %d", o.MaxReplicas, maxOrdinals-1)
	case o.MaxPredictions < 0 || o.PreciseTTL < 0 || o.PredictedTTL < 0:
		return nil, fmt.Errorf("cannot keep %d predictions for %v and %v: want no negative figures",
			o.MaxPredictions, o.PreciseTTL, o.PredictedTTL)
	case tables < minTableBytes:
		return nil, fmt.Errorf("cannot index in %d bytes, %d of them for predictions: want %d more",
			o.MaxBytes, o.MaxBytes-tables, minTableBytes-tables)
	}
	n := bits.Len64(uint64(tables) / minTableBytes) // one shard for each MiB, to 128
	n = min(n-1, 7)
	x := &Index{options: o, shards: make([]shard, 1<<n), shift: 64 - n}
	for i := range x.shards {
		s := &x.shards[i]
		s.index, s.limit, s.extras = x, tables>>n, map[extra]uint8{}
		s.table.Store(newTable(minSlots, 1))
	}
	x.scratch.New = func() any { return new(lookup) }
	x.waiting[ModePredicted] = queue{ttl: o.PredictedTTL, max: o.MaxPredictions}
	x.waiting[ModePrecise] = queue{ttl: o.PreciseTTL, max: o.MaxPredictions}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.publish(map[pools.ReplicaID]*life{})
	return x, nil
}

func (o Options) withDefaults() Options {
	orInt64 := func(v, otherwise int64) int64 {
		if v == 0 {
			return otherwise
		}
		return v
	}
	o.MaxBytes = orInt64(o.MaxBytes, DefaultMaxBytes)
	o.MaxReplicas = int(orInt64(int64(o.MaxReplicas), maxOrdinals-1))
	o.MaxPredictions = int(orInt64(int64(o.MaxPredictions), o.MaxBytes/256))
	o.PreciseTTL = time.Duration(orInt64(int64(o.PreciseTTL), int64(DefaultPreciseTTL)))
	o.PredictedTTL = time.Duration(orInt64(int64(o.PredictedTTL), int64(DefaultPredictedTTL)))
	return o
}

// Apply takes in what a replica told about its blocks, in order. Batches of replicas or
// epochs that are not known are ignored and counted; nothing else is refused.
func (x *Index) Apply(id pools.ReplicaID, e pools.Epoch, ops []Op) {
	l := x.roster.Load().life(id, e)
	for i := range ops {
		op := &ops[i]
		switch {
		case l == nil:
			x.ignored.Add(uint64(len(op.Keys)))
		case op.Action == ActionCleared:
			l = x.renew(l)
		case !op.Tier.known():
		case op.Action == ActionStored:
			x.updateAll(l, op.Keys, changeStore, op.Tier)
		case op.Action == ActionRemoved:
			x.updateAll(l, op.Keys, changeRemove, op.Tier)
		}
	}
}

// ahead is how many keys are hashed, and their slots read, before the first is updated:
// slots are far apart, and the processor waits for all at once.
const ahead = 16

func (x *Index) updateAll(l *life, keys []uint64, c change, t Tier) {
	var hashes [ahead]uint64
	for len(keys) > 0 {
		batch := keys[:min(ahead, len(keys))]
		keys = keys[len(batch):]
		for i, key := range batch {
			hashes[i], _ = x.hash(key)
			x.shardOf(hashes[i]).touch(hashes[i])
		}
		for i, key := range batch {
			x.shardOf(hashes[i]).update(hashes[i], named(key), l, c, t)
		}
	}
}

// zeroKey stands for the key 0, which marks empty slots.
const zeroKey = 0x9e37_79b9_7f4a_7c15

// hash spreads a key over shards and slots in a way that clients, who choose the tokens
// behind keys, cannot foresee.
func (x *Index) hash(key uint64) (hash, as uint64) {
	key = named(key)
	hash = (key ^ x.options.Seed) * 0x9fb2_1c65_1e98_df25
	hash ^= hash >> 32
	return hash * 0xd6e8_feb8_6659_fd93, key
}

func named(key uint64) uint64 {
	if key == 0 {
		return zeroKey
	}
	return key
}

// shardOf: the highest bits choose the shard, and a table takes the place in a shard
// from what is left of them.
func (x *Index) shardOf(hash uint64) *shard { return &x.shards[hash>>x.shift] }

// Stats adds up the totals; it locks one shard after the other.
func (x *Index) Stats() Stats {
	s := Stats{
		MaxBytes: x.options.MaxBytes, Lookups: x.lookups.Load(),
		Evicted: x.evicted.Load(), Dropped: x.dropped.Load(), Ignored: x.ignored.Load(),
		Expired: x.expired.Load(), Early: x.early.Load(), Confirmed: x.confirmed.Load(),
	}
	for i := range x.shards {
		x.shards[i].addTo(&s)
	}
	for i := range x.waiting {
		s.Bytes += x.waiting[i].bytes()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, state := range x.ordinals {
		switch state {
		case ordinalFree:
		case ordinalAlive:
			s.Replicas++
		case ordinalDead, ordinalSweeping:
			s.Unswept++
		}
	}
	return s
}

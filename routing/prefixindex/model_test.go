package prefixindex

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"penstock/pools"
)

// model is the index written down in the plainest way.
type model struct {
	pairs   map[modelPair]*modelRecord
	lives   map[pools.ReplicaID]*modelLife
	waiting [ModePrecise + 1][]modelWait
	ttl     [ModePrecise + 1]time.Duration
}

type modelLife struct {
	id    pools.ReplicaID
	epoch pools.Epoch
	mode  Mode
}

type modelPair struct {
	key  uint64
	life *modelLife
}

type modelRecord struct {
	counts             [Tiers + 1]int
	predicted, renewed bool
}

type modelWait struct {
	pair modelPair
	due  time.Duration
}

func newModel(o Options) *model {
	m := &model{pairs: map[modelPair]*modelRecord{}, lives: map[pools.ReplicaID]*modelLife{}}
	m.ttl[ModePredicted], m.ttl[ModePrecise] = o.PredictedTTL, o.PreciseTTL
	return m
}

func (m *model) record(p modelPair) *modelRecord {
	r := m.pairs[p]
	if r == nil {
		r = &modelRecord{}
		m.pairs[p] = r
	}
	return r
}

func (m *model) join(id pools.ReplicaID, e pools.Epoch, mode Mode) {
	switch l := m.lives[id]; {
	case l != nil && l.epoch == e:
		l.mode = mode
	case l == nil || l.epoch < e:
		m.lives[id] = &modelLife{id, e, mode}
	}
}

func (m *model) forget(id pools.ReplicaID, before pools.Epoch) {
	if l := m.lives[id]; l != nil && l.epoch < before {
		delete(m.lives, id)
	}
}

func (m *model) apply(id pools.ReplicaID, e pools.Epoch, ops []Op) {
	for _, op := range ops {
		l := m.lives[id]
		if l == nil || l.epoch != e {
			return
		}
		if op.Action == ActionCleared {
			m.lives[id] = &modelLife{id, e, l.mode}
			continue
		}
		if op.Tier == TierUnknown {
			continue
		}
		for _, key := range op.Keys {
			r := m.record(modelPair{key, l})
			switch op.Action {
			case ActionNone, ActionCleared:
			case ActionStored:
				r.counts[op.Tier]++
				if op.Tier == TierDevice && l.mode == ModePrecise {
					r.predicted, r.renewed = false, false
				}
			case ActionRemoved:
				r.counts[op.Tier] = max(0, r.counts[op.Tier]-1)
			}
		}
	}
}

func (m *model) predict(id pools.ReplicaID, e pools.Epoch, keys []uint64, now time.Duration) {
	l := m.lives[id]
	if l == nil || l.epoch != e || l.mode == ModeOff {
		return
	}
	for _, key := range keys {
		p := modelPair{key, l}
		switch r := m.record(p); {
		case r.predicted:
			r.renewed = true
		case l.mode == ModePrecise && r.counts[TierDevice] > 0:
		default:
			r.predicted = true
			m.waiting[l.mode] = append(m.waiting[l.mode], modelWait{p, now + m.ttl[l.mode]})
		}
	}
}

func (m *model) expire(now time.Duration) {
	for mode, queue := range m.waiting {
		for len(queue) > 0 && queue[0].due <= now {
			w := queue[0]
			queue = queue[1:]
			switch r := m.record(w.pair); {
			case r.renewed:
				r.renewed = false
				queue = append(queue, modelWait{w.pair, now + m.ttl[mode]})
			default:
				r.predicted = false
			}
		}
		m.waiting[mode] = queue
	}
}

func (m *model) match(keys []uint64) map[pools.ReplicaID]Match {
	all := map[pools.ReplicaID]Match{}
	for id, l := range m.lives {
		if l.mode == ModeOff {
			continue
		}
		found := Match{ID: id, Epoch: l.epoch, Mode: l.mode}
		for t := TierDevice; t <= TierRemote && l.mode == ModePrecise; t++ {
			found.Blocks[t-1] = m.run(l, keys, t, false)
		}
		found.Predicted = m.run(l, keys, TierRemote, true)
		if found.Predicted > 0 {
			all[id] = found
		}
	}
	return all
}

// run is the length of the run of blocks in tier t or a nearer one, or predicted.
func (m *model) run(l *modelLife, keys []uint64, t Tier, predictions bool) (n uint32) {
	for _, key := range keys {
		r := m.pairs[modelPair{key, l}]
		if r == nil {
			return n
		}
		is := predictions && r.predicted
		for tier := TierDevice; tier <= t && l.mode == ModePrecise; tier++ {
			is = is || r.counts[tier] > 0
		}
		if !is {
			return n
		}
		n++
	}
	return n
}

// driver does the same to an index and a model.
type driver struct {
	index  *Index
	model  *model
	rng    *rand.Rand
	chains [][]uint64
	ids    []pools.ReplicaID
	now    time.Duration
	// oneMode keeps to operations after which what is evicted can only be missing.
	oneMode bool
}

func newDriver(t testing.TB, o Options, replicas int, rng *rand.Rand) *driver {
	t.Helper()
	x, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	d := &driver{index: x, model: newModel(x.options), rng: rng}
	for range 6 {
		d.chains = append(d.chains, d.branch())
	}
	for i := range replicas {
		d.ids = append(d.ids, pools.ReplicaID(fmt.Sprint("replica-", i)))
		d.join(d.ids[i], 1)
	}
	return d
}

// branch is a new chain that shares its start with an older one.
func (d *driver) branch() []uint64 {
	var chain []uint64
	if len(d.chains) > 0 {
		old := d.chains[d.rng.IntN(len(d.chains))]
		chain = slices.Clone(old[:d.rng.IntN(len(old))])
	}
	for range 1 + d.rng.IntN(60) {
		chain = append(chain, d.rng.Uint64())
	}
	return chain
}

func (d *driver) join(id pools.ReplicaID, e pools.Epoch) {
	m := ModePrecise
	if d.rng.IntN(4) == 0 && !d.oneMode {
		m = Mode(d.rng.IntN(3))
	}
	if d.index.Join(id, e, m) == nil {
		d.model.join(id, e, m)
	}
}

// part is a piece of a chain, usually its start.
func (d *driver) part() []uint64 {
	chain := d.chains[d.rng.IntN(len(d.chains))]
	to := 1 + d.rng.IntN(len(chain))
	from := 0
	if d.rng.IntN(3) == 0 {
		from = d.rng.IntN(to)
	}
	return chain[from:to]
}

func (d *driver) ops() []Op {
	var ops []Op
	for range 1 + d.rng.IntN(4) {
		op := Op{Action: ActionStored, Tier: TierDevice, Keys: d.part()}
		switch d.rng.IntN(12) {
		case 0, 1, 2:
			op.Tier = Tier(d.rng.IntN(Tiers + 1))
		case 3, 4, 5:
			op.Action = ActionRemoved
			op.Tier = Tier(d.rng.IntN(Tiers + 1))
		case 6, 7:
			op.Action = ActionRemoved
		case 8:
			if d.rng.IntN(20) == 0 && (!d.oneMode || d.rng.IntN(100) == 0) {
				op.Action = ActionCleared
			}
		}
		ops = append(ops, op)
	}
	return ops
}

func (d *driver) step() {
	id := d.ids[d.rng.IntN(len(d.ids))]
	epoch := pools.Epoch(1)
	if l := d.model.lives[id]; l != nil {
		epoch = l.epoch
	}
	switch n := d.rng.IntN(100); {
	case n < 60:
		if d.rng.IntN(30) == 0 {
			epoch-- // an event of the life before
		}
		ops := d.ops()
		d.index.Apply(id, epoch, ops)
		d.model.apply(id, epoch, ops)
	case n < 80 && !d.oneMode:
		keys := d.part()
		d.now += time.Duration(d.rng.IntN(300)) * time.Millisecond
		for d.index.Expire(d.now, 7) {
			continue
		}
		d.model.expire(d.now)
		d.index.Predict(id, epoch, keys, d.now)
		d.model.predict(id, epoch, keys, d.now)
	case n < 86 && d.oneMode && d.rng.IntN(100) > 0: // lives long enough to fill the index
	case n < 82:
		d.index.Forget(id, epoch+1)
		d.model.forget(id, epoch+1)
	case n < 86:
		d.join(id, epoch+pools.Epoch(d.rng.IntN(2)))
	case n < 92:
		d.index.Sweep(1 + d.rng.IntN(200))
	case n < 94:
		d.chains[d.rng.IntN(len(d.chains))] = d.branch()
	case n < 95:
		s := &d.index.shards[d.rng.IntN(len(d.index.shards))]
		s.mu.Lock()
		s.makeRoom()
		s.mu.Unlock()
	}
}

// checkStats compares the figures of replicas with the model.
func (d *driver) checkStats(t testing.TB) {
	t.Helper()
	blocks, predictions := map[pools.ReplicaID][Tiers]int64{}, map[pools.ReplicaID]int64{}
	for p, r := range d.model.pairs {
		if d.model.lives[p.life.id] != p.life {
			continue
		}
		b := blocks[p.life.id]
		for tier := range Tiers {
			b[tier] += int64(min(1, r.counts[tier+1]))
		}
		blocks[p.life.id] = b
		if r.predicted {
			predictions[p.life.id]++
		}
	}
	for id := range d.model.lives {
		s, known := d.index.Replica(id)
		if !known || s.Blocks != blocks[id] || s.Predicted != predictions[id] || s.Incomplete {
			t.Fatalf("%s: %+v, want blocks %v and %d predicted", id, s, blocks[id], predictions[id])
		}
	}
}

// checkTables wants the counters of shards to be what is there, after a full sweep.
func (d *driver) checkTables(t testing.TB) {
	t.Helper()
	for d.index.Sweep(1000) {
		continue
	}
	for i := range d.index.shards {
		s := &d.index.shards[i]
		table := s.table.Load()
		live, used, pairs := 0, 0, int64(0)
		for slot := range table.size {
			key, v := table.slots[2*slot].Load(), table.value(slot)
			if key != 0 {
				used++
			}
			if v != 0 {
				live++
			}
			s.each(table, key, v, func(r record) {
				pairs++
				if r.empty() || d.index.roster.Load().byOrdinal[r.ordinal()] == nil {
					t.Fatalf("a record %x that is empty or of nobody", r)
				}
			})
		}
		if live != s.live || used != s.used || pairs != s.pairs {
			t.Fatalf("shard %d has %d live, %d used, %d pairs, counted %d, %d, %d", i, live, used, pairs, s.live, s.used, s.pairs)
		}
		if s.bytes() > s.limit {
			t.Fatalf("shard %d has %d bytes, the bound is %d", i, s.bytes(), s.limit)
		}
	}
}

// checkRuns holds lookups to what they promise: a figure is an edge, it is never less
// than the run, and it is the run where blocks have gone from the end alone and among the
// leading blocks.
func (d *driver) checkRuns(t testing.TB) {
	t.Helper()
	for _, chain := range d.chains {
		got := map[pools.ReplicaID]Match{}
		for _, m := range d.index.Match(chain, nil) {
			got[m.ID] = m
		}
		want := d.model.match(chain)
		if len(got) != len(want) {
			t.Fatalf("Match finds %d replicas, the model %d", len(got), len(want))
		}
		for id, w := range want {
			m, l := got[id], d.model.lives[id]
			if m.Epoch != w.Epoch || m.Mode != w.Mode {
				t.Fatalf("Match says %+v, the model %+v", m, w)
			}
			for tier := TierDevice; tier <= TierRemote && l.mode == ModePrecise; tier++ {
				d.checkRun(t, l, chain, m.In(tier), tier, false)
			}
			d.checkRun(t, l, chain, m.Predicted, TierRemote, true)
			if !slices.IsSorted(m.Blocks[:]) || m.Predicted < m.In(TierRemote) {
				t.Fatalf("figures fall: %+v", m)
			}
		}
	}
}

func (d *driver) checkRun(t testing.TB, l *modelLife, chain []uint64, got uint32, tier Tier, predictions bool) {
	t.Helper()
	run, held := d.model.run(l, chain, tier, predictions), uint32(0)
	has := make([]bool, len(chain)+1)
	for i, key := range chain {
		if has[i] = d.model.run(l, []uint64{key}, tier, predictions) == 1; has[i] {
			held++
		}
	}
	if got < run || got > run && (held == run || run < exact) || has[got] || got > 0 && !has[got-1] {
		t.Fatalf("%s has a run of %d in %v, %d in all, predictions %v; Match says %d", l.id, run, tier, held, predictions, got)
	}
}

func TestIndexAgreesWithThePlainModel(t *testing.T) {
	t.Parallel()
	for _, replicas := range []int{1, 3, 9, 40, 90, 140} {
		t.Run(fmt.Sprint(replicas), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(uint64(replicas), 2))
			d := newDriver(t, Options{MaxBytes: 16 << 20, PreciseTTL: time.Second, PredictedTTL: 3 * time.Second}, replicas, rng)
			for range (150 - replicas) / patience {
				for range 20 + replicas/2 {
					d.step()
				}
				d.checkRuns(t)
			}
			d.checkStats(t)
			d.checkTables(t)
			d.checkRuns(t)
		})
	}
}

func FuzzIndexAgreesWithThePlainModel(f *testing.F) {
	f.Add(uint64(1), uint8(3), uint16(200))
	f.Add(uint64(2), uint8(70), uint16(900))
	f.Fuzz(func(t *testing.T, seed uint64, replicas uint8, steps uint16) {
		rng := rand.New(rand.NewPCG(seed, 0))
		d := newDriver(t, Options{MaxBytes: 4 << 20, PreciseTTL: time.Second, PredictedTTL: time.Second, Seed: seed},
			1+int(replicas), rng)
		for range steps % 1000 {
			d.step()
		}
		d.checkRuns(t)
		d.checkStats(t)
		d.checkTables(t)
		d.checkRuns(t)
	})
}

package prefixindex

import (
	"maps"
	"slices"
	"sync/atomic"

	"penstock/pools"
)

// life is one stretch of one replica under one ordinal: from Join, or from when it was
// cleared, until it is forgotten or cleared.
type life struct {
	id      pools.ReplicaID
	epoch   pools.Epoch
	ordinal int
	mode    atomic.Uint32
	// dead is set before the life's ordinal is swept; writers look at it under a
	// shard's lock, so that nothing is written behind the sweep.
	dead atomic.Bool

	blocks     [Tiers]atomic.Int64
	predicted  atomic.Int64
	incomplete atomic.Bool
}

func (l *life) currentMode() Mode { return Mode(l.mode.Load()) }

// account follows a pair from one record to the next.
func (l *life) account(from, to record) {
	for t := TierDevice; t <= TierRemote; t++ {
		switch had, has := from.count(t) > 0, to.count(t) > 0; {
		case has && !had:
			l.blocks[t-1].Add(1)
		case had && !has:
			l.blocks[t-1].Add(-1)
		}
	}
	switch had, has := from.predicted(), to.predicted(); {
	case has && !had:
		l.predicted.Add(1)
	case had && !has:
		l.predicted.Add(-1)
	}
}

// roster is one immutable picture of who has which ordinal.
type roster struct {
	byID      map[pools.ReplicaID]*life
	byOrdinal []*life // nil: free, or dead and unswept
	// Sets of ordinals, all of the same number of words: alive at all, in a mode that a
	// lookup listens to, and in ModePrecise.
	alive, listening, precise []uint64
}

// words is the number of words of a set of all ordinals that were ever used.
func (r *roster) words() int { return len(r.alive) }

// life returns the replica's life if it has that epoch.
func (r *roster) life(id pools.ReplicaID, e pools.Epoch) *life {
	if l := r.byID[id]; l != nil && l.epoch == e {
		return l
	}
	return nil
}

// publish makes a roster of the lives given. The caller holds x.mu.
func (x *Index) publish(byID map[pools.ReplicaID]*life) {
	words := max(1, (len(x.ordinals)+63)/64)
	r := &roster{
		byID: byID, byOrdinal: make([]*life, len(x.ordinals)),
		alive: make([]uint64, words), listening: make([]uint64, words), precise: make([]uint64, words),
	}
	for _, l := range byID {
		word, bit := l.ordinal>>6, uint64(1)<<(l.ordinal&63)
		r.byOrdinal[l.ordinal] = l
		r.alive[word] |= bit
		if l.currentMode() != ModeOff {
			r.listening[word] |= bit
		}
		if l.currentMode() == ModePrecise {
			r.precise[word] |= bit
		}
	}
	x.roster.Store(r)
}

// ordinalState is who may use an ordinal.
type ordinalState uint8

const (
	ordinalFree ordinalState = iota
	ordinalAlive
	ordinalDead     // masked; pairs of it may be in the tables
	ordinalSweeping // the pass under way clears it
)

// Join makes a replica's life known. A later epoch than the one known replaces it: what
// the old one held is forgotten at once. The same epoch again sets the mode only. It
// fails with ErrStale for an earlier epoch, and with ErrFull if MaxReplicas are alive,
// or if Sweep is so far behind that no ordinal is free.
func (x *Index) Join(id pools.ReplicaID, e pools.Epoch, m Mode) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	old := x.roster.Load().byID[id]
	switch {
	case old != nil && old.epoch == e:
		x.setMode(old, m)
		return nil
	case old != nil && old.epoch > e:
		return ErrStale
	case old == nil && len(x.roster.Load().byID) >= x.options.MaxReplicas:
		return ErrFull
	}
	n := x.freeOrdinal()
	if n < 0 {
		return ErrFull
	}
	x.begin(id, e, m, n)
	return nil
}

// begin gives a replica a new life under a free ordinal. The caller holds x.mu.
func (x *Index) begin(id pools.ReplicaID, e pools.Epoch, m Mode, ordinal int) *life {
	l := &life{id: id, epoch: e, ordinal: ordinal}
	l.mode.Store(uint32(m))
	x.ordinals[ordinal] = ordinalAlive
	byID := maps.Clone(x.roster.Load().byID)
	old := byID[id]
	byID[id] = l
	if old != nil {
		x.ordinals[old.ordinal] = ordinalDead
	}
	x.publish(byID)
	if old != nil {
		old.dead.Store(true)
	}
	return l
}

// freeOrdinal is the lowest that may be used, -1 none. One more than MaxReplicas exist,
// so that a full index can still clear a replica.
func (x *Index) freeOrdinal() int {
	if n := slices.Index(x.ordinals, ordinalFree); n >= 0 {
		return n
	}
	if len(x.ordinals) >= min(2*x.options.MaxReplicas+1, maxOrdinals) {
		return -1
	}
	x.ordinals = append(x.ordinals, ordinalFree)
	return len(x.ordinals) - 1
}

// Forget ends a replica's life if its epoch is earlier than before. Once it returns, no
// lookup that starts reports that life. It takes no time in the number of blocks; Sweep
// frees their memory.
func (x *Index) Forget(id pools.ReplicaID, before pools.Epoch) {
	x.mu.Lock()
	defer x.mu.Unlock()
	l := x.roster.Load().byID[id]
	if l == nil || l.epoch >= before {
		return
	}
	byID := maps.Clone(x.roster.Load().byID)
	delete(byID, id)
	x.ordinals[l.ordinal] = ordinalDead
	x.publish(byID)
	l.dead.Store(true)
}

// SetMode changes what lookups believe of a replica; what is stored stays. It reports
// whether the replica has that epoch.
func (x *Index) SetMode(id pools.ReplicaID, e pools.Epoch, m Mode) (known bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	l := x.roster.Load().life(id, e)
	if l == nil {
		return false
	}
	x.setMode(l, m)
	return true
}

func (x *Index) setMode(l *life, m Mode) {
	if l.currentMode() == m {
		return
	}
	l.mode.Store(uint32(m))
	x.publish(x.roster.Load().byID)
}

// renew gives a life that was cleared a new ordinal; nil if it has ended meanwhile.
func (x *Index) renew(l *life) *life {
	x.mu.Lock()
	defer x.mu.Unlock()
	if l.dead.Load() {
		return x.roster.Load().life(l.id, l.epoch)
	}
	n := x.freeOrdinal()
	if n < 0 {
		x.sweepAll()
		if n = x.freeOrdinal(); n < 0 {
			panic("BUG: every ordinal is alive")
		}
	}
	return x.begin(l.id, l.epoch, l.currentMode(), n)
}

// Replica returns the figures of one replica.
func (x *Index) Replica(id pools.ReplicaID) (s ReplicaStats, known bool) {
	l := x.roster.Load().byID[id]
	if l == nil {
		return s, false
	}
	s = ReplicaStats{
		Epoch: l.epoch, Mode: l.currentMode(),
		Predicted: l.predicted.Load(), Incomplete: l.incomplete.Load(),
	}
	for t := range s.Blocks {
		s.Blocks[t] = l.blocks[t].Load()
	}
	return s, true
}

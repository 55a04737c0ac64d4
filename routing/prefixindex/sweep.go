package prefixindex

import (
	"math"
	"slices"
)

// sweep is a pass over all shards that clears the ordinals that were dead as it began.
type sweep struct {
	active      bool
	shard, slot int
	table       *table // that slot is a place in
}

// Sweep looks at up to that many slots of tables and clears what ended lives have there.
// At the end of a pass their ordinals are free again. It reports whether there is more to
// do; call it again then, at leisure, and after Forget, Join and Apply at times.
func (x *Index) Sweep(slots int) (more bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.sweepSome(slots)
}

// sweepAll finishes the pass under way and clears all that is dead now. The caller holds
// x.mu.
func (x *Index) sweepAll() {
	for x.sweepSome(math.MaxInt) {
		continue
	}
}

func (x *Index) sweepSome(slots int) (more bool) {
	w := &x.sweep
	if !w.active && !x.turn(ordinalDead, ordinalSweeping) {
		return false
	}
	w.active = true
	alive := x.roster.Load().alive
	for slots > 0 && w.shard < len(x.shards) {
		slots -= x.shards[w.shard].sweep(w, slots, alive)
	}
	if w.shard < len(x.shards) {
		return true
	}
	*w = sweep{}
	x.turn(ordinalSweeping, ordinalFree)
	return slices.Contains(x.ordinals, ordinalDead)
}

// turn moves all ordinals from one state to the next and reports whether there was any.
func (x *Index) turn(from, to ordinalState) (any bool) {
	for i, state := range x.ordinals {
		if state == from {
			x.ordinals[i], any = to, true
		}
	}
	return any
}

// sweep clears up to that many slots from where the pass is, and returns how many.
func (s *shard) sweep(w *sweep, slots int, alive []uint64) (done int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.table.Load()
	if w.table != nil && w.table != t {
		w.shard, w.slot, w.table = w.shard+1, 0, nil // a rebuild left the dead behind
		return 1
	}
	end := t.size
	if slots < t.size-w.slot {
		end = w.slot + slots
	}
	done = end - w.slot
	for ; w.slot < end; w.slot++ {
		s.purge(t, w.slot, alive)
	}
	w.table = t
	if w.slot < t.size {
		return done
	}
	if t.size > 4*max(minSlots, s.live) {
		s.makeRoom() // gives back what a replica that has gone took
	}
	w.shard, w.slot, w.table = w.shard+1, 0, nil
	return done
}

// purge takes the pairs of ended lives out of a slot.
func (s *shard) purge(t *table, slot int, alive []uint64) {
	key, v := t.slots[2*slot].Load(), t.value(slot)
	switch v & kindMask {
	case kindOne:
		if !contains(alive, (record(v) & recordMask).ordinal()) {
			s.pairs--
			s.vacate(t, slot, v)
		}
	case kindList:
		row := t.row(v)[1:]
		for i := range row {
			if r := record(row[i].Load()); r != 0 && !contains(alive, r.ordinal()) {
				s.pairs--
				s.remove(t, slot, key, v, r&ordinalMask)
				if t.value(slot) != v {
					s.purge(t, slot, alive) // it moved to a smaller row
					return
				}
			}
		}
	case kindMap:
		row := t.row(v)[1:]
		if s.purgeMap(key, row, alive) {
			s.slim(t, slot, key, v, population(row), maxListed(t.words)*2/3)
		}
	}
}

package prefixindex

import (
	"math/bits"
	"sync/atomic"
)

// makeRoom rebuilds the table for what it has now and what may come next, and evicts
// first if the bound asks for it.
func (s *shard) makeRoom() {
	t := s.table.Load()
	words := s.index.roster.Load().words()
	size := max(minSlots, 2*(s.live+1))
	if size > s.affordable(t, words) {
		// At the bound evict as far as growth would leave a table filled, so that a rebuild
		// is paid for by many inserts.
		for s.live > 0 && s.live > s.affordable(t, words)/2 {
			s.evict(t)
		}
		size = max(minSlots, min(2*(s.live+1), s.affordable(t, words)))
	}
	s.rebuild(size, words)
}

// affordable is the number of slots that the bound leaves beside the rows in use and
// room for some more of each size.
func (s *shard) affordable(t *table, words int) int {
	left := s.limit - int64(len(s.extras))*extraBytes
	for i := range t.pools {
		p := &t.pools[i]
		size, inUse := p.words, p.rows-len(p.free)
		if i == bitmaps {
			size = 1 + mapSets*words
		}
		rows := inUse + inUse/8 + slabRows
		if inUse > 0 {
			rows += slabRows
		}
		left -= int64(rows) * int64(size*8+4+sliceBytes/slabRows+1)
	}
	return int(max(0, left/slotBytes))
}

// evict drops the first key without a mark. The hand strides all over the table: if it went from slot to slot,
// one stretch would be emptied and the probes in all others grow long.
func (s *shard) evict(t *table) {
	for range 3 * t.size {
		slot := s.hand
		s.hand = (s.hand + t.stride) % t.size
		w := &t.slots[2*slot+1]
		switch v := w.Load(); {
		case v&^marks == 0:
		case v&touched != 0:
			w.Or(fresh)
			w.And(^touched)
		case v&fresh != 0:
			w.And(^fresh)
		default:
			s.drop(t, slot, v)
			return
		}
	}
	s.dropAny(t) // lookups touch as fast as the hand moves
}

func (s *shard) dropAny(t *table) {
	for slot := range t.size {
		if v := t.value(slot); v != 0 {
			s.drop(t, slot, v)
			return
		}
	}
}

// drop evicts a key with all its pairs.
func (s *shard) drop(t *table, slot int, v uint64) {
	key, lives := t.slots[2*slot].Load(), s.index.roster.Load().byOrdinal
	dropped := int64(0)
	s.each(t, key, v, func(r record) {
		dropped++
		s.forgetExtras(key, r.ordinal())
		l := lives[r.ordinal()]
		if l == nil {
			return
		}
		l.account(r, r&ordinalMask)
		if r.held() {
			l.incomplete.Store(true)
		}
	})
	s.pairs -= dropped
	s.index.evicted.Add(uint64(dropped))
	s.vacate(t, slot, v)
}

func (s *shard) forgetExtras(key uint64, ordinal int) {
	if len(s.extras) == 0 {
		return
	}
	for tier := TierDevice; tier <= TierRemote; tier++ {
		delete(s.extras, extra{key, uint16(ordinal), tier})
	}
}

// rebuild moves what is alive into a new table with rows packed densely. Lookups go on
// in the old one until they load the new.
func (s *shard) rebuild(size, words int) {
	old, t := s.table.Load(), newTable(size, words)
	alive := s.index.roster.Load().alive
	for slot := range old.size {
		raw := old.slots[2*slot+1].Load()
		if raw&^marks == 0 {
			continue
		}
		key := old.slots[2*slot].Load()
		v := s.move(old, t, key, raw&^marks, alive)
		if v == 0 {
			s.live--
			continue
		}
		hash, _ := s.index.hash(key)
		to, _ := t.find(hash<<(64-s.index.shift), key)
		t.slots[2*to+1].Store(v | raw&marks)
		t.slots[2*to].Store(key)
	}
	s.used = s.live
	s.hand = int(int64(s.hand) * int64(size) / int64(old.size))
	s.table.Store(t)
}

// move copies the pairs of lives that have not ended and returns the value for them.
func (s *shard) move(old, t *table, key, v uint64, alive []uint64) uint64 {
	if v&kindMask == kindMap {
		return s.moveMap(old, t, key, v, alive)
	}
	var memory [maxList]record
	kept := memory[:0]
	s.each(old, key, v, func(r record) {
		if contains(alive, r.ordinal()) {
			kept = append(kept, r)
		} else {
			s.pairs--
		}
	})
	if len(kept) == 0 {
		return 0
	}
	next, ok := s.pack(t, key, kept, s.limit)
	if !ok {
		panic("BUG: a new table has no room for a row of the old one")
	}
	return next
}

func (s *shard) moveMap(old, t *table, key, v uint64, alive []uint64) uint64 {
	from := old.row(v)[1:]
	s.purgeMap(key, from, alive)
	n, row := t.pools[bitmaps].take()
	to := row[1:]
	for w := range old.words {
		for set := range mapSets {
			to[set*t.words+w].Store(from[set*old.words+w].Load())
		}
	}
	if population(to) == 0 {
		t.pools[bitmaps].give(n)
		return 0
	}
	return kindMap | uint64(n)
}

// purgeMap takes the pairs of ended lives out of a bitmap.
func (s *shard) purgeMap(key uint64, row []atomic.Uint64, alive []uint64) (purged bool) {
	words := len(row) / mapSets
	for w := range words {
		gone := members(row, words, w) &^ alive[w]
		if gone == 0 {
			continue
		}
		purged = true
		s.pairs -= int64(bits.OnesCount64(gone))
		for set := range mapSets {
			row[set*words+w].And(^gone)
		}
		for ; gone != 0; gone &= gone - 1 {
			s.forgetExtras(key, w<<6+bits.TrailingZeros64(gone))
		}
	}
	return purged
}

func contains(set []uint64, ordinal int) bool { return set[ordinal>>6]>>(ordinal&63)&1 != 0 }

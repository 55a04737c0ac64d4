package prefixindex

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// shard is one part of the keys, with its own lock for writers and its own bound.
// Readers load the table and nothing else.
type shard struct {
	table atomic.Pointer[table]

	// mu guards all below, and the right to write into the table.
	mu     sync.Mutex
	index  *Index
	limit  int64
	extras map[extra]uint8
	used   int   // slots with a key
	live   int   // of those, with a value
	pairs  int64 // under live keys
	hand   int   // of the clock: the next slot to look at for eviction
	_      [48]byte
}

// minSlots is the size of an empty table.
const minSlots = 64

// maxTries bounds how often room is made for one update.
const maxTries = 3

// touch reads the slot where a search for the hash begins, to have it near.
func (s *shard) touch(hash uint64) {
	t := s.table.Load()
	high, _ := bits.Mul64(hash<<(64-s.index.shift), uint64(t.size))
	t.slots[2*high].Load()
}

// update changes one pair. It reports whether a prediction begins or is put off: the
// caller then has to see to its end.
func (s *shard) update(hash, key uint64, l *life, c change, tier Tier) (waits bool) {
	hash <<= 64 - s.index.shift
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.dead.Load() {
		s.index.ignored.Add(1)
		return false
	}
	for try := 0; ; try++ {
		t := s.table.Load()
		slot, found := t.find(hash, key)
		v := uint64(0)
		if found {
			v = t.value(slot)
		}
		from := s.pair(key, v, l.ordinal)
		to := from.after(c, tier, l.currentMode())
		if from == to {
			return false
		}
		if s.put(t, slot, key, v, from, to) {
			s.settle(l, c, from, to)
			return to.predicted() && (!from.predicted() || c == changeExpire)
		}
		if try == maxTries {
			s.index.dropped.Add(1)
			if c == changeStore {
				l.incomplete.Store(true)
			}
			return false
		}
		s.makeRoom()
	}
}

// settle counts what became of a pair.
func (s *shard) settle(l *life, c change, from, to record) {
	l.account(from, to)
	switch {
	case from.empty():
		s.pairs++
	case to.empty():
		s.pairs--
	}
	switch {
	case !from.predicted() || to.predicted():
	case c == changeStore:
		s.index.confirmed.Add(1)
	case c == changeExpire:
		s.index.expired.Add(1)
	}
}

// put writes a pair whose record was from. It fails, with nothing changed, if that takes
// memory that the table does not have.
func (s *shard) put(t *table, slot int, key, v uint64, from, to record) bool {
	switch {
	case to.empty():
		s.remove(t, slot, key, v, to)
		return true
	case from.empty():
		return s.insert(t, slot, key, v, to)
	}
	switch v & kindMask {
	case kindOne:
		t.set(slot, kindOne|uint64(to))
	case kindList:
		row := t.row(v)[1:]
		row[indexOf(row, to.ordinal())].Store(uint64(to))
	case kindMap:
		s.setMapped(key, t.row(v)[1:], to)
	}
	return true
}

// insert adds a pair to what a key has.
func (s *shard) insert(t *table, slot int, key, v uint64, r record) bool {
	switch v & kindMask {
	case 0:
		return s.insertFirst(t, slot, key, r)
	case kindList:
		row := t.row(v)[1:]
		if i := vacancy(row); i >= 0 {
			row[i].Store(uint64(r))
			return true
		}
	case kindMap:
		if r.ordinal()>>6 >= t.words {
			return false
		}
		s.setMapped(key, t.row(v)[1:], r)
		return true
	}
	var memory [maxList + 1]record
	all := append(s.records(t, key, v, memory[:0]), r)
	return s.repack(t, slot, key, v, all)
}

func (s *shard) insertFirst(t *table, slot int, key uint64, r record) bool {
	if t.slots[2*slot].Load() == 0 {
		if s.used+1 > t.size*3/4 {
			return false
		}
		s.used++
	}
	s.live++
	t.slots[2*slot+1].Store(kindOne | uint64(r) | fresh)
	t.slots[2*slot].Store(key) // after its value: whoever finds it may read on
	return true
}

// remove takes the pair of an empty record away from a key.
func (s *shard) remove(t *table, slot int, key, v uint64, gone record) {
	switch v & kindMask {
	case kindOne:
		s.vacate(t, slot, v)
	case kindList:
		row := t.row(v)[1:]
		row[indexOf(row, gone.ordinal())].Store(0)
		n := 0
		for i := range row {
			if row[i].Load() != 0 {
				n++
			}
		}
		s.slim(t, slot, key, v, n, max(1, len(row)/4))
	case kindMap:
		row := t.row(v)[1:]
		s.setMapped(key, row, gone)
		s.slim(t, slot, key, v, population(row), maxListed(t.words)*2/3)
	}
}

// slim gives a key whose row has n pairs left a smaller row if they are at most few. If
// there is no memory for the smaller one, the larger stays.
func (s *shard) slim(t *table, slot int, key, v uint64, n, few int) {
	switch {
	case n == 0:
		s.vacate(t, slot, v)
	case n <= few:
		var memory [maxList + 1]record
		s.repack(t, slot, key, v, s.records(t, key, v, memory[:0]))
	}
}

// vacate leaves a slot with its key alone.
func (s *shard) vacate(t *table, slot int, v uint64) {
	t.slots[2*slot+1].Store(0)
	t.release(v)
	s.live--
}

// records appends the records under a key, of which there are at most maxList.
func (s *shard) records(t *table, key, v uint64, dst []record) []record {
	s.each(t, key, v, func(r record) { dst = append(dst, r) })
	return dst
}

// repack moves a key's records to the row that fits them.
func (s *shard) repack(t *table, slot int, key, v uint64, all []record) bool {
	next, ok := s.pack(t, key, all, s.limit-s.bytes())
	if !ok {
		return false
	}
	if v&kindMask == kindMap && next&kindMask != kindMap {
		for _, r := range all { // a list has room for the counts
			s.forgetExtras(key, r.ordinal())
		}
	}
	t.set(slot, next)
	t.release(v)
	return true
}

// maxList is the longest list.
const maxList = firstRow<<(classes-1) - 1

// maxListed is the number of pairs beyond which a key has a bitmap: lists double up to
// where a bitmap takes at most 40 bytes a pair.
func maxListed(words int) int {
	n := firstRow - 1
	for n < maxList && 40*n < 8*(1+mapSets*words) {
		n = 2*n + 1
	}
	return n
}

// pack writes records into a row of their own, within the memory given, and returns the
// value that points to it.
func (s *shard) pack(t *table, key uint64, all []record, memory int64) (v uint64, ok bool) {
	if len(all) == 1 {
		return kindOne | uint64(all[0]), true
	}
	if len(all) > maxListed(t.words) {
		return s.packMap(t, key, all, memory)
	}
	class := 0
	for firstRow<<class-1 < len(all) {
		class++
	}
	p := &t.pools[class]
	if p.cost() > memory {
		return 0, false
	}
	n, row := p.take()
	for i, r := range all {
		row[1+i].Store(uint64(r))
	}
	return kindList | uint64(class)<<classShift | uint64(n), true
}

func (s *shard) packMap(t *table, key uint64, all []record, memory int64) (v uint64, ok bool) {
	p := &t.pools[bitmaps]
	if p.cost() > memory {
		return 0, false
	}
	for _, r := range all {
		if r.ordinal()>>6 >= t.words {
			return 0, false
		}
	}
	n, row := p.take()
	for _, r := range all {
		s.setMapped(key, row[1:], r)
	}
	return kindMap | uint64(n), true
}

// bytes is what the shard has allocated.
func (s *shard) bytes() int64 {
	return s.table.Load().bytes() + int64(len(s.extras))*extraBytes
}

func (s *shard) addTo(st *Stats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st.Keys += int64(s.live)
	st.Entries += s.pairs
	st.Bytes += s.bytes()
}

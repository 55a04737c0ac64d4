package prefixindex

import (
	"math/bits"
	"sync/atomic"
)

// table is one generation of a shard's memory: slots and the rows that they point to.
// The key of a slot is written once and stays, so that whoever finds it may read its
// value at any time: 0 after the last pair has gone. Dead slots go when the table is
// rebuilt, with all rows; readers that are still in the old one see it as it was.
type table struct {
	slots []atomic.Uint64 // key, value, key, value, ...
	size  int             // slots
	// stride visits every slot once in size steps, in the order of multiples of the golden
	// ratio: any number of steps is spread evenly, also over a rebuild.
	stride int
	words  int // of a bitmap: ordinals/64
	pools  [classes + 1]pool
}

// A value is one of
//
//	0 | nothing
//	kindOne  | record
//	kindList | class (3 bits) | row (40 bits)
//	kindMap  | row
//
// with two marks for the clock: a lookup sets touched, which the hand turns into fresh,
// and a new key is fresh, which the hand takes away. What has neither is evicted; so of
// what was looked up none goes before all else has, even in one turn of the hand.
const (
	touched  = uint64(1) << 63
	fresh    = uint64(1) << 60
	marks    = touched | fresh
	kindOne  = uint64(1) << 61
	kindList = uint64(2) << 61
	kindMap  = uint64(3) << 61
	kindMask = uint64(3) << 61

	classShift = 56
	rowMask    = uint64(1)<<40 - 1

	slotBytes = 16
)

// classes of lists: class c has 4<<c words, one of them the header; the last pool has
// bitmaps.
const (
	classes   = 6
	bitmaps   = classes
	firstRow  = 4
	slabRows  = 16
	mapSets   = Tiers + 2 // bitmaps of a row: tiers, predicted, renewed
	predicted = Tiers
	renewed   = Tiers + 1
)

// pool has the rows of one size. Slabs are only added, so that readers go on unharmed.
// The first word of a row counts how often it was given back: a reader that finds it
// unchanged after reading has read one key's row.
type pool struct {
	slabs atomic.Pointer[[][]atomic.Uint64]
	words int
	rows  int // ever handed out
	free  []uint32
}

func newTable(size, words int) *table {
	t := &table{slots: make([]atomic.Uint64, 2*size), size: size, stride: size * 618 / 1000, words: words}
	for gcd(t.stride, size) != 1 {
		t.stride++
	}
	for c := range classes {
		t.pools[c].words = firstRow << c
	}
	t.pools[bitmaps].words = 1 + mapSets*words
	return t
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// find returns the slot of a key, or the empty one where the probe ended, which a writer
// may take. There always is one: tables are never full.
func (t *table) find(hash, key uint64) (slot int, found bool) {
	high, _ := bits.Mul64(hash, uint64(t.size))
	for slot = int(high); ; {
		switch t.slots[2*slot].Load() {
		case key:
			return slot, true
		case 0:
			return slot, false
		}
		if slot++; slot == t.size {
			slot = 0
		}
	}
}

func (t *table) value(slot int) uint64 { return t.slots[2*slot+1].Load() &^ marks }

// set keeps the marks of the clock as they are found; one set at the same moment may be
// lost.
func (t *table) set(slot int, v uint64) {
	w := &t.slots[2*slot+1]
	w.Store(v | w.Load()&marks)
}

// pool is the pool that a value's row is from.
func (t *table) poolOf(v uint64) *pool {
	if v&kindMask == kindMap {
		return &t.pools[bitmaps]
	}
	return &t.pools[v>>classShift&7]
}

// row returns the words that a value points to.
func (t *table) row(v uint64) []atomic.Uint64 { return t.poolOf(v).row(int(v & rowMask)) }

func (p *pool) row(n int) []atomic.Uint64 {
	slab := (*p.slabs.Load())[n/slabRows]
	n = n % slabRows * p.words
	return slab[n : n+p.words : n+p.words]
}

// cost is what the next row takes of new memory.
func (p *pool) cost() int64 {
	if len(p.free) > 0 || p.rows%slabRows != 0 {
		return 0
	}
	return int64(slabRows * p.words * 8)
}

// take returns a row that is all zero behind its header. Words are zeroed here and not
// when they are given back, while a late reader may still look.
func (p *pool) take() (row int, words []atomic.Uint64) {
	if n := len(p.free); n > 0 {
		row = int(p.free[n-1])
		p.free = p.free[:n-1]
		words = p.row(row)
		for i := range words[1:] {
			words[1+i].Store(0)
		}
		return row, words
	}
	if p.rows%slabRows == 0 {
		var slabs [][]atomic.Uint64
		if old := p.slabs.Load(); old != nil {
			slabs = *old
		}
		slabs = append(slabs, make([]atomic.Uint64, slabRows*p.words))
		p.slabs.Store(&slabs)
	}
	row = p.rows
	p.rows++
	return row, p.row(row)
}

func (p *pool) give(row int) {
	p.row(row)[0].Add(1)
	p.free = append(p.free, uint32(row))
}

// release gives a value's row back, if it has one.
func (t *table) release(v uint64) {
	if v&kindMask > kindOne {
		t.poolOf(v).give(int(v & rowMask))
	}
}

// bytes is what the table has allocated, its lists of free rows included.
func (t *table) bytes() int64 {
	n := int64(t.size) * slotBytes
	for i := range t.pools {
		p := &t.pools[i]
		n += int64((p.rows+slabRows-1)/slabRows) * int64(slabRows*p.words*8+sliceBytes)
		n += int64(cap(p.free)) * 4
	}
	return n
}

// sliceBytes is the size of a slice's header.
const sliceBytes = 24

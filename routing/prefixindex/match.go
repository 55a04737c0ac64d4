package prefixindex

import (
	"math/bits"
	"sync/atomic"
)

// exact is how many leading blocks are looked at one by one. They are found before the
// first is looked at: their slots are far apart, and the processor waits for all at once.
const exact = 16

// lookup is the memory of one Match.
type lookup struct {
	roster *roster
	words  int
	// alive and set have a set of ordinals for each level, level by level within a word:
	// [word*levels+level]. alive are the runs that go on, set is what one block has.
	alive, set []uint64
	wanted     []uint64 // for each word, what is alive at any level
	active     []int    // the words in which wanted is not empty
	first      []uint64 // the ordinals that have the first block at some level
	runs       []uint32 // [ordinal*levels+level], for the ordinals in first
	found      [exact]found
	frames     []frame
	stack      []uint64
}

// found is where a key was.
type found struct {
	table *table
	slot  int
	value uint64 // 0 absent
}

// Match appends to dst, for every replica that is listened to and has the first block,
// how many leading blocks it has. Order is by ordinal. It takes no lock and, once dst has
// room, no memory.
func (x *Index) Match(keys []uint64, dst []Match) []Match {
	x.lookups.Add(1)
	r := x.roster.Load()
	if len(keys) == 0 || len(r.byID) == 0 {
		return dst
	}
	c := x.scratch.Get().(*lookup)
	c.begin(r)
	c.scan(x, keys)
	dst = c.report(len(keys), dst)
	c.roster = nil
	clear(c.found[:])
	x.scratch.Put(c)
	return dst
}

func (c *lookup) begin(r *roster) {
	c.roster, c.words = r, r.words()
	if len(c.set) < c.words*levels {
		c.alive = make([]uint64, c.words*levels)
		c.set = make([]uint64, c.words*levels)
		c.first = make([]uint64, c.words)
		c.wanted = make([]uint64, c.words)
		c.active = make([]int, 0, c.words)
		c.runs = make([]uint32, c.words*64*levels)
	}
	c.active = c.active[:0]
	for w := range c.words {
		c.first[w], c.wanted[w] = 0, r.listening[w]
		if r.listening[w] == 0 {
			continue
		}
		c.active = append(c.active, w)
		for level := range Tiers {
			c.alive[w*levels+level] = r.precise[w]
		}
		c.alive[w*levels+Tiers] = r.listening[w]
	}
}

// scan follows the chain until no run goes on.
func (c *lookup) scan(x *Index, keys []uint64) {
	start := keys[:min(len(keys), exact)]
	for i, key := range start {
		c.found[i] = x.locate(key)
	}
	for i, key := range start {
		f := &c.found[i]
		for !c.step(i, f) { // its row was given to another key
			*f = x.locate(key)
		}
		if len(c.active) == 0 {
			return
		}
	}
	if len(keys) > len(start) {
		c.gallop(x, keys, len(start)-1)
	}
}

// locate finds a key and marks it for the clock.
func (x *Index) locate(key uint64) found {
	hash, key := x.hash(key)
	t := x.shardOf(hash).table.Load()
	slot, is := t.find(hash<<(64-x.shift), key)
	if !is {
		return found{}
	}
	w := &t.slots[2*slot+1]
	v := w.Load()
	if v&touched == 0 && v != 0 {
		w.Or(touched)
	}
	return found{table: t, slot: slot, value: v &^ marks}
}

// step ends the runs of those that do not have block i. It fails, with nothing changed,
// if what it read may be another key's.
func (c *lookup) step(i int, f *found) bool {
	switch same, ok := c.load(f, i > 0); {
	case !ok:
		return false
	case same:
	case i == 0:
		c.start()
	default:
		c.end(uint32(i))
	}
	return true
}

// load fills set with what a block has, or says that all runs go on, if the caller can
// do with that.
func (c *lookup) load(f *found, mayBeSame bool) (same, ok bool) {
	switch f.value & kindMask {
	case kindOne:
		c.emptySet()
		c.include(record(f.value) & recordMask)
	case kindList, kindMap:
		return c.read(f, mayBeSame)
	default:
		c.emptySet()
	}
	return false, true
}

// read fills set from a row.
func (c *lookup) read(f *found, mayBeSame bool) (same, ok bool) {
	row := f.table.row(f.value)
	header := row[0].Load()
	if f.table.value(f.slot) != f.value {
		return false, false
	}
	// The row is this key's now, and was all the time if its header is the same after.
	switch {
	case f.value&kindMask == kindList:
		c.emptySet()
		for j := range row[1:] {
			if r := record(row[1+j].Load()); r != 0 {
				c.include(r)
			}
		}
	case mayBeSame && c.onDevice(row[1:], f.table.words):
		same = true
	default:
		c.readMap(row[1:], f.table.words)
	}
	return same, row[0].Load() == header
}

func (c *lookup) emptySet() {
	for _, w := range c.active {
		clear(c.set[w*levels : w*levels+levels])
	}
}

// include adds one record to set.
func (c *lookup) include(r record) {
	w, bit := r.ordinal()>>6, uint64(1)<<(r.ordinal()&63)
	if w >= c.words || c.wanted[w]&bit == 0 {
		return
	}
	set := c.set[w*levels : w*levels+levels]
	if r.held() && c.roster.precise[w]&bit != 0 {
		nearest := (bits.TrailingZeros64(uint64(r&countsMask)) - ordinalBits) / countBits
		for level := nearest; level < levels; level++ {
			set[level] |= bit
		}
	}
	if r.predicted() {
		set[Tiers] |= bit
	}
}

// onDevice reports whether all runs go on because all have the block in the first tier:
// the sets of farther tiers only have more.
func (c *lookup) onDevice(row []atomic.Uint64, words int) bool {
	for _, w := range c.active {
		if w >= words || c.wanted[w]&^(row[w].Load()&c.roster.precise[w]) != 0 {
			return false
		}
	}
	return true
}

// readMap fills set from a bitmap; it may have fewer words than there are ordinals.
func (c *lookup) readMap(row []atomic.Uint64, words int) {
	for _, w := range c.active {
		set := c.set[w*levels : w*levels+levels]
		if w >= words {
			clear(set)
			continue
		}
		nearer := uint64(0)
		for t := range Tiers {
			nearer |= row[t*words+w].Load()
			set[t] = nearer & c.roster.precise[w]
		}
		set[Tiers] = set[Tiers-1] | row[predicted*words+w].Load()
	}
}

// start begins the runs of those that have the first block.
func (c *lookup) start() {
	kept := c.active[:0]
	for _, w := range c.active {
		for level := range levels {
			c.alive[w*levels+level] &= c.set[w*levels+level]
		}
		c.first[w] = c.alive[w*levels+Tiers]
		c.wanted[w] = c.first[w]
		for set := c.first[w]; set != 0; set &= set - 1 {
			at := (w<<6 + bits.TrailingZeros64(set)) * levels
			clear(c.runs[at : at+levels])
		}
		if c.first[w] != 0 {
			kept = append(kept, w)
		}
	}
	c.active = kept
}

// end ends at block i the runs that set does not go on with.
func (c *lookup) end(i uint32) {
	kept := c.active[:0]
	for _, w := range c.active {
		alive, set := c.alive[w*levels:w*levels+levels], c.set[w*levels:w*levels+levels]
		for level := range alive {
			gone := alive[level] &^ set[level]
			if gone == 0 {
				continue
			}
			alive[level] &^= gone
			c.note(w, level, gone, i)
		}
		c.wanted[w] = alive[Tiers] // the other levels have no more
		if c.wanted[w] != 0 {
			kept = append(kept, w)
		}
	}
	c.active = kept
}

// note writes down the length of runs.
func (c *lookup) note(w, level int, set uint64, n uint32) {
	for ; set != 0; set &= set - 1 {
		c.runs[(w<<6+bits.TrailingZeros64(set))*levels+level] = n
	}
}

// report appends what was found; runs that never ended are as long as the chain.
func (c *lookup) report(n int, dst []Match) []Match {
	for _, w := range c.active {
		for level := range levels {
			c.note(w, level, c.alive[w*levels+level]&c.first[w], uint32(n))
		}
	}
	for w := range c.words {
		for set := c.first[w]; set != 0; set &= set - 1 {
			ordinal := w<<6 + bits.TrailingZeros64(set)
			l := c.roster.byOrdinal[ordinal]
			m := Match{ID: l.id, Epoch: l.epoch, Mode: ModePredicted}
			if c.roster.precise[w]>>(ordinal&63)&1 != 0 {
				m.Mode = ModePrecise
			}
			runs := c.runs[ordinal*levels : ordinal*levels+levels]
			copy(m.Blocks[:], runs)
			m.Predicted = runs[Tiers]
			dst = append(dst, m)
		}
	}
	return dst
}

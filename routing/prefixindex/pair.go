package prefixindex

import (
	"math/bits"
	"sync/atomic"
)

// extra names the references beyond the first of a pair in a bitmap, which has no room
// for counts.
type extra struct {
	key     uint64
	ordinal uint16
	tier    Tier
}

// extraBytes is what one costs in a map: 16 + 1 bytes and the map's slack.
const extraBytes = 48

// pair returns the record of an ordinal under a key whose value is v.
func (s *shard) pair(key, v uint64, ordinal int) record {
	none := record(ordinal)
	switch v & kindMask {
	case kindOne:
		if r := record(v) & recordMask; r.ordinal() == ordinal {
			return r
		}
		return none
	case kindList:
		row := s.table.Load().row(v)[1:]
		if i := indexOf(row, ordinal); i >= 0 {
			return record(row[i].Load())
		}
		return none
	case kindMap:
		return s.mapped(key, s.table.Load().row(v)[1:], ordinal)
	}
	return none
}

// mapped reads a pair from a bitmap.
func (s *shard) mapped(key uint64, row []atomic.Uint64, ordinal int) record {
	r, words := record(ordinal), len(row)/mapSets
	if ordinal>>6 >= words {
		return r
	}
	has := func(set int) bool { return row[set*words+ordinal>>6].Load()>>(ordinal&63)&1 != 0 }
	for t := TierDevice; t <= TierRemote; t++ {
		if !has(int(t - 1)) {
			continue
		}
		n := 1
		if len(s.extras) > 0 {
			n += int(s.extras[extra{key, uint16(ordinal), t}])
		}
		r = r.withCount(t, n)
	}
	if has(predicted) {
		r |= predictedBit
	}
	if has(renewed) {
		r |= renewedBit
	}
	return r
}

// indexOf finds the record of an ordinal in a list, -1 none.
func indexOf(row []atomic.Uint64, ordinal int) int {
	for i := range row {
		if r := record(row[i].Load()); r != 0 && r.ordinal() == ordinal {
			return i
		}
	}
	return -1
}

// vacancy finds a free word in a list, -1 none. Records never move while a reader may
// be walking the list.
func vacancy(row []atomic.Uint64) int {
	for i := range row {
		if row[i].Load() == 0 {
			return i
		}
	}
	return -1
}

// setMapped writes a pair into a bitmap: what is new before what goes, so that a reader
// never sees a block between two places.
func (s *shard) setMapped(key uint64, row []atomic.Uint64, r record) {
	words, ordinal := len(row)/mapSets, r.ordinal()
	bit := uint64(1) << (ordinal & 63)
	var want [mapSets]bool
	for t := TierDevice; t <= TierRemote; t++ {
		want[t-1] = r.count(t) > 0
		s.setExtra(extra{key, uint16(ordinal), t}, r.count(t)-1)
	}
	want[predicted], want[renewed] = r.predicted(), r&renewedBit != 0
	for set, is := range want {
		if is {
			row[set*words+ordinal>>6].Or(bit)
		}
	}
	for set, is := range want {
		if !is {
			row[set*words+ordinal>>6].And(^bit)
		}
	}
}

func (s *shard) setExtra(e extra, n int) {
	if n <= 0 {
		if len(s.extras) > 0 {
			delete(s.extras, e)
		}
		return
	}
	// A new one may find no room: then the block is removed early, never late.
	if _, is := s.extras[e]; is || s.bytes()+extraBytes <= s.limit {
		s.extras[e] = uint8(n)
	}
}

// each calls f with every record under a key whose value is v.
func (s *shard) each(t *table, key, v uint64, f func(record)) {
	switch v & kindMask {
	case kindOne:
		f(record(v) & recordMask)
	case kindList:
		row := t.row(v)[1:]
		for i := range row {
			if r := record(row[i].Load()); r != 0 {
				f(r)
			}
		}
	case kindMap:
		row := t.row(v)[1:]
		words := len(row) / mapSets
		for w := range words {
			for set := members(row, words, w); set != 0; set &= set - 1 {
				f(s.mapped(key, row, w<<6+bits.TrailingZeros64(set)))
			}
		}
	}
}

// members are the ordinals 64w to 64w+63 that a bitmap says anything of.
func members(row []atomic.Uint64, words, w int) uint64 {
	var set uint64
	for i := range predicted + 1 {
		set |= row[i*words+w].Load()
	}
	return set
}

// population is the number of pairs in a bitmap.
func population(row []atomic.Uint64) int {
	n, words := 0, len(row)/mapSets
	for w := range words {
		n += bits.OnesCount64(members(row, words, w))
	}
	return n
}

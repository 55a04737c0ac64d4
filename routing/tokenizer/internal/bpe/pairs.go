package bpe

// Widths of the fields of a pair table's entry.
const (
	nodeBits = 21
	nodeMask = 1<<nodeBits - 1
	rankBits = 22
	rankMask = 1<<rankBits - 1
	noRank   = ^uint32(0)
)

// pairTable finds the rank of two neighbouring nodes: eight bytes an entry, open
// addressing, with all of the key in the entry, so that it is exact.
type pairTable struct {
	slots []uint64 // left, right, rank; all ones is empty
	shift uint
}

const emptyPair = ^uint64(0)

func newPairTable(n int) pairTable {
	size, shift := tableSize(n), uint(64)
	for s := size; s > 1; s >>= 1 {
		shift--
	}
	t := pairTable{slots: make([]uint64, size), shift: shift}
	for i := range t.slots {
		t.slots[i] = emptyPair
	}
	return t
}

// put sets the rank of a pair, in place of an earlier one.
func (t *pairTable) put(left, right, rank uint32) {
	key := uint64(left)<<nodeBits | uint64(right)
	mask := len(t.slots) - 1
	for i := int(key*mixA>>t.shift) & mask; ; i = (i + 1) & mask {
		if t.slots[i] == emptyPair || t.slots[i]>>rankBits == key {
			t.slots[i] = key<<rankBits | uint64(rank)
			return
		}
	}
}

// get is the rank of a pair, or noRank.
func (t *pairTable) get(left, right uint32) uint32 {
	key := uint64(left)<<nodeBits | uint64(right)
	slots := t.slots
	mask := len(slots) - 1
	for i := int(key * mixA >> (t.shift & 63)); ; i++ {
		e := slots[i&mask]
		if e>>rankBits == key {
			return uint32(e & rankMask)
		}
		if e == emptyPair {
			return noRank
		}
	}
}

func (t *pairTable) bytes() int64 { return int64(len(t.slots)) * 8 }

package bpe

// followSize is the entries of the table that remembers which tokens follow which:
// 256 KiB a worker.
const (
	followBits = 15
	followSize = 1 << followBits
)

// merger is the scratch memory with which a worker merges.
type merger struct {
	v       *vocabulary
	parts   [maxShort]part
	nodes   []uint32 // symbols of a piece for the heap
	heap    heapMerger
	stack   []uint32 // the linear encoder's tokens so far
	dead    []uint64 // its bit set of places without a way on
	follows *[followSize]uint64
}

func newMerger(v *vocabulary) merger {
	m := merger{v: v}
	if v.linear != nil {
		m.follows = new([followSize]uint64)
	}
	return m
}

// mergeBytes encodes a piece whose bytes are the symbols 0 to 255.
func (m *merger) mergeBytes(dst []uint32, piece []byte) []uint32 {
	v := m.v
	if len(piece) <= shortBytes || v.linear == nil && len(piece) <= maxShort {
		return m.scanBytes(dst, piece)
	}
	if v.linear != nil {
		dst = m.encodeLinear(dst, piece)
	} else {
		m.nodes = m.nodes[:0]
		for _, c := range piece {
			m.nodes = append(m.nodes, uint32(c))
		}
		dst = m.mergeNodes(dst)
	}
	m.release()
	return dst
}

// mergeParts encodes up to maxShort symbols in nodes.
func (m *merger) mergeParts(dst []uint32) []uint32 {
	parts := m.parts[:len(m.nodes)]
	for i, node := range m.nodes {
		parts[i].node = node
	}
	return m.v.appendIDs(dst, m.v.mergeShort(parts, 1))
}

func (m *merger) scanBytes(dst []uint32, piece []byte) []uint32 {
	parts, ranks := m.parts[:len(piece)], m.v.byteRanks
	last := piece[0]
	for i, c := range piece[1:] {
		parts[i] = part{node: uint32(last), rank: ranks[int(last)<<8|int(c)]}
		last = c
	}
	parts[len(parts)-1].node = uint32(last)
	return m.v.appendIDs(dst, m.v.mergeRanked(parts, 1))
}

func (v *vocabulary) appendIDs(dst []uint32, parts []part) []uint32 {
	for _, p := range parts {
		dst = append(dst, v.ids[p.node])
	}
	return dst
}

// mergeNodes encodes the symbols in nodes by the heap.
func (m *merger) mergeNodes(dst []uint32) []uint32 {
	for _, node := range m.heap.merge(&m.v.rules, m.nodes, 1) {
		dst = append(dst, m.v.ids[node])
	}
	return dst
}

// release gives back the memory that only a very long text needed.
func (m *merger) release() {
	if cap(m.nodes) > keptScratch {
		m.nodes = nil
	}
	if cap(m.stack) > keptScratch {
		m.stack = nil
	}
	if cap(m.dead) > keptScratch {
		m.dead = nil
	}
	m.heap.release()
}

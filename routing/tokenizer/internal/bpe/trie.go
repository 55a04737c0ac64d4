package bpe

import "encoding/binary"

// trie finds the longest token at a place of a text, among the nodes of a vocabulary
// that merging reaches. A token's node in the trie has the token's number; inner
// nodes that are no token have the numbers after them.
//
// Edges are entries of eight bytes in one open-addressed table: node and byte (32
// bits), child (31 bits), and whether the child has no children (1 bit).
type trie struct {
	edges  []uint64
	count  int
	tokens uint32 // nodes below are tokens
	root   uint32
	nodes  uint32
	first  [256]uint32    // child of the root, shifted, with its leaf bit; or noChild
	second []uint32       // after two bytes, likewise
	third  []uint32       // after a character of three bytes, by its code; tokens only
	runs   [256][]runStep // of a byte, after 1, 2, 3 of it
	length []uint16       // of each token
	prefix []uint32       // of each token, the longest shorter token it begins with; or goneNode
}

const (
	emptyEdge = ^uint64(0)
	noChild   = ^uint32(0)
	maxNodes  = 1<<24 - 1
	maxLength = 1<<15 - 1
	everyByte = 0x0101010101010101
)

func edgeSlot(key uint32) int { return int(uint64(key) * mixA >> 32) }

func (t *trie) put(node uint32, c byte, child uint32) {
	if t.count++; t.count*5 > len(t.edges)*4 {
		old := t.edges
		t.edges = emptyEdges(2 * len(old))
		for _, e := range old {
			if e != emptyEdge {
				t.place(e)
			}
		}
	}
	t.place(uint64(node<<8|uint32(c))<<32 | uint64(child))
}

func (t *trie) place(e uint64) {
	mask := len(t.edges) - 1
	i := edgeSlot(uint32(e>>32)) & mask
	for t.edges[i] != emptyEdge {
		i = (i + 1) & mask
	}
	t.edges[i] = e
}

// child is the child of a node, shifted, with its leaf bit; or noChild.
func (t *trie) child(node uint32, c byte) uint32 {
	key := node<<8 | uint32(c)
	edges := t.edges
	mask := len(edges) - 1
	for i := edgeSlot(key); ; i++ {
		e := edges[i&mask]
		if e>>32 == uint64(key) {
			return uint32(e)
		}
		if e == emptyEdge {
			return noChild
		}
	}
}

// runStep is how far a run of one byte leads: without it, a line of 400,000 = costs
// the walk through the 80 of Llama 3's longest such token at nearly every place.
type runStep struct {
	next uint32 // shifted, with its leaf bit
	best uint32 // longest token before it; or goneNode
}

// run is the step at the end of the run that text begins with, and its length.
func (t *trie) run(text []byte) (runStep, int) {
	steps := t.runs[text[0]]
	n, most := 1, min(len(steps), len(text))
	for n+8 <= most && binary.LittleEndian.Uint64(text[n:]) == uint64(text[0])*everyByte {
		n += 8
	}
	for n < most && text[n] == text[0] {
		n++
	}
	return steps[n-1], n
}

// longest is the longest token that text begins with, or goneNode.
func (t *trie) longest(text []byte) uint32 {
	if len(text) == 0 {
		return goneNode
	}
	next := t.first[text[0]]
	best := goneNode
	i := 1
	switch {
	case len(text) >= 8 && binary.LittleEndian.Uint64(text) == uint64(text[0])*everyByte && next != noChild:
		step, n := t.run(text)
		next, best, i = step.next, step.best, n
	case len(text) >= 3 && text[0]&0xF0 == 0xE0 && text[1]&0xC0 == 0x80 && text[2]&0xC0 == 0x80:
		if three := t.third[int(text[0]&15)<<12|int(text[1]&63)<<6|int(text[2]&63)]; three != noChild {
			next, i = three, 3
		}
	case len(text) >= 2:
		if two := t.second[int(text[0])<<8|int(text[1])]; two != noChild {
			if next>>1 < t.tokens {
				best = next >> 1
			}
			next, i = two, 2
		}
	}
	for next != noChild {
		node := next >> 1
		if node < t.tokens {
			best = node
		}
		if next&1 != 0 || i >= len(text) {
			break
		}
		next = t.child(node, text[i])
		i++
	}
	return best
}

func (t *trie) bytes() int64 {
	return int64(len(t.edges))*8 + int64(len(t.second)+len(t.third)+len(t.prefix)+256)*4 + int64(len(t.length))*2
}

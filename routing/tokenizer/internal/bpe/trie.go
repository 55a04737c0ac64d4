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

// newTrie builds the trie of a vocabulary's nodes that have a text. It gives nil if
// the vocabulary is beyond its limits.
func newTrie(v *vocabulary, text func(node uint32) []byte) *trie {
	n := uint32(len(v.ids))
	t := &trie{edges: emptyEdges(1 << 16), tokens: n, root: n, nodes: n + 1, length: make([]uint16, n), prefix: make([]uint32, n)}
	for token := range n {
		b := text(token)
		if len(b) > maxLength || int(t.nodes)+len(b) > maxNodes {
			return nil
		}
		t.length[token] = uint16(len(b))
	}
	if !t.insertAll(text) {
		return nil
	}
	t.markLeaves()
	t.shortcuts()
	t.findRuns()
	return t
}

func emptyEdges(n int) []uint64 {
	edges := make([]uint64, n)
	for i := range edges {
		edges[i] = emptyEdge
	}
	return edges
}

// insertAll adds the tokens, the shorter first, and finds the tokens that they begin
// with. All nodes are inner ones at first, numbered from the root on; then rename
// gives those that are tokens their numbers. It is false if there are too many.
func (t *trie) insertAll(text func(node uint32) []byte) bool {
	owner := make([]uint32, 1, t.tokens) // of inner nodes, from root on: the token there + 1
	pairs := make([]uint32, 1<<16)       // node after two bytes, less the root; 0 is none
	for _, token := range t.byLength() {
		b := text(token)
		node, at, prefix := t.root, 0, uint32(0)
		if len(b) > 2 && pairs[int(b[0])<<8|int(b[1])] != 0 {
			first := t.child(t.root, b[0]) >> 1
			prefix = owner[first-t.root]
			node, at = t.root+pairs[int(b[0])<<8|int(b[1])], 2
		}
		for ; at < len(b); at++ {
			if here := owner[node-t.root]; here != 0 {
				prefix = here
			}
			child := t.child(node, b[at])
			if child == noChild {
				if t.nodes >= maxNodes {
					return false
				}
				child = t.nodes << 1
				t.nodes++
				owner = append(owner, 0)
				t.put(node, b[at], child)
				if at == 1 {
					pairs[int(b[0])<<8|int(b[1])] = child>>1 - t.root
				}
			}
			node = child >> 1
		}
		owner[node-t.root] = token + 1
		t.prefix[token] = prefix - 1 // goneNode if none
	}
	t.rename(owner)
	return true
}

// byLength is the tokens that have a text, the shorter first.
func (t *trie) byLength() []uint32 {
	var starts [maxLength + 2]uint32
	for _, n := range t.length {
		starts[n+1]++
	}
	for i := 1; i < len(starts); i++ {
		starts[i] += starts[i-1]
	}
	empty := starts[1]
	sorted := make([]uint32, t.tokens)
	for token, n := range t.length {
		sorted[starts[n]] = uint32(token)
		starts[n]++
	}
	return sorted[empty:]
}

// rename gives the nodes that are tokens the tokens' numbers, and the others the
// numbers from the root's on.
func (t *trie) rename(owner []uint32) {
	next := t.root
	for i, token := range owner {
		if token != 0 {
			owner[i] = token - 1
			continue
		}
		owner[i] = next
		next++
	}
	old := t.edges
	t.nodes = next
	size := 1 << 8
	for size*4 < t.count*5 {
		size *= 2
	}
	t.edges, t.count = emptyEdges(size), 0
	for _, e := range old {
		if e != emptyEdge {
			key, child := uint32(e>>32), uint32(e)>>1
			t.put(owner[key>>8-t.root], byte(key), owner[child-t.root]<<1)
		}
	}
}

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
		if uint32(e>>32) == key {
			return uint32(e)
		}
		if e == emptyEdge {
			return noChild
		}
	}
}

func (t *trie) markLeaves() {
	parents := make([]uint64, t.nodes/64+1)
	for _, e := range t.edges {
		if e != emptyEdge {
			parent := uint32(e>>32) >> 8
			parents[parent/64] |= 1 << (parent % 64)
		}
	}
	for i, e := range t.edges {
		if child := uint32(e) >> 1; e != emptyEdge && parents[child/64]>>(child%64)&1 == 0 {
			t.edges[i] |= 1
		}
	}
}

// shortcuts fills the tables of the first bytes.
func (t *trie) shortcuts() {
	t.second = make([]uint32, 1<<16)
	t.third = make([]uint32, 1<<16)
	for i := range t.second {
		t.second[i], t.third[i] = noChild, noChild
	}
	for a := range 256 {
		one := t.child(t.root, byte(a))
		if t.first[a] = one; one == noChild {
			continue
		}
		for b := range 256 {
			two := t.child(one>>1, byte(b))
			if t.second[a<<8|b] = two; two == noChild || a&0xF0 != 0xE0 || b&0xC0 != 0x80 {
				continue
			}
			for c := 0x80; c < 0xC0; c++ {
				if three := t.child(two>>1, byte(c)); three != noChild && three>>1 < t.tokens {
					t.third[a&15<<12|b&63<<6|c&63] = three
				}
			}
		}
	}
}

// runStep is how far a run of one byte leads: without it, a line of 400,000 = costs
// the walk through the 80 of Llama 3's longest such token at nearly every place.
type runStep struct {
	next uint32 // shifted, with its leaf bit
	best uint32 // longest token before it; or goneNode
}

func (t *trie) findRuns() {
	for b := range 256 {
		best := goneNode
		for next := t.first[b]; next != noChild; next = t.child(next>>1, byte(b)) {
			t.runs[b] = append(t.runs[b], runStep{next, best})
			if next>>1 < t.tokens {
				best = next >> 1
			}
		}
	}
}

// run is the step at the end of the run that text begins with, and its length.
func (t *trie) run(text []byte) (runStep, int) {
	steps := t.runs[text[0]]
	n := 1
	for n < len(steps) && n < len(text) && text[n] == text[0] {
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
	if len(text) >= 8 && binary.LittleEndian.Uint64(text) == uint64(text[0])*everyByte && next != noChild {
		step, n := t.run(text)
		next, best, i = step.next, step.best, n
	} else if len(text) >= 3 && text[0]&0xF0 == 0xE0 && text[1]&0xC0 == 0x80 && text[2]&0xC0 == 0x80 {
		if three := t.third[int(text[0]&15)<<12|int(text[1]&63)<<6|int(text[2]&63)]; three != noChild {
			next, i = three, 3
		}
	} else if len(text) >= 2 {
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

package bpe

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

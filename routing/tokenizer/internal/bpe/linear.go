package bpe

// linear encodes in time linear in the text, by the idea of GitHub's bpe crate
// (rust-gems): the tokens of a text are the only sequence in which every token is one
// that merging reaches and every two neighbours, merged alone from their symbols,
// come out as themselves. So take the longest token that may follow the one before,
// go back when there is none, and remember places from which there is no way on: how
// a place is reached is always the same.
//
// That holds for any vocabulary. Whether two tokens may be neighbours is found by
// undoing their merges along the seam, the latest first, which takes that merges
// happen in the order of their ranks. Where a token is merged from one of a higher
// rank they do not (81 tokens of Llama 3); for tokens made with such, rough ones, the
// two are merged from their symbols instead.
type linear struct {
	*trie
	rough []uint64 // bit set of nodes
}

// maxRough is the share of rough tokens, one in so many, from which a vocabulary is
// left to the heap.
const maxRough = 8

// newLinear gives nil if the vocabulary cannot do without the heap.
func newLinear(v *vocabulary, text func(node uint32) []byte) *linear {
	l := &linear{rough: make([]uint64, len(v.ids)/64+1)}
	if l.markRough(v)*maxRough > len(v.ids) {
		return nil
	}
	if l.trie = newTrie(v, text); l.trie == nil {
		return nil
	}
	return l
}

// markRough marks the nodes that are made, at whatever depth, with a node of a higher
// rank, and counts them.
func (l *linear) markRough(v *vocabulary) int {
	const unknown, smooth, rough = 0, 1, 2
	state := make([]uint8, len(v.ids))
	var visit func(node uint32) uint8
	visit = func(node uint32) uint8 {
		if state[node] != unknown {
			return state[node]
		}
		p := v.split[node]
		state[node] = smooth
		if p.left == node {
			return smooth
		}
		if p.left > node || p.right > node || visit(p.left) == rough || visit(p.right) == rough {
			state[node] = rough
		}
		return state[node]
	}
	count := 0
	for node := range uint32(len(v.ids)) {
		if visit(node) == rough {
			l.rough[node/64] |= 1 << (node % 64)
			count++
		}
	}
	return count
}

func (l *linear) isRough(node uint32) bool { return l.rough[node/64]>>(node%64)&1 != 0 }

func (l *linear) bytes() int64 {
	if l == nil {
		return 0
	}
	return l.trie.bytes() + int64(len(l.rough))*8
}

// encodeLinear appends the ids of a text all of whose characters are symbols.
func (m *merger) encodeLinear(dst []uint32, text []byte) []uint32 {
	l := m.v.linear
	m.clearDead(len(text))
	stack, dead := m.stack[:0], m.dead
	at, last := 0, goneNode
	next := l.longest(text)
	for at < len(text) {
		if last != goneNode && next != goneNode {
			next = m.firstFollowing(last, next)
		}
		if next != goneNode {
			end := at + int(l.length[next])
			if dead[end>>6]>>(end&63)&1 != 0 {
				next = l.prefix[next]
				continue
			}
			stack = append(stack, next)
			at, last = end, next
			next = l.longest(text[at:])
			continue
		}
		if last == goneNode {
			panic("BUG: a text has no tokens")
		}
		dead[at>>6] |= 1 << (at & 63)
		at -= int(l.length[last])
		next = l.prefix[last]
		stack = stack[:len(stack)-1]
		last = goneNode
		if len(stack) > 0 {
			last = stack[len(stack)-1]
		}
	}
	for _, node := range stack {
		dst = append(dst, m.v.ids[node])
	}
	m.stack = stack
	return dst
}

func (m *merger) clearDead(n int) {
	words := n>>6 + 1
	if cap(m.dead) < words {
		m.dead = make([]uint64, words)
		return
	}
	m.dead = m.dead[:words]
	clear(m.dead)
}

// firstFollowing is the longest token that may follow last, of next and the tokens
// that it begins with; or goneNode. It is remembered for all of them at once: in a run
// of one character a hundred may have to be tried at every place.
func (m *merger) firstFollowing(last, next uint32) uint32 {
	key := uint64(last)<<nodeBits | uint64(next)
	slot := &m.follows[key*mixA>>(64-followBits)]
	if *slot>>nodeBits == key+1 {
		return fromNodeBits(*slot)
	}
	for try := next; ; try = m.v.linear.prefix[try] {
		if try == goneNode || m.mayFollow(last, try) {
			*slot = (key+1)<<nodeBits | uint64(try)&nodeMask
			return try
		}
	}
}

// fromNodeBits is a node kept in nodeBits, in which goneNode is all ones.
func fromNodeBits(bits uint64) uint32 {
	if bits&nodeMask == nodeMask {
		return goneNode
	}
	return uint32(bits & nodeMask)
}

// mayFollow says whether two tokens, merged together from their symbols, come out as
// themselves.
func (m *merger) mayFollow(left, right uint32) bool {
	if l := m.v.linear; l.isRough(left) || l.isRough(right) {
		return m.comeOut(left, right)
	}
	return m.v.undo(left, right)
}

// undo goes back in time along the seam of two tokens. Left and right are what
// touches it; limit is the rank before which a merge across would have come first: a
// merge of the left one comes before one across of the same rank, which is to the
// right of it, and one across before one of the right one.
func (v *vocabulary) undo(left, right uint32) bool {
	limit := noRank
	for {
		if v.pairs.get(left, right) < limit {
			return false
		}
		if left > right {
			if v.split[left].left == left {
				return true
			}
			limit, left = left, v.split[left].right
		} else {
			if v.split[right].left == right {
				return true
			}
			limit, right = right+1, v.split[right].left
		}
	}
}

// comeOut merges two tokens from their symbols.
func (m *merger) comeOut(left, right uint32) bool {
	m.nodes = m.v.symbolsOf(m.v.symbolsOf(m.nodes[:0], left), right)
	nodes := m.heap.merge(&m.v.rules, m.nodes, 1)
	return len(nodes) == 2 && nodes[0] == left && nodes[1] == right
}

// symbolsOf appends the symbols that a node is merged from.
func (v *vocabulary) symbolsOf(dst []uint32, node uint32) []uint32 {
	p := v.split[node]
	if p.left == node {
		return append(dst, node)
	}
	return v.symbolsOf(v.symbolsOf(dst, p.left), p.right)
}

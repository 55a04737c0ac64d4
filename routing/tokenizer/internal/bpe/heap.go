package bpe

// heapMerger merges long runs of symbols in O(n log n).
type heapMerger struct {
	symbols []symbol
	queue   []candidate
}

// symbol is a node in a doubly linked list over the places of the run.
type symbol struct {
	node           uint32
	previous, next int32 // -1 at the ends
}

// candidate is a pair that may be merged: rank, then place, so that of equal ranks
// the leftmost comes first. It is stale when its rank is no longer that of its place.
type candidate uint64

const goneNode = ^uint32(0)

// merge merges nodes, in place, until no more than a number of them are left or
// none merge.
func (h *heapMerger) merge(r *rules, nodes []uint32, until int) []uint32 {
	h.start(r, nodes)
	for count := len(nodes); len(h.queue) > 0 && count > until; {
		top := h.pop()
		rank, at := uint32(top>>32), int32(uint32(top))
		s := &h.symbols[at]
		if s.node == goneNode || s.next < 0 {
			continue
		}
		next := &h.symbols[s.next]
		if r.pairs.get(s.node, next.node) != rank {
			continue
		}
		count--
		s.node = r.node(rank)
		s.next, next.node = next.next, goneNode
		if s.next >= 0 {
			h.symbols[s.next].previous = at
			h.offer(r, at, s.next)
		}
		if s.previous >= 0 {
			h.offer(r, s.previous, at)
		}
	}
	left := nodes[:0]
	for i := range h.symbols {
		if h.symbols[i].node != goneNode {
			left = append(left, h.symbols[i].node)
		}
	}
	return left
}

func (h *heapMerger) start(r *rules, nodes []uint32) {
	h.symbols, h.queue = h.symbols[:0], h.queue[:0]
	for i, node := range nodes {
		h.symbols = append(h.symbols, symbol{node: node, previous: int32(i) - 1, next: int32(i) + 1})
	}
	if len(nodes) > 0 {
		h.symbols[len(nodes)-1].next = -1
	}
	for i := range len(nodes) - 1 {
		h.offer(r, int32(i), int32(i)+1)
	}
}

func (h *heapMerger) offer(r *rules, at, next int32) {
	rank := r.pairs.get(h.symbols[at].node, h.symbols[next].node)
	if rank == noRank {
		return
	}
	h.queue = append(h.queue, candidate(rank)<<32|candidate(at))
	queue := h.queue
	for i := len(queue) - 1; i > 0; {
		parent := (i - 1) / 2
		if queue[parent] <= queue[i] {
			return
		}
		queue[parent], queue[i] = queue[i], queue[parent]
		i = parent
	}
}

func (h *heapMerger) pop() candidate {
	queue := h.queue
	top := queue[0]
	last := len(queue) - 1
	queue[0] = queue[last]
	queue = queue[:last]
	h.queue = queue
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return top
		}
		if child+1 < last && queue[child+1] < queue[child] {
			child++
		}
		if queue[i] <= queue[child] {
			return top
		}
		queue[i], queue[child] = queue[child], queue[i]
		i = child
	}
}

// keptScratch is the number of symbols whose scratch memory a worker keeps between
// pieces; what a larger piece needed is given back.
const keptScratch = 1 << 16

func (h *heapMerger) release() {
	if cap(h.symbols) > keptScratch {
		h.symbols = nil
	}
	if cap(h.queue) > 2*keptScratch {
		h.queue = nil
	}
}

package bpe

import "fmt"

// vocabulary is a Spec made ready for merging. Its nodes are the symbols that text
// begins as, then the tokens that merging can reach, in the order of the merges that
// make them.
//
// Only one merge can ever make a token: when two neighbours merge, the text they
// cover was merged as if it stood alone up to then, so they are the last pair that
// merging that text alone arrives at. All other merges of the token never happen and
// are left out (more than half of Llama 3's), and a merge's rank can be the node it
// makes.
type vocabulary struct {
	rules
	ids   []uint32 // of a node
	split []pair   // of a node: what it is merged from; itself twice for a symbol

	// byteRanks is the ranks of all two bytes, where the first 256 nodes are the bytes;
	// they are a third of all that merging a short piece looks up.
	byteRanks []uint32

	linear *linear // nil where only the heap is exact
	seams  *seams
}

type pair struct{ left, right uint32 }

func (v *vocabulary) bytes() int64 {
	return v.rules.bytes() + int64(len(v.ids)+len(v.byteRanks))*4 + int64(len(v.split))*8 + v.linear.bytes() + v.seams.bytes()
}

// builder makes a vocabulary; its raw rules are over places in the dictionary.
type builder struct {
	*dictionary
	raw   rules
	ranks int // number of ranks, used or not
	parts []part
	nodes []uint32
	heap  heapMerger

	scratch []uint32
}

// newBuilder reads the merges of a Spec.
func newBuilder(s *Spec) (*builder, error) {
	d, err := newDictionary(s)
	if err != nil {
		return nil, err
	}
	b := &builder{dictionary: d}
	if s.Ranks {
		return b, b.readRanks()
	}
	return b, b.readMerges()
}

func (b *builder) readMerges() error {
	b.ranks = len(b.spec.Merges)
	b.raw.pairs = newPairTable(b.ranks)
	b.raw.into = make([]uint32, b.ranks)
	for rank, m := range b.spec.Merges {
		left, right, into, err := b.merge(m)
		if err != nil {
			return err
		}
		b.raw.pairs.put(left, right, uint32(rank))
		b.raw.into[rank] = into
	}
	return nil
}

// readRanks prepares for the merges of a tiktoken vocabulary: every two tokens that
// spell a third merge, at the rank that is its id. lastPair finds those that matter.
func (b *builder) readRanks() error {
	b.ranks = len(b.byID)
	if b.ranks > maxMerges {
		return fmt.Errorf("cannot take %d as a rank: more than %d", b.ranks-1, maxMerges)
	}
	b.raw.pairs = newPairTable(len(b.spec.Tokens))
	b.raw.into = make([]uint32, b.ranks)
	for place := range b.spec.Tokens {
		b.raw.into[b.spec.Tokens[place].ID] = uint32(place)
	}
	return nil
}

// lastPair is what a token is merged from last, when symbols, as places, are what its
// text begins as; ok is false when merging does not lead to the token.
func (b *builder) lastPair(place uint32, symbols []uint32) (last pair, rank uint32, ok bool) {
	if len(symbols) <= maxShort {
		b.parts = b.parts[:0]
		for _, s := range symbols {
			b.parts = append(b.parts, part{node: s})
		}
		parts := b.raw.mergeShort(b.parts, 2)
		if len(parts) != 2 {
			return pair{}, 0, false
		}
		last = pair{parts[0].node, parts[1].node}
	} else {
		nodes := b.heap.merge(&b.raw, symbols, 2)
		if len(nodes) != 2 {
			return pair{}, 0, false
		}
		last = pair{nodes[0], nodes[1]}
	}
	rank = b.raw.pairs.get(last.left, last.right)
	return last, rank, rank != noRank && b.raw.into[rank] == place
}

// lastRanked is lastPair for ranks. It has to be asked for the tokens by ascending
// id: the merges of tokens with lower ids are known then, and unless they get stuck,
// they are all that happen before.
func (b *builder) lastRanked(place uint32, symbols []uint32) (last pair, rank uint32, ok bool) {
	nodes := append(b.scratch[:0], symbols...)
	if len(nodes) <= maxShort {
		b.parts = b.parts[:0]
		for _, s := range symbols {
			b.parts = append(b.parts, part{node: s})
		}
		nodes = nodes[:0]
		for _, p := range b.raw.mergeShort(b.parts, 2) {
			nodes = append(nodes, p.node)
		}
	} else {
		nodes = b.heap.merge(&b.raw, nodes, 2)
	}
	b.scratch = nodes
	if len(nodes) == 2 {
		last, ok = pair{nodes[0], nodes[1]}, true
	} else {
		last, ok = b.lastByText(b.text(place))
	}
	rank = b.spec.Tokens[place].ID
	if ok {
		b.raw.pairs.put(last.left, last.right, rank)
	}
	return last, rank, ok
}

// span is a part of a token that is merged by its text.
type span struct {
	rank uint32 // id of what it spells with the next span; noRank if no token
	from int
}

// lastByText merges a token as tiktoken does.
func (b *builder) lastByText(text []byte) (pair, bool) {
	spans := make([]span, len(text), len(text)+2)
	for i := range spans {
		spans[i].from = i
	}
	end := func(i int) int {
		if i < len(spans) {
			return spans[i].from
		}
		return len(text)
	}
	update := func(i int) {
		spans[i].rank = noRank
		if i+1 < len(spans) {
			if place, ok := b.find(text[spans[i].from:end(i+2)]); ok {
				spans[i].rank = b.spec.Tokens[place].ID
			}
		}
	}
	for i := range spans {
		update(i)
	}
	for len(spans) > 2 {
		at := 0
		for i := range spans {
			if spans[i].rank < spans[at].rank {
				at = i
			}
		}
		if spans[at].rank == noRank {
			return pair{}, false
		}
		spans = append(spans[:at+1], spans[at+2:]...)
		update(at)
		if at > 0 {
			update(at - 1)
		}
	}
	left, _ := b.find(text[:end(1)])
	right, _ := b.find(text[end(1):])
	return pair{left, right}, true
}

// build makes the vocabulary whose first nodes are symbols (places); extra are ids of
// symbols that no merge knows. It also gives the node of each place, or goneNode.
func (b *builder) build(symbols, extra []uint32, begin func(dst []uint32, text []byte) ([]uint32, bool)) (*vocabulary, []uint32) {
	nodeOf := make([]uint32, len(b.spec.Tokens))
	for i := range nodeOf {
		nodeOf[i] = goneNode
	}
	v := &vocabulary{}
	for i, place := range symbols {
		nodeOf[place] = uint32(i)
		v.symbol(b.spec.Tokens[place].ID)
	}
	for _, id := range extra {
		v.symbol(id)
	}
	made := make([]uint32, b.ranks) // by rank: place+1
	lasts := make([]pair, len(b.spec.Tokens))
	reached := 0
	lastOf := b.lastPair
	if b.spec.Ranks {
		lastOf = b.lastRanked
	}
	for _, entry := range b.byID {
		place := entry - 1
		if entry == 0 || nodeOf[place] != goneNode {
			continue
		}
		var ok bool
		if b.nodes, ok = begin(b.nodes[:0], b.text(place)); !ok {
			continue
		}
		last, rank, ok := lastOf(place, b.nodes)
		if ok {
			made[rank], lasts[place] = place+1, last
			reached++
		}
	}
	v.pairs = newPairTable(reached)
	v.number(b, made, nodeOf)
	v.join(made, nodeOf, lasts)
	text := b.textOf(len(v.ids), nodeOf)
	v.linear = newLinear(v, text)
	v.seams = newSeams(v, text)
	return v, nodeOf
}

// textOf finds the text of a node; extra symbols have none.
func (b *builder) textOf(nodes int, nodeOf []uint32) func(node uint32) []byte {
	places := make([]uint32, nodes) // place+1
	for place, node := range nodeOf {
		if node != goneNode {
			places[node] = uint32(place) + 1
		}
	}
	return func(node uint32) []byte {
		if places[node] == 0 {
			return nil
		}
		return b.text(places[node] - 1)
	}
}

func (v *vocabulary) rankBytes() {
	v.byteRanks = make([]uint32, 1<<16)
	for i := range v.byteRanks {
		v.byteRanks[i] = v.pairs.get(uint32(i>>8), uint32(i&255))
	}
}

func (v *vocabulary) symbol(id uint32) {
	node := uint32(len(v.ids))
	v.ids = append(v.ids, id)
	v.split = append(v.split, pair{node, node})
}

// number gives nodes to the tokens in the order of the ranks that make them.
func (v *vocabulary) number(b *builder, made, nodeOf []uint32) {
	for _, entry := range made {
		if entry != 0 {
			nodeOf[entry-1] = uint32(len(v.ids))
			v.ids = append(v.ids, b.spec.Tokens[entry-1].ID)
		}
	}
}

func (v *vocabulary) join(made, nodeOf []uint32, lasts []pair) {
	for _, entry := range made {
		if entry == 0 {
			continue
		}
		node := nodeOf[entry-1]
		last := lasts[entry-1]
		left, right := nodeOf[last.left], nodeOf[last.right]
		v.split = append(v.split, pair{left, right})
		v.pairs.put(left, right, node)
	}
}

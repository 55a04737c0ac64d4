package bpe

// builder makes a vocabulary; its raw rules are over places in the dictionary.
type builder struct {
	*dictionary
	raw   rules
	ranks int // number of ranks, used or not
	parts []part
	nodes []uint32
	heap  heapMerger
}

// newBuilder reads the merges of a Spec.
func newBuilder(s *Spec) (*builder, error) {
	d, err := newDictionary(s)
	if err != nil {
		return nil, err
	}
	b := &builder{dictionary: d}
	if s.Ranks {
		err = b.readRanks()
	} else {
		err = b.readMerges()
	}
	return b, err
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

// lastPair is what a token is merged from last, when symbols, as places, are what its
// text begins as; ok is false when merging does not lead to the token.
func (b *builder) lastPair(place uint32, symbols []uint32) (last pair, rank uint32, ok bool) {
	last, ok = b.lastTwo(symbols)
	if !ok {
		return pair{}, 0, false
	}
	rank = b.raw.pairs.get(last.left, last.right)
	return last, rank, rank != noRank && b.raw.into[rank] == place
}

// lastTwo merges symbols, and says whether two are left at last.
func (b *builder) lastTwo(symbols []uint32) (last pair, ok bool) {
	if len(symbols) > maxShort {
		nodes := b.heap.merge(&b.raw, symbols, 2)
		if len(nodes) != 2 {
			return pair{}, false
		}
		return pair{nodes[0], nodes[1]}, true
	}
	b.parts = b.parts[:0]
	for _, s := range symbols {
		b.parts = append(b.parts, part{node: s})
	}
	parts := b.raw.mergeShort(b.parts, 2)
	if len(parts) != 2 {
		return pair{}, false
	}
	return pair{parts[0].node, parts[1].node}, true
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

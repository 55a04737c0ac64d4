package bpe

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

package bpe

// rules is the merge table: which neighbours merge, in which order, into what.
type rules struct {
	pairs pairTable
	into  []uint32 // node of a rank; nil where ranks are the nodes themselves
}

func (r *rules) node(rank uint32) uint32 {
	if r.into == nil {
		return rank
	}
	return r.into[rank]
}

func (r *rules) bytes() int64 { return r.pairs.bytes() + int64(len(r.into))*4 }

// part is one symbol of a piece being merged.
type part struct {
	rank uint32 // of merging it with the next part; noRank if they do not merge
	node uint32
}

// Numbers of symbols up to which scanning is faster than the linear encoder.
const (
	shortBytes      = 10
	shortCharacters = 12
)

// maxShort is the number of symbols up to which scanning for the best pair is
// cheaper than a heap.
const maxShort = 64

// mergeShort merges parts, whose nodes are set, by scanning for the lowest rank,
// leftmost first, until no more than a number of them are left or none merge.
func (r *rules) mergeShort(parts []part, until int) []part {
	for i := range len(parts) - 1 {
		parts[i].rank = r.pairs.get(parts[i].node, parts[i+1].node)
	}
	return r.mergeRanked(parts, until)
}

// mergeRanked is mergeShort when all ranks but the last, which has none, are set.
func (r *rules) mergeRanked(parts []part, until int) []part {
	if len(parts) == 0 {
		return parts
	}
	parts[len(parts)-1].rank = noRank
	for len(parts) > until {
		best, at := noRank, 0
		for i := range parts {
			if parts[i].rank < best {
				best, at = parts[i].rank, i
			}
		}
		if best == noRank {
			break
		}
		parts[at].node = r.node(best)
		copy(parts[at+1:], parts[at+2:])
		parts = parts[:len(parts)-1]
		parts[at].rank = noRank
		if at+1 < len(parts) {
			parts[at].rank = r.pairs.get(parts[at].node, parts[at+1].node)
		}
		if at > 0 {
			parts[at-1].rank = r.pairs.get(parts[at-1].node, parts[at].node)
		}
	}
	return parts
}

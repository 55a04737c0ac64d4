package bpe

import "fmt"

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

// lastRanked is lastPair for ranks. It has to be asked for the tokens by ascending
// id: the merges of tokens with lower ids are known then, and unless they get stuck,
// they are all that happen before.
func (b *builder) lastRanked(place uint32, symbols []uint32) (last pair, rank uint32, ok bool) {
	if last, ok = b.lastTwo(symbols); !ok {
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

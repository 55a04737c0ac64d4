package bpe

import (
	"bytes"
	"fmt"
)

// Token is one ordinary entry of a vocabulary. Bytes are the bytes it stands for
// (byte-level notation undone, ▁ left as it is; a byte token of NewCharacters is its
// text, <0x0A>).
type Token struct {
	Bytes []byte
	ID    uint32
}

// Merge joins two tokens into a third; a Spec lists merges from the first to be
// applied to the last.
type Merge struct{ Left, Right, Into uint32 }

// NoToken in Spec.Bytes says that a byte has no token.
const NoToken = ^uint32(0)

// Spec is a vocabulary as a file gives it. The tables copy what they need of it.
type Spec struct {
	Tokens       []Token
	Merges       []Merge // nil with Ranks; of two merges of one pair the later counts
	IgnoreMerges bool    // a whole piece that is a token is that token, without merging
	Ranks        bool    // tiktoken: the pair whose bytes have the lowest id merges first; implies IgnoreMerges

	// For NewCharacters only.
	ByteFallback bool // characters without a token become <0xNN> tokens, if all their bytes have one
	Bytes        [256]uint32
	HasUnknown   bool // without, characters without a token vanish
	Unknown      uint32
	FuseUnknown  bool // neighbouring unknowns become one
}

// Limits of a vocabulary: what the fields of a pair table's entry hold, and an id
// that no model comes near.
const (
	maxTokens = 1<<nodeBits - 512
	maxMerges = 1<<rankBits - 1
	maxID     = 1 << 24
)

// dictionary finds the tokens of a Spec by id and by text while tables are built.
// Tokens are numbered by their place in Spec.Tokens.
type dictionary struct {
	spec  *Spec
	byID  []uint32 // place+1
	slots []uint32 // place+1, open addressing by hash of the text
}

// newDictionary checks that texts and ids are distinct and within limits.
func newDictionary(s *Spec) (*dictionary, error) {
	if len(s.Tokens) > maxTokens || len(s.Merges) > maxMerges {
		return nil, fmt.Errorf("cannot hold %d tokens and %d merges: more than %d and %d",
			len(s.Tokens), len(s.Merges), maxTokens, maxMerges)
	}
	highest := uint32(0)
	for i := range s.Tokens {
		highest = max(highest, s.Tokens[i].ID)
	}
	if highest >= maxID {
		return nil, fmt.Errorf("cannot take id %d: %d or more", highest, maxID)
	}
	d := &dictionary{
		spec:  s,
		byID:  make([]uint32, highest+1),
		slots: make([]uint32, tableSize(len(s.Tokens))),
	}
	for i := range s.Tokens {
		if err := d.add(uint32(i)); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (d *dictionary) add(place uint32) error {
	t := &d.spec.Tokens[place]
	if len(t.Bytes) == 0 {
		return fmt.Errorf("cannot take token %d: it is empty", t.ID)
	}
	if other := d.byID[t.ID]; other != 0 {
		return fmt.Errorf("cannot take token %q: its id %d is that of %q", t.Bytes, t.ID, d.spec.Tokens[other-1].Bytes)
	}
	d.byID[t.ID] = place + 1
	mask := len(d.slots) - 1
	for i := int(hashText(t.Bytes)) & mask; ; i = (i + 1) & mask {
		other := d.slots[i]
		if other == 0 {
			d.slots[i] = place + 1
			return nil
		}
		if bytes.Equal(d.spec.Tokens[other-1].Bytes, t.Bytes) {
			return fmt.Errorf("cannot take token %d: its text %q is that of token %d", t.ID, t.Bytes, d.spec.Tokens[other-1].ID)
		}
	}
}

// find is the place of the token with a text.
func (d *dictionary) find(text []byte) (uint32, bool) {
	mask := len(d.slots) - 1
	for i := int(hashText(text)) & mask; ; i = (i + 1) & mask {
		place := d.slots[i]
		if place == 0 {
			return 0, false
		}
		if bytes.Equal(d.spec.Tokens[place-1].Bytes, text) {
			return place - 1, true
		}
	}
}

// place is the place of the token with an id.
func (d *dictionary) place(id uint32) (uint32, bool) {
	if int(id) >= len(d.byID) || d.byID[id] == 0 {
		return 0, false
	}
	return d.byID[id] - 1, true
}

func (d *dictionary) text(place uint32) []byte { return d.spec.Tokens[place].Bytes }

// merge is the places that a merge of the Spec names; Into must be what the other
// two spell together.
func (d *dictionary) merge(m Merge) (left, right, into uint32, err error) {
	left, okLeft := d.place(m.Left)
	right, okRight := d.place(m.Right)
	into, okInto := d.place(m.Into)
	if !okLeft || !okRight || !okInto {
		return 0, 0, 0, fmt.Errorf("cannot merge %d and %d into %d: not all are tokens", m.Left, m.Right, m.Into)
	}
	l, r, t := d.text(left), d.text(right), d.text(into)
	if len(l)+len(r) != len(t) || !bytes.Equal(t[:len(l)], l) || !bytes.Equal(t[len(l):], r) {
		return 0, 0, 0, fmt.Errorf("cannot merge %q and %q into %q: that is not their concatenation", l, r, t)
	}
	return left, right, into, nil
}

// tableSize is a power of two for open addressing of n entries, at most 2/3 full.
func tableSize(n int) int {
	size := 8
	for size*2 < n*3 {
		size *= 2
	}
	return size
}

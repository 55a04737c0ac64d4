package bpe

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Characters merges the characters of whole texts, in which spaces are ▁ already or
// are to be read as such (Spec of Llama 2, Mistral v1 to v3, Gemma). It is immutable.
type Characters struct {
	vocabulary *vocabulary
	runes      *runeTable
	fallback   [256]uint32 // node of a byte; goneNode without
	unknown    uint32      // its node; goneNode without
	fuse       bool        // neighbouring unknowns become one
	ignore     bool        // a whole text that is a token is that token
	complete   bool        // all bytes have a token: there are no unknown characters
	vanish     bool        // unknown characters leave no trace
	whole      wholeTable
}

// NewCharacters builds the tables, and finds at load where a text may be cut into
// independent pieces (before a run of ▁, unless a token holds one after the
// character before, and wherever else no token joins two characters).
func NewCharacters(s *Spec) (*Characters, error) {
	if s.Ranks {
		return nil, errors.New("cannot merge characters by ranks")
	}
	b, err := newBuilder(s)
	if err != nil {
		return nil, err
	}
	if _, ok := b.place(s.Unknown); s.HasUnknown && !ok {
		return nil, fmt.Errorf("cannot take %d as the unknown token: it is none", s.Unknown)
	}
	c := &Characters{runes: newRuneTable(), unknown: goneNode, fuse: s.FuseUnknown, ignore: s.IgnoreMerges}
	for i := range c.fallback {
		c.fallback[i] = goneNode
	}
	if entangled(b) {
		c.buildEntangled(b)
	} else {
		c.build(b)
	}
	c.complete = !slices.Contains(c.fallback[:], goneNode)
	c.vanish = !c.complete && !s.HasUnknown
	return c, nil
}

// byteToken is the place of the token that byte i falls back to.
func byteToken(b *builder, i int) (uint32, bool) {
	place, ok := b.place(b.spec.Bytes[i])
	return place, b.spec.ByteFallback && ok && string(b.text(place)) == fmt.Sprintf("<0x%02X>", i)
}

// single is the character that a text is, if it is one.
func single(text []byte) (rune, bool) {
	r, n := utf8.DecodeRune(text)
	return r, n == len(text) && (r != utf8.RuneError || n > 1)
}

func (c *Characters) build(b *builder) {
	var symbols, extra []uint32
	places := newRuneTable()
	for i := range b.spec.Tokens {
		if r, ok := single(b.text(uint32(i))); ok {
			places.put(r, uint32(i))
			c.runes.put(r, uint32(len(symbols)))
			symbols = append(symbols, uint32(i))
		}
	}
	node := func(id uint32) uint32 {
		extra = append(extra, id)
		return uint32(len(symbols) + len(extra) - 1)
	}
	for i := range 256 {
		if place, ok := byteToken(b, i); ok {
			c.fallback[i] = node(b.spec.Tokens[place].ID)
		}
	}
	if b.spec.HasUnknown {
		c.unknown = node(b.spec.Unknown)
	}
	var nodeOf []uint32
	c.vocabulary, nodeOf = b.build(symbols, extra, func(dst []uint32, text []byte) ([]uint32, bool) {
		for len(text) > 0 {
			r, n := utf8.DecodeRune(text)
			place := places.get(r)
			if place == goneNode || r == utf8.RuneError && n == 1 {
				return dst, false
			}
			dst = append(dst, place)
			text = text[n:]
		}
		return dst, true
	})
	c.whole = newWholeTable(b.dictionary, nodeOf, b.spec.IgnoreMerges)
}

// Bytes is the memory of the tables.
func (c *Characters) Bytes() int64 {
	return c.vocabulary.bytes() + c.runes.bytes() + c.whole.bytes()
}

// wholeText is the token of a whole text, with ignore_merges.
func (c *Characters) wholeText(text []byte) (uint32, bool) {
	if !c.ignore {
		return 0, false
	}
	if len(text) > 16 {
		return c.whole.long.get(text, hashText(text))
	}
	a, b := words(text, 0, uint(len(text)))
	id, _, ok := c.whole.get(a, b, len(text), hashWords(a, b, len(text)))
	return id, ok
}

// fallsBack says whether all bytes of a character have a token.
func (c *Characters) fallsBack(character []byte) bool {
	for _, b := range character {
		if c.fallback[b] == goneNode {
			return false
		}
	}
	return true
}

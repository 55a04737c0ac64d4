package bpe

import (
	"fmt"
	"unicode/utf8"
)

// Characters merges the characters of whole texts, in which spaces are ▁ already or
// are to be read as such (Spec of Llama 2, Mistral v1 to v3, Gemma). It is immutable.
type Characters struct {
	vocabulary *vocabulary
	runes      *runeTable
	fallback   [256]uint32 // node of a byte; goneNode without
	unknown    uint32      // its node; goneNode without
	fuse       bool
	whole      wholeTable // with ignore_merges: all tokens
	ignore     bool
}

// NewCharacters builds the tables, and finds at load where a text may be cut into
// independent pieces (before a run of ▁, unless a token holds one after the
// character before).
func NewCharacters(s *Spec) (*Characters, error) {
	if s.Ranks {
		return nil, fmt.Errorf("cannot merge characters by ranks")
	}
	b, err := newBuilder(s)
	if err != nil {
		return nil, err
	}
	c := &Characters{runes: newRuneTable(), unknown: goneNode, fuse: s.FuseUnknown, ignore: s.IgnoreMerges}
	for i := range c.fallback {
		c.fallback[i] = goneNode
	}
	if err := c.checkExtra(b); err != nil {
		return nil, err
	}
	if c.entangled(b) {
		c.buildEntangled(b)
	} else {
		c.build(b)
	}
	return c, nil
}

// byteToken is the place of the token that byte i falls back to.
func byteToken(b *builder, i int) (uint32, bool) {
	place, ok := b.place(b.spec.Bytes[i])
	return place, b.spec.ByteFallback && ok && string(b.text(place)) == fmt.Sprintf("<0x%02X>", i)
}

func (c *Characters) checkExtra(b *builder) error {
	if _, ok := b.place(b.spec.Unknown); b.spec.HasUnknown && !ok {
		return fmt.Errorf("cannot take %d as the unknown token: it is none", b.spec.Unknown)
	}
	return nil
}

// entangled says that byte tokens or the unknown token can be merged, so that a token
// does not always come of the same symbols.
func (c *Characters) entangled(b *builder) bool {
	special := map[uint32]bool{}
	for i := range 256 {
		if place, ok := byteToken(b, i); ok {
			special[b.spec.Tokens[place].ID] = true
		}
	}
	if b.spec.HasUnknown {
		special[b.spec.Unknown] = true
	}
	for _, m := range b.spec.Merges {
		if special[m.Left] || special[m.Right] {
			return true
		}
	}
	return false
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

// buildEntangled keeps the rules as the file has them.
func (c *Characters) buildEntangled(b *builder) {
	v := &vocabulary{rules: b.raw}
	for i := range b.spec.Tokens {
		place := uint32(i)
		v.ids = append(v.ids, b.spec.Tokens[place].ID)
		if r, ok := single(b.text(place)); ok {
			c.runes.put(r, place)
		}
	}
	for i := range 256 {
		if place, ok := byteToken(b, i); ok {
			c.fallback[i] = place
		}
	}
	if b.spec.HasUnknown {
		c.unknown, _ = b.place(b.spec.Unknown)
	}
	c.vocabulary = v
	c.whole = newWholeTable(b.dictionary, make([]uint32, len(b.spec.Tokens)), true)
}

// Bytes is the memory of the tables.
func (c *Characters) Bytes() int64 {
	return c.vocabulary.bytes() + c.runes.bytes() + c.whole.bytes()
}

// NewWorker makes the scratch memory and piece cache of one user.
func (c *Characters) NewWorker() *CharWorker {
	return &CharWorker{tables: c, merger: newMerger(c.vocabulary)}
}

// CharWorker encodes texts; for one goroutine at a time.
type CharWorker struct {
	// Expired, when set, is asked every few hundred pieces; Append stops when it
	// says true, with ok false.
	Expired func() bool

	tables *Characters
	merger merger
}

// Append encodes normalised text (spaces already written as ▁) and appends to dst.
func (w *CharWorker) Append(dst []uint32, text []byte) (ids []uint32, ok bool) {
	if len(text) == 0 {
		return dst, true
	}
	c := w.tables
	if c.ignore {
		if id, ok := c.wholeText(text); ok {
			return append(dst, id), true
		}
	}
	w.merger.nodes = c.begin(w.merger.nodes[:0], text)
	return w.merger.mergeNodes(dst), true
}

func (c *Characters) wholeText(text []byte) (uint32, bool) {
	if len(text) > 16 {
		return c.whole.long.get(text)
	}
	a, b := words(text, 0, len(text))
	id, _, ok := c.whole.get(a, b, len(text), hashWords(a, b, len(text)))
	return id, ok
}

// begin appends the symbols that a text begins as. Like Hugging Face's, it lets byte
// tokens overtake an unknown character before them, whose token waits for the next
// character that is not known or is a token itself.
func (c *Characters) begin(dst []uint32, text []byte) []uint32 {
	waiting := false
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		node := c.runes.get(r)
		switch {
		case node != goneNode:
			if waiting {
				dst = append(dst, c.unknown)
			}
			waiting = false
			dst = append(dst, node)
		case c.fallsBack(text[i : i+n]):
			for _, b := range text[i : i+n] {
				dst = append(dst, c.fallback[b])
			}
		case c.unknown != goneNode:
			if waiting && !c.fuse {
				dst = append(dst, c.unknown)
			}
			waiting = true
		}
		i += n
	}
	if waiting {
		dst = append(dst, c.unknown)
	}
	return dst
}

func (c *Characters) fallsBack(character []byte) bool {
	for _, b := range character {
		if c.fallback[b] == goneNode {
			return false
		}
	}
	return true
}

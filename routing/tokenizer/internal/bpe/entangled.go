package bpe

import "unicode/utf8"

// entangled says that byte tokens or the unknown token can be merged, so that a token
// does not always come of the same symbols, and that the rules have to stay as the
// file has them. No model that we know is like that.
func entangled(b *builder) bool {
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

// appendEntangled merges a whole text by the heap.
func (w *CharWorker) appendEntangled(dst []uint32, text []byte) []uint32 {
	w.merger.nodes = w.tables.begin(w.merger.nodes[:0], text)
	dst = w.merger.mergeNodes(dst)
	w.merger.release()
	return dst
}

// begin appends the symbols that a text begins as; see CharWorker.waiting.
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

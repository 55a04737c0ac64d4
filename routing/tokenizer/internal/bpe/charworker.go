package bpe

import "unicode/utf8"

// CharWorker encodes texts; for one goroutine at a time.
type CharWorker struct {
	// Expired, when set, is asked every few hundred pieces; Append stops when it
	// says true, with ok false.
	Expired func() bool

	tables *Characters
	merger merger

	cache     *pieceCache
	longCache *longCache

	// waiting is an unknown character, or several fused, whose token is not written
	// yet. Like Hugging Face's, byte tokens overtake it: it is written before the next
	// token that is of a known character, the next unknown one, or at the end.
	waiting bool

	kept []byte // a text without the characters that vanish
}

// NewWorker makes the scratch memory and piece cache of one user.
func (c *Characters) NewWorker() *CharWorker {
	return &CharWorker{tables: c, merger: newMerger(c.vocabulary), cache: new(pieceCache), longCache: new(longCache)}
}

// piecesBetween is the number of pieces after which Expired is asked again.
const piecesBetween = 256

// Append encodes normalised text (spaces already written as ▁) and appends to dst.
func (w *CharWorker) Append(dst []uint32, text []byte) (ids []uint32, ok bool) {
	if len(text) == 0 {
		return dst, true
	}
	if id, ok := w.tables.wholeText(text); ok {
		return append(dst, id), true
	}
	if w.tables.vocabulary.seams == nil {
		return w.appendEntangled(dst, text), true
	}
	if w.tables.vanish {
		text = w.withoutVanishing(text)
		if len(text) == 0 {
			return dst, true
		}
	}
	w.waiting = false
	seams := w.tables.vocabulary.seams
	before, n := utf8.DecodeRune(text)
	start, pieces := 0, 0
	for at := n; at < len(text); at += n {
		var after rune
		switch after, n = rune(text[at]), 1; {
		case after < utf8.RuneSelf:
		case after == 0xE2 && at+2 < len(text) && text[at+1] == 0x96 && text[at+2] == 0x81:
			after, n = '▁', 3
		default:
			after, n = utf8.DecodeRune(text[at:])
		}
		if seams.joined(before, after) {
			before = after
			continue
		}
		before = after
		dst = w.piece(dst, text, start, at)
		start = at
		if pieces++; pieces%piecesBetween == 0 && w.Expired != nil && w.Expired() {
			return dst, false
		}
	}
	return w.flush(w.piece(dst, text, start, len(text))), true
}

// flush writes the unknown token that waits.
func (w *CharWorker) flush(dst []uint32) []uint32 {
	if w.waiting {
		w.waiting = false
		dst = append(dst, w.tables.vocabulary.ids[w.tables.unknown])
	}
	return dst
}

// piece encodes text[from:end], at whose ends nothing merges.
func (w *CharWorker) piece(dst []uint32, text []byte, from, end int) []uint32 {
	n := end - from
	if n > 16 {
		return w.long(dst, text[from:end])
	}
	a, b := words(text, from, uint(n))
	hash := hashWords(a, b, n)
	if id, kind, ok := w.tables.whole.get(a, b, n, hash); ok && kind == reached {
		return append(w.flush(dst), id)
	}
	e := w.cache.entry(hash)
	if e.is(a, b, n) {
		return append(w.flush(dst), e.ids[:e.count]...)
	}
	if !w.tables.complete && w.known(text[from:end]) < n {
		return w.merge(dst, text[from:end])
	}
	dst = w.flush(dst)
	start := len(dst)
	dst = w.merge(dst, text[from:end])
	e.put(a, b, n, dst[start:])
	return dst
}

// long encodes a piece of more than 16 bytes.
func (w *CharWorker) long(dst []uint32, piece []byte) []uint32 {
	if len(piece) > maxCached {
		return w.merge(dst, piece)
	}
	hash := hashText(piece)
	e := w.longCache.entry(hash)
	if e.is(hash, piece) {
		return append(w.flush(dst), e.ids[:e.count]...)
	}
	if !w.tables.complete && w.known(piece) < len(piece) {
		return w.merge(dst, piece)
	}
	dst = w.flush(dst)
	start := len(dst)
	dst = w.merge(dst, piece)
	e.put(hash, piece, dst[start:])
	return dst
}

// merge encodes a piece that is not one token, or perhaps one that is.
func (w *CharWorker) merge(dst []uint32, piece []byte) []uint32 {
	for len(piece) > 0 {
		n := w.known(piece)
		if n > 0 {
			dst = w.mergeKnown(w.flush(dst), piece[:n])
		} else {
			_, n = utf8.DecodeRune(piece)
			dst = w.other(dst, piece[:n])
		}
		piece = piece[n:]
	}
	return dst
}

// known is the length of the known characters that a piece begins with. It leaves
// their symbols in the merger's nodes.
func (w *CharWorker) known(piece []byte) int {
	runes, nodes := w.tables.runes, w.merger.nodes[:0]
	at := 0
	for at < len(piece) {
		r, n := rune(piece[at]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(piece[at:])
		}
		node := runes.get(r)
		if node == goneNode || r == utf8.RuneError && n == 1 {
			break
		}
		nodes = append(nodes, node)
		at += n
	}
	w.merger.nodes = nodes
	return at
}

// mergeKnown encodes known characters, whose symbols are in the merger's nodes.
func (w *CharWorker) mergeKnown(dst []uint32, text []byte) []uint32 {
	m := &w.merger
	switch {
	case len(m.nodes) <= shortCharacters || m.v.linear == nil && len(m.nodes) <= maxShort:
		return m.mergeParts(dst)
	case m.v.linear != nil:
		dst = m.encodeLinear(dst, text)
	default:
		dst = m.mergeNodes(dst)
	}
	m.release()
	return dst
}

// other encodes a character without a token.
func (w *CharWorker) other(dst []uint32, character []byte) []uint32 {
	c := w.tables
	if c.fallsBack(character) {
		for _, b := range character {
			dst = append(dst, c.vocabulary.ids[c.fallback[b]])
		}
		return dst
	}
	if !c.fuse {
		dst = w.flush(dst)
	}
	w.waiting = true
	return dst
}

// withoutVanishing is the text without the characters that leave no symbol at all.
func (w *CharWorker) withoutVanishing(text []byte) []byte {
	kept := w.kept[:0]
	for at := 0; at < len(text); {
		r, n := utf8.DecodeRune(text[at:])
		if character := text[at : at+n]; w.tables.runes.get(r) != goneNode || w.tables.fallsBack(character) {
			kept = append(kept, character...)
		}
		at += n
	}
	w.kept = kept
	if cap(kept) > keptScratch {
		w.kept = nil
	}
	return kept
}

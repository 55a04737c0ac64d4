package bpe

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// ByteLevel merges the bytes of pieces. It is immutable and shared.
type ByteLevel struct {
	vocabulary *vocabulary // its first 256 nodes are the bytes
	whole      wholeTable
}

// NewByteLevel builds the tables of a vocabulary whose every byte is a token.
func NewByteLevel(s *Spec) (*ByteLevel, error) {
	b, err := newBuilder(s)
	if err != nil {
		return nil, err
	}
	var symbols [256]uint32
	for i := range symbols {
		place, ok := b.find([]byte{byte(i)})
		if !ok {
			return nil, fmt.Errorf("cannot encode byte %#02x: it has no token", i)
		}
		symbols[i] = place
	}
	v, nodeOf := b.build(symbols[:], nil, func(dst []uint32, text []byte) ([]uint32, bool) {
		for _, c := range text {
			dst = append(dst, symbols[c])
		}
		return dst, true
	})
	v.rankBytes()
	return &ByteLevel{
		vocabulary: v,
		whole:      newWholeTable(b.dictionary, nodeOf, s.IgnoreMerges || s.Ranks),
	}, nil
}

// Bytes is the memory of the tables.
func (b *ByteLevel) Bytes() int64 { return b.vocabulary.bytes() + b.whole.bytes() }

// NewWorker makes the scratch memory and piece cache of one user.
func (b *ByteLevel) NewWorker() *Worker {
	return &Worker{tables: b, merger: newMerger(b.vocabulary), cache: new(pieceCache), longCache: new(longCache)}
}

// Worker encodes pieces; for one goroutine at a time.
type Worker struct {
	tables *ByteLevel
	merger merger

	cache     *pieceCache
	longCache *longCache
}

// Append encodes the pieces of text from offset from to ends[0], ends[0] to ends[1]
// and so on, and appends the ids to dst.
func (w *Worker) Append(dst []uint32, text []byte, from int, ends []int) []uint32 {
	whole := &w.tables.whole
	for _, end := range ends {
		n := end - from
		if n > 16 || n == 0 {
			dst = w.long(dst, text[:end], from)
			from = end
			continue
		}
		a, b := words(text, from, uint(n))
		hash := hashWords(a, b, n)
		if id, _, ok := whole.get(a, b, n, hash); ok {
			dst = append(dst, id)
			from = end
			continue
		}
		e := w.cache.entry(hash)
		if e.is(a, b, n) {
			dst = append(dst, e.ids[:e.count]...)
			from = end
			continue
		}
		start := len(dst)
		if (a|b)&highBits == 0 {
			dst = w.merger.mergeBytes(dst, text[from:end])
		} else {
			dst = w.cut(dst, text[:end], from)
		}
		e.put(a, b, n, dst[start:])
		from = end
	}
	return dst
}

// highBits are those of bytes that are not ASCII.
const highBits = 0x8080808080808080

// long encodes a piece, from an offset to the end of text, of more than 16 bytes, or
// none.
func (w *Worker) long(dst []uint32, text []byte, from int) []uint32 {
	if from == len(text) {
		return dst
	}
	piece := text[from:]
	if len(piece) > max(maxCached, w.tables.whole.long.longest) {
		return w.cut(dst, text, from)
	}
	hash := hashText(piece)
	if id, ok := w.tables.whole.long.get(piece, hash); ok {
		return append(dst, id)
	}
	if len(piece) > maxCached || !ascii(piece) {
		return w.cut(dst, text, from) // Chinese sentences hardly come again
	}
	e := w.longCache.entry(hash)
	if e.is(hash, piece) {
		return append(dst, e.ids[:e.count]...)
	}
	start := len(dst)
	dst = w.merger.mergeBytes(dst, piece)
	e.put(hash, piece, dst[start:])
	return dst
}

// ascii says whether all of a piece of 8 or more bytes is ASCII.
func ascii(piece []byte) bool {
	bits := binary.LittleEndian.Uint64(piece[len(piece)-8:])
	for ; len(piece) >= 8; piece = piece[8:] {
		bits |= binary.LittleEndian.Uint64(piece)
	}
	return bits&highBits == 0
}

// cut encodes a piece that is not one token, from an offset to the end of text, part
// by part.
func (w *Worker) cut(dst []uint32, text []byte, from int) []uint32 {
	seams := w.tables.vocabulary.seams
	before, n := utf8.DecodeRune(text[from:])
	if before == utf8.RuneError && n == 1 {
		return w.merger.mergeBytes(dst, text[from:])
	}
	start := from
	for at := from + n; at < len(text); at += n {
		var after rune
		if after, n = rune(text[at]), 1; after >= utf8.RuneSelf {
			if after, n = utf8.DecodeRune(text[at:]); n == 1 {
				break // not UTF-8: what the rest joins is not known
			}
		}
		if !seams.joined(before, after) {
			dst = w.part(dst, text, start, at)
			start = at
		}
		before = after
	}
	if start == from {
		return w.merger.mergeBytes(dst, text[from:])
	}
	return w.part(dst, text, start, len(text))
}

// part encodes a part of a piece.
func (w *Worker) part(dst []uint32, text []byte, from, end int) []uint32 {
	n := end - from
	if n > 16 {
		return w.merger.mergeBytes(dst, text[from:end])
	}
	a, b := words(text, from, uint(n))
	hash := hashWords(a, b, n)
	if id, kind, ok := w.tables.whole.get(a, b, n, hash); ok && kind == reached {
		return append(dst, id)
	}
	e := w.cache.entry(hash)
	if e.is(a, b, n) {
		return append(dst, e.ids[:e.count]...)
	}
	start := len(dst)
	dst = w.merger.mergeBytes(dst, text[from:end])
	e.put(a, b, n, dst[start:])
	return dst
}

package bpe

import "fmt"

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
	all := s.IgnoreMerges || s.Ranks
	return &ByteLevel{
		vocabulary: v,
		whole:      newWholeTable(b.dictionary, func(place uint32) bool { return all || nodeOf[place] != goneNode }),
	}, nil
}

// Bytes is the memory of the tables.
func (b *ByteLevel) Bytes() int64 { return b.vocabulary.bytes() + b.whole.bytes() }

// NewWorker makes the scratch memory and piece cache of one user.
func (b *ByteLevel) NewWorker() *Worker {
	return &Worker{tables: b, merger: newMerger(b.vocabulary), cache: new(pieceCache)}
}

// Worker encodes pieces; for one goroutine at a time.
type Worker struct {
	tables *ByteLevel
	merger merger
	cache  *pieceCache
}

// Append encodes the pieces of text from offset from to ends[0], ends[0] to ends[1]
// and so on, and appends the ids to dst.
func (w *Worker) Append(dst []uint32, text []byte, from int, ends []int) []uint32 {
	whole := &w.tables.whole
	for _, end := range ends {
		n := end - from
		if n > 16 || n == 0 {
			dst = w.long(dst, text[from:end])
			from = end
			continue
		}
		a, b := words(text, from, n)
		hash := hashWords(a, b, n)
		if id, ok := whole.get(a, b, n, hash); ok {
			dst = append(dst, id)
			from = end
			continue
		}
		e := w.cache.entry(hash)
		if e.a == a && e.b == b && int(e.n) == n {
			dst = append(dst, e.ids[:e.count]...)
			from = end
			continue
		}
		start := len(dst)
		dst = w.merger.mergeBytes(dst, text[from:end])
		e.put(a, b, n, dst[start:])
		from = end
	}
	return dst
}

// long encodes a piece of more than 16 bytes, or none.
func (w *Worker) long(dst []uint32, piece []byte) []uint32 {
	if len(piece) == 0 {
		return dst
	}
	if id, ok := w.tables.whole.long.get(piece); ok {
		return append(dst, id)
	}
	return w.merger.mergeBytes(dst, piece)
}

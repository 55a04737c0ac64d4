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
func (b *ByteLevel) NewWorker() *Worker { return &Worker{tables: b} }

// Worker encodes pieces; for one goroutine at a time.
type Worker struct {
	tables *ByteLevel
	parts  [maxShort]part
	nodes  []uint32
	heap   heapMerger
}

// Append encodes the pieces of text from offset from to ends[0], ends[0] to ends[1]
// and so on, and appends the ids to dst.
func (w *Worker) Append(dst []uint32, text []byte, from int, ends []int) []uint32 {
	for _, end := range ends {
		dst = w.piece(dst, text, from, end)
		from = end
	}
	return dst
}

func (w *Worker) piece(dst []uint32, text []byte, from, end int) []uint32 {
	n := end - from
	if n == 0 {
		return dst
	}
	if n <= 16 {
		a, b := words(text, from, n)
		if id, ok := w.tables.whole.get(a, b, n, hashWords(a, b, n)); ok {
			return append(dst, id)
		}
	} else if id, ok := w.tables.whole.long.get(text[from:end]); ok {
		return append(dst, id)
	}
	return w.merge(dst, text[from:end])
}

// merge encodes a piece that is not one token.
func (w *Worker) merge(dst []uint32, piece []byte) []uint32 {
	v := w.tables.vocabulary
	if len(piece) <= maxShort {
		parts := w.parts[:len(piece)]
		for i, c := range piece {
			parts[i].node = uint32(c)
		}
		for _, p := range v.mergeShort(parts, 1) {
			dst = append(dst, v.ids[p.node])
		}
		return dst
	}
	nodes := w.nodes[:0]
	for _, c := range piece {
		nodes = append(nodes, uint32(c))
	}
	w.nodes = nodes
	for _, node := range w.heap.merge(&v.rules, nodes, 1) {
		dst = append(dst, v.ids[node])
	}
	w.release()
	return dst
}

// release gives back the memory that only a very long piece needed.
func (w *Worker) release() {
	if cap(w.nodes) > keptScratch {
		w.nodes = nil
	}
	w.heap.release()
}

// Package unigram encodes text as SentencePiece's Unigram models do: the sequence of
// tokens with the highest sum of scores. Models are immutable, Workers are not shared.
package unigram

import (
	"math"
	"slices"
	"unicode/utf8"

	"penstock/routing/tokenizer/internal/spec"
	"penstock/routing/tokenizer/internal/trie"
)

// unknownPenalty is how much worse than the worst token an unknown character is.
const unknownPenalty = 10

// Model is a Unigram vocabulary.
type Model struct {
	vocabulary *spec.Vocabulary
	tokens     *trie.Trie
	scores     []float64 // by id
	unknown    uint32
	penalty    float64 // score of an unknown character
	fallback   bool
	bytes      [256]uint32 // tokens <0xNN>
	hasByte    [256]bool
}

// New makes a model.
func New(m *spec.Model) (*Model, error) {
	if !m.HasUnknown {
		return nil, spec.Unsupported("model Unigram", "without unk_id: text could have no encoding")
	}
	model := &Model{vocabulary: m.Vocabulary, scores: m.Scores, unknown: m.Unknown, fallback: m.ByteFallback}
	entries := make([]trie.Entry, 0, m.Vocabulary.Len())
	for i := range m.Vocabulary.Len() {
		if text, id := m.Vocabulary.Entry(i); len(text) > 0 {
			entries = append(entries, trie.Entry{Text: text, Value: int32(id)})
		}
	}
	model.tokens = trie.New(entries)
	worst := math.Inf(1)
	for _, score := range m.Scores {
		if score < worst {
			worst = score
		}
	}
	model.penalty = worst - unknownPenalty
	const digits = "0123456789ABCDEF"
	for i := range 256 {
		text := []byte{'<', '0', 'x', digits[i>>4], digits[i&15], '>'}
		model.bytes[i], model.hasByte[i] = m.Vocabulary.Find(text)
	}
	return model, nil
}

// Bytes is the memory of the tables, the vocabulary aside.
func (m *Model) Bytes() int64 { return m.tokens.Bytes() + int64(len(m.scores))*8 + 2048 }

// Worker is the scratch memory of one user.
type Worker struct {
	model *Model
	best  []ending
	path  []piece
}

// ending is the best way to encode the text up to a place.
type ending struct {
	score float64
	start int32 // of its last token; -1: none yet
	id    uint32
}

// piece is a token of the best way.
type piece struct {
	start, end int32
	id         uint32
}

// NewWorker makes scratch memory.
func (m *Model) NewWorker() *Worker { return &Worker{model: m} }

// Append encodes a text of less than 2 GiB. Expired, unless it is nil, is asked every
// few thousand bytes; once it says true, ok is false.
func (w *Worker) Append(dst []uint32, text []byte, expired func() bool) (ids []uint32, ok bool) {
	if len(text) == 0 {
		return dst, true
	}
	if !w.search(text, expired) {
		return dst, false
	}
	w.back(int32(len(text)))
	for _, p := range w.path {
		dst = w.emit(dst, text[p.start:p.end], p.id)
	}
	return dst, true
}

// bytesBetween is after how many bytes expired is asked.
const bytesBetween = 4096

// search fills best. Of equal scores the first found counts: the one whose last token
// begins first.
func (w *Worker) search(text []byte, expired func() bool) bool {
	m := w.model
	w.best = slices.Grow(w.best[:0], len(text)+1)[:len(text)+1]
	for i := range w.best {
		w.best[i] = ending{start: -1}
	}
	for start, ask := 0, bytesBetween; start < len(text); {
		if start >= ask {
			ask += bytesBetween
			if expired != nil && expired() {
				return false
			}
		}
		_, size := utf8.DecodeRune(text[start:])
		here := w.best[start].score
		single := false
		at := uint32(trie.Root)
		for end := start; end < len(text); {
			next, found := m.tokens.Next(at, text[end])
			if !found {
				break
			}
			at = next
			end++
			if id, ends := m.tokens.Value(at); ends {
				w.offer(start, end, here+m.scores[id], uint32(id))
				single = single || end == start+size
			}
		}
		if !single {
			w.offer(start, start+size, here+m.penalty, m.unknown)
		}
		start += size
	}
	return true
}

func (w *Worker) offer(start, end int, score float64, id uint32) {
	if e := &w.best[end]; e.start < 0 || score > e.score {
		*e = ending{score, int32(start), id}
	}
}

// back follows the best way from the end and joins unknown neighbours.
func (w *Worker) back(end int32) {
	w.path = w.path[:0]
	unknown := w.model.unknown
	for end > 0 {
		e := w.best[end]
		if last := len(w.path) - 1; last >= 0 && e.id == unknown && w.path[last].id == unknown {
			w.path[last].start = e.start
		} else {
			w.path = append(w.path, piece{e.start, end, e.id})
		}
		end = e.start
	}
	slices.Reverse(w.path)
}

// emit appends the ids of a piece. Unknown text may be a token once it is joined.
func (w *Worker) emit(dst []uint32, text []byte, id uint32) []uint32 {
	m := w.model
	if id != m.unknown {
		return append(dst, id)
	}
	if id, found := m.vocabulary.Find(text); found {
		return append(dst, id)
	}
	if !m.fallback {
		return append(dst, m.unknown)
	}
	before := len(dst)
	for _, b := range text {
		if !m.hasByte[b] {
			return append(dst[:before], m.unknown)
		}
		dst = append(dst, m.bytes[b])
	}
	return dst
}

// Trim lets go of memory that a long text left large.
func (w *Worker) Trim(limit int) {
	if cap(w.best)*16 > limit {
		w.best = nil
	}
	if cap(w.path)*12 > limit {
		w.path = nil
	}
}

package tokens

import (
	"strconv"
	"sync"

	"github.com/cespare/xxhash/v2"
)

// words are what answers are made of. Each is at most maxPiece letters, so
// that a written word is one token when it comes back in the next prompt.
var words = [...]string{
	"water", "gate", "flows", "down", "under", "stone", "wheel", "turns", "slow", "river",
	"light", "over", "the", "and", "with", "from", "into", "near", "long", "pipe",
	"steel", "valve", "opens", "head", "rises", "falls", "clear", "deep", "north", "south",
	"power", "plant", "dam", "lake", "spill", "crest", "tower", "shaft", "rotor", "blade",
	"speed", "load", "grid", "line", "storm", "calm", "early", "late", "one", "two",
	"three", "each", "every", "then", "again", "still", "keeps", "moves", "holds", "feeds",
	"draws", "sends", "makes", "ends",
}

// Writer makes one answer. The zero value is not usable; see NewWriter.
type Writer struct {
	seed  uint64
	limit int // tokens in all
	eos   bool
}

// Length says how long an answer may be.
type Length struct {
	Max       int  // most tokens, at least 1
	Min       int  // fewest tokens before the end-of-sequence token
	Mean      int  // typical length of an answer that ends by itself
	IgnoreEOS bool // go on to Max
}

// NewWriter returns the author of the answer to prompt. The answer ends by
// itself after Mean/2 to 3·Mean/2 tokens, the same number for the same prompt
// and seed, unless Max comes first.
func NewWriter(prompt []uint32, seed int64, l Length) Writer {
	w := Writer{seed: digest(prompt, seed), limit: max(l.Max, 1)}
	if l.IgnoreEOS {
		return w
	}
	mean := max(l.Mean, 2)
	end := max(mean/2+int(mix(w.seed)%uint64(mean))+1, l.Min+1)
	if end <= w.limit {
		w.limit, w.eos = end, true
	}
	return w
}

func digest(prompt []uint32, seed int64) uint64 {
	h := uint64(seed)
	for len(prompt) > 0 {
		n := min(len(prompt), 64)
		var buf [8 + 4*64]byte
		b := appendUint64(buf[:0], h)
		for _, t := range prompt[:n] {
			b = append(b, byte(t), byte(t>>8), byte(t>>16), byte(t>>24))
		}
		h = xxhash.Sum64(b)
		prompt = prompt[n:]
	}
	return h
}

func appendUint64(b []byte, v uint64) []byte {
	return append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24), byte(v>>32), byte(v>>40), byte(v>>48), byte(v>>56))
}

// mix is the finaliser of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Tokens is the length of the answer, the end-of-sequence token included.
func (w *Writer) Tokens() int { return w.limit }

// EndsItself reports whether the last token is the end-of-sequence token.
func (w *Writer) EndsItself() bool { return w.eos }

// Cut ends the answer after n tokens, as a stop string does.
func (w *Writer) Cut(n int) { w.limit, w.eos = n, false }

// Text is the text of token i: a word, after the first one with a space before
// it, or nothing for the end-of-sequence token.
func (w *Writer) Text(i int) string {
	if w.eos && i == w.limit-1 {
		return ""
	}
	table := pieces()
	word := mix(w.seed+uint64(i)) % uint64(len(words))
	if i == 0 {
		return table.text[word]
	}
	return table.text[word+uint64(len(words))]
}

// ID is the id of token i.
func (w *Writer) ID(i int) uint32 {
	if w.eos && i == w.limit-1 {
		return EOS
	}
	table := pieces()
	word := mix(w.seed+uint64(i)) % uint64(len(words))
	if i == 0 {
		return table.id[word]
	}
	return table.id[word+uint64(len(words))]
}

// table lists every piece a Writer writes: the words, then the words with a
// space before them.
type table struct {
	text [2 * len(words)]string
	id   [2 * len(words)]uint32
	byID map[uint32]string
}

var pieces = sync.OnceValue(func() *table {
	t := &table{byID: make(map[uint32]string)}
	for i, w := range words {
		t.text[i], t.text[i+len(words)] = w, " "+w
	}
	for i, p := range t.text {
		t.id[i] = id(p)
		t.byID[t.id[i]] = p
	}
	return t
})

// Decode returns text for ids: the words of answers come back as they were,
// any other id as a made-up word, special ids as nothing.
func Decode(ids []uint32) string {
	var b []byte
	for _, t := range ids {
		if p, ok := pieces().byID[t]; ok {
			b = append(b, p...)
		} else if t >= firstText {
			b = append(b, " t"...)
			b = strconv.AppendUint(b, uint64(t), 10)
		}
	}
	return string(b)
}

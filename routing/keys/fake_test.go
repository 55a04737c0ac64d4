package keys

import (
	"bytes"
	"slices"

	"penstock/routing/tokenizer"
)

// fakeEncoder has one token per word and per special token <|...|>, a BOS and an EOS. It
// remembers what it was asked to encode.
type fakeEncoder struct {
	encoded int
	err     error
	left    int // Appends until err
}

const (
	bos = 0
	eos = 1
)

func (e *fakeEncoder) Append(dst []uint32, text []byte, m tokenizer.Mode) ([]uint32, error) {
	if e.left--; e.err != nil && e.left < 0 {
		return dst, e.err
	}
	e.encoded += len(text)
	if m&tokenizer.AddSpecial != 0 && m&tokenizer.Continuation == 0 {
		dst = append(dst, bos)
	}
	for len(text) > 0 {
		n := fakeToken(text)
		dst = append(dst, fakeID(text[:n]))
		text = text[n:]
	}
	if m&tokenizer.AddSpecial != 0 && m&tokenizer.Unfinished == 0 {
		dst = append(dst, eos)
	}
	return dst, nil
}

func (e *fakeEncoder) Boundaries(dst []int, text []byte) []int {
	for from := 0; ; {
		i := bytes.Index(text[from:], []byte("|>"))
		if i < 0 {
			return dst
		}
		from += i + 2
		dst = append(dst, from)
	}
}

// fakeToken is the length of the first token: up to the end of a special token, or a
// word with the space after it.
func fakeToken(text []byte) int {
	for i := range text {
		switch {
		case text[i] == ' ', text[i] == '>' && i > 0 && text[i-1] == '|':
			return i + 1
		case i > 0 && bytes.HasPrefix(text[i:], []byte("<|")):
			return i
		}
	}
	return len(text)
}

func fakeID(token []byte) uint32 {
	id := uint32(2)
	for _, c := range token {
		id = id*31 + uint32(c)
	}
	return id
}

func fakeKeyer(o Options) *Keyer {
	if o.Secret == nil {
		o.Secret = make([]byte, SecretSize)
	}
	k, err := newKeyer(func() encoder { return &fakeEncoder{} }, o)
	if err != nil {
		panic(err)
	}
	return k
}

// cold is what a prompt's keys are without a memo, worked out in the plainest way.
func cold(ids []uint32, blockSize int, namespace uint64) []uint64 {
	blocks := []uint64{}
	parent := namespace
	for block := range slices.Chunk(ids, blockSize) {
		if len(block) == blockSize {
			parent = Chain(parent, block)
			blocks = append(blocks, parent)
		}
	}
	return blocks
}

package tokenizer

import (
	"unicode/utf8"

	"penstock/routing/tokenizer/internal/runeset"
)

// Limits of tokenization_kimi.py, in characters: tiktoken was slow on longer texts and
// on longer runs without a change between white space and others. Texts are cut at
// them before anything else, which shows in the ids.
const (
	chunkLimit = 400_000
	runLimit   = 25_000
)

// chunked encodes a text in chunks: whole ones first, then the runs in each.
func (e *Encoder) chunked(dst []uint32, text []byte) (ids []uint32, ok bool) {
	var run, count, start int
	spaces := false
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		now := pythonSpace(r)
		switch {
		case count == chunkLimit:
			count, run = 0, 1
		case count > 0 && now == spaces:
			run++
		default:
			run = 1
		}
		if at > start && (count == 0 || run > runLimit) {
			if dst, ok = e.fused(dst, text[start:at]); !ok {
				return dst, false
			}
			start, run = at, 1
		}
		spaces = now
		count++
		at += size
	}
	return e.fused(dst, text[start:])
}

// pythonSpace is str.isspace of Python for one character.
func pythonSpace(r rune) bool { return runeset.Space().Has(r) || r >= 0x1C && r <= 0x1F }

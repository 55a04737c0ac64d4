package tokens

import (
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// Vocab is the size of the pretend vocabulary.
const Vocab = 128_000

// Special ids. Encode never returns an id below firstText.
const (
	EOS       uint32 = 2
	EndOfTurn uint32 = 3
	Image     uint32 = 4
	System    uint32 = 10
	User      uint32 = 11
	Assistant uint32 = 12
	Tool      uint32 = 13
	Other     uint32 = 14

	firstText = 256
)

// maxPiece is the longest run of letters in one token. Words of English prose
// with their leading space then come to a little over four bytes per token.
const maxPiece = 6

// Encode turns text into ids. Encode(a+b) begins with all but the last id of
// Encode(a).
func Encode(dst []uint32, text string) []uint32 {
	for len(text) > 0 {
		n := next(text)
		dst = append(dst, id(text[:n]))
		text = text[n:]
	}
	return dst
}

// id names a piece.
func id(piece string) uint32 {
	return firstText + uint32(xxhash.Sum64String(piece)%(Vocab-firstText))
}

type class uint8

const (
	letter class = iota
	space
	mark
)

func classOf(b byte) class {
	switch {
	case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9', b >= utf8.RuneSelf:
		return letter
	case b == ' ' || b == '\n' || b == '\t' || b == '\r':
		return space
	}
	return mark
}

// next returns the length of the first piece of text: an optional space and a
// run of letters, digits and non-ASCII characters, or a run of one other class.
func next(text string) int {
	i := 0
	if text[0] == ' ' && len(text) > 1 && classOf(text[1]) == letter {
		i = 1
	}
	c := classOf(text[i])
	limit := i + maxPiece
	if c != letter {
		limit = i + 4
	}
	for i < len(text) && i < limit && classOf(text[i]) == c {
		if c == space && i > 0 && text[i] == ' ' && i+1 < len(text) && classOf(text[i+1]) == letter {
			break // this space belongs to the word that follows
		}
		i++
	}
	for i < len(text) && !utf8.RuneStart(text[i]) && i < limit+utf8.UTFMax {
		i++ // do not cut a character
	}
	return i
}

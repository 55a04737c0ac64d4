package split

import (
	"encoding/binary"
	"math/bits"

	"penstock/routing/tokenizer/internal/unidata"
)

// scanner is what every family has: the classes, and runs of a class.
type scanner struct {
	table *unidata.Table
	ascii *[256]unidata.Class
}

func newScanner(t *unidata.Table) scanner {
	return scanner{table: t, ascii: t.Bytes()}
}

// class gives the class and the size of the character at i, which is in text.
func (s *scanner) class(text []byte, i int) (class unidata.Class, size int) {
	if b := text[i]; b < 0x80 {
		return s.ascii[b], 1
	}
	return s.wide(text, i)
}

// wide is class for characters beyond ASCII. It reads what valid text has; on any
// other it stays in the text and goes forward.
func (s *scanner) wide(text []byte, i int) (class unidata.Class, size int) {
	b := rune(text[i])
	rest := text[i:]
	switch {
	case b < 0xE0 && len(rest) >= 2:
		return s.table.Of(b&0x1F<<6 | rune(rest[1]&0x3F)), 2
	case b < 0xF0 && len(rest) >= 3:
		return s.table.Of(b&0x0F<<12 | rune(rest[1]&0x3F)<<6 | rune(rest[2]&0x3F)), 3
	case len(rest) >= 4:
		return s.table.Of(b&0x07<<18 | rune(rest[1]&0x3F)<<12 | rune(rest[2]&0x3F)<<6 | rune(rest[3]&0x3F)), 4
	}
	return 0, 1
}

const (
	lowBits  = 0x7F7F7F7F7F7F7F7F
	highBits = 0x8080808080808080
	caseBits = 0x2020202020202020
	spaces   = 0x2020202020202020
	// Added to bytes below 0x80, these carry into the high bit from 'a' on and
	// beyond 'z'.
	fromA   = highBits - 0x6161616161616161
	beyondZ = lowBits - 0x7A7A7A7A7A7A7A7A
)

// notSmall has the high bit of every byte of w that is no letter a to z.
func notSmall(w uint64) uint64 {
	low := w & lowBits
	return ^((low + fromA) &^ (low + beyondZ) &^ w) & highBits
}

// letters ends the run of ASCII letters at i.
func letters(text []byte, i int) int {
	for i+8 <= len(text) {
		if other := notSmall(binary.LittleEndian.Uint64(text[i:]) | caseBits); other != 0 {
			return i + bits.TrailingZeros64(other)>>3
		}
		i += 8
	}
	for i < len(text) && (text[i]|0x20)-'a' < 26 {
		i++
	}
	return i
}

// smallLetters ends the run of ASCII letters a to z at i.
func smallLetters(text []byte, i int) int {
	for i+8 <= len(text) {
		if other := notSmall(binary.LittleEndian.Uint64(text[i:])); other != 0 {
			return i + bits.TrailingZeros64(other)>>3
		}
		i += 8
	}
	for i < len(text) && text[i]-'a' < 26 {
		i++
	}
	return i
}

// run ends the run of characters with a class in mask, from i on.
func (s *scanner) run(text []byte, i int, mask unidata.Class) int {
	for i < len(text) {
		class, size := s.class(text, i)
		if class&mask == 0 {
			return i
		}
		i += size
	}
	return i
}

// runWithout ends the run of characters without a class in mask, from i on.
func (s *scanner) runWithout(text []byte, i int, mask unidata.Class) int {
	for i < len(text) {
		class, size := s.class(text, i)
		if class&mask != 0 {
			return i
		}
		i += size
	}
	return i
}

// word ends the run of characters with a class in mask, from i on; ASCII letters
// must be in mask and are taken eight at a time.
func (s *scanner) word(text []byte, i int, mask unidata.Class) int {
	for {
		i = letters(text, i)
		if i >= len(text) || text[i] < 0x80 {
			return i
		}
		for i < len(text) && text[i] >= 0x80 {
			class, size := s.wide(text, i)
			if class&mask == 0 {
				return i
			}
			i += size
		}
	}
}

// atMost ends a run of at most n characters with a class in mask, from i on.
func (s *scanner) atMost(text []byte, i, n int, mask unidata.Class) int {
	for ; n > 0 && i < len(text); n-- {
		class, size := s.class(text, i)
		if class&mask == 0 {
			return i
		}
		i += size
	}
	return i
}

// newlines ends a run of \r, \n and, for o200k, the byte also.
func newlines(text []byte, i int, also byte) int {
	for i < len(text) && (text[i] == '\r' || text[i] == '\n' || text[i] == also) {
		i++
	}
	return i
}

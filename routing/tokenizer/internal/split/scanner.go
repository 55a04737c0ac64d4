package split

import (
	"encoding/binary"
	"math/bits"

	"penstock/routing/tokenizer/internal/unidata"
)

// scanner is what every family has: the classes, and runs of a class.
type scanner struct {
	table *unidata.Table
	ascii *[256]character // by byte; 0 from 0x80 on
}

// character is the class of a character, and its size in bytes above that. As one
// number it lets the ASCII half of at be inlined.
type character uint32

const sizeShift = 16

func (c character) in(mask unidata.Class) bool { return unidata.Class(c)&mask != 0 }
func (c character) size() int                  { return int(c >> sizeShift) }

func newScanner(t *unidata.Table) scanner {
	s := scanner{table: t, ascii: new([256]character)}
	for b := range rune(0x80) {
		s.ascii[b] = character(t.Of(b)) | 1<<sizeShift
	}
	return s
}

// at gives the character at i, which is in text.
func (s *scanner) at(text []byte, i int) character {
	if c := s.ascii[text[i]]; c != 0 {
		return c
	}
	return s.wide(text, i)
}

// wide is at for characters beyond ASCII. It reads what valid text has; on any other
// it stays in the text and goes forward.
func (s *scanner) wide(text []byte, i int) character {
	rest := text[i:]
	r, size := rune(rest[0]), 1
	switch {
	case r < 0xE0 && len(rest) >= 2:
		r, size = r&0x1F<<6|rune(rest[1]&0x3F), 2
	case r < 0xF0 && len(rest) >= 3:
		r, size = r&0x0F<<12|rune(rest[1]&0x3F)<<6|rune(rest[2]&0x3F), 3
	case len(rest) >= 4:
		r, size = r&0x07<<18|rune(rest[1]&0x3F)<<12|rune(rest[2]&0x3F)<<6|rune(rest[3]&0x3F), 4
	}
	return character(s.table.Of(r)) | character(size)<<sizeShift
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
		c := s.at(text, i)
		if !c.in(mask) {
			return i
		}
		i += c.size()
	}
	return i
}

// runWithout ends the run of characters without a class in mask, from i on.
func (s *scanner) runWithout(text []byte, i int, mask unidata.Class) int {
	for i < len(text) {
		c := s.at(text, i)
		if c.in(mask) {
			return i
		}
		i += c.size()
	}
	return i
}

// run8 is run where ASCII letters are in mask and no other ASCII is: it takes those
// eight at a time.
func (s *scanner) run8(text []byte, i int, mask unidata.Class) int {
	for {
		i = letters(text, i)
		if i >= len(text) || text[i] < 0x80 {
			return i
		}
		end := s.wideRun(text, i, mask)
		if end == i || end == len(text) || text[end] >= 0x80 {
			return end
		}
		i = end
	}
}

// wideRun is run for characters beyond ASCII only. Those of three bytes are decoded
// here: a text of Chinese has hardly any other.
func (s *scanner) wideRun(text []byte, i int, mask unidata.Class) int {
	for {
		for i+3 <= len(text) && text[i]>>4 == 0xE {
			r := rune(text[i]&0xF)<<12 | rune(text[i+1]&0x3F)<<6 | rune(text[i+2]&0x3F)
			if s.table.Of(r)&mask == 0 {
				return i
			}
			i += 3
		}
		if i >= len(text) || text[i] < 0x80 {
			return i
		}
		c := s.wide(text, i)
		if !c.in(mask) {
			return i
		}
		i += c.size()
	}
}

// atMost ends a run of at most n characters with a class in mask, from i on.
func (s *scanner) atMost(text []byte, i, n int, mask unidata.Class) int {
	for ; n > 0 && i < len(text); n-- {
		c := s.at(text, i)
		if !c.in(mask) {
			return i
		}
		i += c.size()
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

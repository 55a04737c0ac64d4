package bpe

import "unicode/utf8"

// seams knows where a text falls apart: between two characters that no token has next
// to each other, nothing can merge, so the text before and the text after are encoded
// apart. In Chinese that is every second place or so, and with ▁ for spaces nearly
// every place before one.
//
// It may take two characters for joined that are not, never the other way.
type seams struct {
	small  [129][3]uint64 // ASCII and ▁, as 128, of the first: bit set of the second
	hashed []uint64       // bit set of other pairs, by their hash
	// Tokens of byte-level vocabularies begin and end within characters.
	partial [1 << 16]uint8 // of a character, by its low bits: beside a part of one in a token
	parts   [64]uint64     // of the last byte before: bit set of the first byte after
}

const (
	seamBits  = 20 // 128 KiB; 36,000 pairs, DeepSeek's, fill 3 % of them
	afterPart = 1  // a token has the end of a character before this one
	endInPart = 2  // a token has the beginning of a character after this one
)

func newSeams(v *vocabulary, text func(node uint32) []byte) *seams {
	s := &seams{hashed: make([]uint64, 1<<seamBits/64)}
	for node := range uint32(len(v.ids)) {
		s.add(text(node))
	}
	s.finish()
	return s
}

// finish joins ▁ in the small table to what it may be joined to because a token ends
// or begins within one of the two.
func (s *seams) finish() {
	for r := range rune(128) {
		if s.besidePart(r, '▁') {
			s.join(unit{r: r, whole: true}, unit{r: '▁', whole: true})
		}
		if s.besidePart('▁', r) {
			s.join(unit{r: '▁', whole: true}, unit{r: r, whole: true})
		}
	}
	if s.besidePart('▁', '▁') {
		s.join(unit{r: '▁', whole: true}, unit{r: '▁', whole: true})
	}
}

// unit is a character of a token, or the part of one that the token begins or ends
// with.
type unit struct {
	r     rune
	bytes []byte
	whole bool
}

func nextUnit(text []byte) unit {
	r, n := utf8.DecodeRune(text)
	if r != utf8.RuneError || n > 1 {
		return unit{r, text[:n], true}
	}
	n = 1
	for n < len(text) && text[n]&0xC0 == 0x80 {
		n++
	}
	return unit{bytes: text[:n]}
}

// add joins what a token joins.
func (s *seams) add(token []byte) {
	if len(token) == 0 {
		return
	}
	before := nextUnit(token)
	for at := len(before.bytes); at < len(token); {
		after := nextUnit(token[at:])
		s.join(before, after)
		at += len(after.bytes)
		before = after
	}
}

func (s *seams) join(before, after unit) {
	switch {
	case before.whole && after.whole && smallCode(before.r) <= 128 && smallCode(after.r) <= 128:
		b, a := smallCode(before.r), smallCode(after.r)
		s.small[b][a>>6] |= 1 << (a & 63)
	case before.whole && after.whole:
		at := seamAt(before.r, after.r)
		s.hashed[at>>6] |= 1 << (at & 63)
	case before.whole:
		s.partial[before.r&0xFFFF] |= endInPart
	case after.whole:
		s.partial[after.r&0xFFFF] |= afterPart
	default:
		last, first := before.bytes[len(before.bytes)-1], after.bytes[0]
		s.parts[last&63] |= 1 << (first & 63)
	}
}

// smallCode is the number of a character in the small table, or more than 128.
func smallCode(r rune) uint32 {
	switch {
	case r < 128:
		return uint32(r)
	case r == '▁':
		return 128
	}
	return 129
}

func seamAt(before, after rune) uint64 {
	return (uint64(before)<<21 | uint64(after)) * mixA >> (64 - seamBits)
}

// joined says whether a token may have two neighbouring characters in it.
func (s *seams) joined(before, after rune) bool {
	if b, a := smallCode(before), smallCode(after); b <= 128 && a <= 128 {
		return s.small[b][a>>6]>>(a&63)&1 != 0
	}
	at := seamAt(before, after)
	return s.hashed[at>>6]>>(at&63)&1 != 0 || s.besidePart(before, after)
}

// besidePart says whether a token may have two characters in it of which one or both
// are not whole.
func (s *seams) besidePart(before, after rune) bool {
	return s.partial[before&0xFFFF]&endInPart|s.partial[after&0xFFFF]&afterPart != 0 ||
		s.parts[before&63]>>(firstByte(after)&63)&1 != 0
}

// firstByte is the first byte of a character's encoding. The last has its low six
// bits, if it is not ASCII.
func firstByte(r rune) byte {
	switch {
	case r < 0x80:
		return byte(r)
	case r < 0x800:
		return byte(0xC0 | r>>6)
	case r < 0x10000:
		return byte(0xE0 | r>>12)
	}
	return byte(0xF0 | r>>18)
}

func (s *seams) bytes() int64 {
	if s == nil {
		return 0
	}
	return int64(len(s.hashed))*8 + 129*24 + 1<<16 + 64*8
}

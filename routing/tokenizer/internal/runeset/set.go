package runeset

import "unicode/utf8"

// Set is a set of code points. It is immutable.
type Set struct {
	ascii  [2]uint64
	ranges []span // ascending, from 0x80 on
}

type span struct{ low, high rune }

// Has says whether r is in the set.
func (s *Set) Has(r rune) bool {
	if r >= 0 && r < utf8.RuneSelf {
		return s.ascii[r>>6]>>(uint(r)&63)&1 != 0
	}
	low, high := 0, len(s.ranges)
	for low < high {
		middle := int(uint(low+high) >> 1)
		switch at := s.ranges[middle]; {
		case r < at.low:
			high = middle
		case r > at.high:
			low = middle + 1
		default:
			return true
		}
	}
	return false
}

// TrimLeft is how many bytes of text its leading characters of the set take.
func (s *Set) TrimLeft(text []byte) int {
	at := 0
	for at < len(text) {
		r, size := utf8.DecodeRune(text[at:])
		if !s.Has(r) {
			break
		}
		at += size
	}
	return at
}

// TrimRight is where the trailing characters of the set begin in text.
func (s *Set) TrimRight(text []byte) int {
	at := len(text)
	for at > 0 {
		r, size := utf8.DecodeLastRune(text[:at])
		if !s.Has(r) {
			break
		}
		at -= size
	}
	return at
}

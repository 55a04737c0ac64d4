package oracle

import (
	"slices"
	"unicode/utf8"
)

// Shrink makes a text for which fails is true as short as it can by leaving out runs of
// characters, and asks at most budget times.
func Shrink(text []byte, budget int, fails func([]byte) bool) []byte {
	chars := characters(text)
	for size := len(chars) / 2; size > 0; {
		shorter := false
		for at := 0; at+size <= len(chars) && budget > 0; budget-- {
			without := slices.Concat(chars[:at], chars[at+size:])
			if fails(slices.Concat(without...)) {
				chars, shorter = without, true
			} else {
				at += size
			}
		}
		if budget <= 0 {
			break
		}
		if !shorter || size > len(chars) {
			size /= 2
		}
	}
	return slices.Concat(chars...)
}

func characters(text []byte) [][]byte {
	var out [][]byte
	for len(text) > 0 {
		_, n := utf8.DecodeRune(text)
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}

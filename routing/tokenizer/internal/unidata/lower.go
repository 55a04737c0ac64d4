package unidata

import (
	_ "embed"
	"sync"
	"unicode/utf8"
)

var (
	//go:embed lower.bin
	lowerFile string

	// lowers maps what lower case changes, as char::to_lowercase of Rust does in
	// tokenizers 0.23.3, whose compiler knows Unicode 17.
	lowers = sync.OnceValue(func() map[rune][]rune {
		in := reader{data: lowerFile}
		return in.decompositions()
	})
)

// Lower appends r in lower case, each character by itself: a final sigma is like any
// other. A table of an older version changes only what that version assigns.
func (t *Table) Lower(dst []byte, r rune) []byte {
	if r < 0x80 {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return append(dst, byte(r))
	}
	if to, ok := lowers()[r]; ok && (!t.assignedOnly || t.Of(r) != 0) {
		for _, l := range to {
			dst = utf8.AppendRune(dst, l)
		}
		return dst
	}
	return utf8.AppendRune(dst, r)
}

// LowerText appends text in lower case. Bytes that are no UTF-8 stay.
func (t *Table) LowerText(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		if b := text[i]; b < 0x80 {
			if b-'A' < 26 {
				b += 'a' - 'A'
			}
			dst = append(dst, b)
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, text[i])
		} else {
			dst = t.Lower(dst, r)
		}
		i += size
	}
	return dst
}

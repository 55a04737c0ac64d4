package corpus

import (
	"math/rand/v2"
	"unicode"
)

// marks is what normalisation forms are about: long runs of combining marks in any
// order, Hangul by its parts, and characters that compose one way only.
func marks(n int) [][]byte {
	r := seeded(20)
	combining := combiningMarks()
	bases := []rune("aAeEoOuUcCnNyYzq1 \nक가あαωж中ا")
	// Singletons, composition exclusions, and characters that decompose twice.
	odd := []rune("\u00C5\u03A9K\u00C5\u0301\u0915\u093C\u09A1\u09BC\u0A32\u0A3C\u0B21\u0B3C\u0F80\u0F72\u0F71\u0F71\u0F72\u05C1\u05E9\u05BC\u05C1\u05E9\u05C2\u2ADD\u0338\U0001D157\U0001D165\U0001D158\U0001D165\U0001D16E\u8C48\u66F4\u4E3D\U00020000\u0390\u1FB3\u1E69\u01D6\uFB01\u2460\u00BD\u337F\uFF76\uFF9E\u304C\uFF71\uFDD0\u0344\u0340\u0341\u0343\u0374\u037E\u0387\u2126\u212A\u212B\u2000\u2001\u2329\u232A\u0F73\u0F75\u0F81\uFB1D\U0001D15E\U0002F800")
	out := make([][]byte, 0, n)
	for i := range n {
		var text []byte
		for range 1 + r.IntN(5) {
			switch (i + r.IntN(3)) % 5 {
			case 0:
				text = append(text, string(jamo(r))...)
			case 1:
				text = append(text, string(odd[r.IntN(len(odd))])...)
			default:
				text = append(text, string(bases[r.IntN(len(bases))])...)
			}
			count := r.IntN(4)
			if r.IntN(6) == 0 {
				count = 28 + r.IntN(60)
			}
			for range count {
				text = append(text, string(combining[r.IntN(len(combining))])...)
			}
		}
		out = append(out, text)
	}
	return out
}

// combiningMarks is every mark that Go knows. The ones that matter have a non-zero
// combining class, which is most.
func combiningMarks() []rune {
	var out []rune
	for c := rune(0x300); c < 0x1F000; c++ {
		if unicode.Is(unicode.Mn, c) {
			out = append(out, c)
		}
	}
	// The common ones, as often as all others together.
	for len(out)%2048 != 0 {
		out = append(out, 0x300+rune(len(out)%0x70))
	}
	return out
}

// jamo is a few Hangul parts: some compose, some only almost.
func jamo(r *rand.Rand) []rune {
	var out []rune
	for range 1 + r.IntN(5) {
		switch r.IntN(5) {
		case 0:
			out = append(out, 0x1100+r.Int32N(0x20), 0x1161+r.Int32N(0x18))
		case 1:
			out = append(out, 0x1100+r.Int32N(0x20), 0x1161+r.Int32N(0x18), 0x11A7+r.Int32N(0x20))
		case 2:
			out = append(out, 0xAC00+28*r.Int32N(399), 0x11A6+r.Int32N(0x1E))
		case 3:
			out = append(out, 0xAC00+r.Int32N(11172), 0x11A7+r.Int32N(0x1C))
		default:
			out = append(out, 0x1160+r.Int32N(0xA0))
		}
	}
	return out
}

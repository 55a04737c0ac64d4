package unidata

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

// NFC appends text in normalisation form C. Like the crate that it follows it has no
// stream-safe rule: a run of marks is sorted whatever its length, and nothing is
// inserted. The four forms expect valid UTF-8.
func NFC(dst, text []byte) []byte {
	return norm().append(dst, text, form{plain: notPlainC, compose: true})
}

// NFD appends text in normalisation form D.
func NFD(dst, text []byte) []byte {
	return norm().append(dst, text, form{plain: notPlainD})
}

// NFKC appends text in normalisation form KC.
func NFKC(dst, text []byte) []byte {
	return norm().append(dst, text, form{plain: notPlainKC, compose: true, compatible: true})
}

// NFKD appends text in normalisation form KD.
func NFKD(dst, text []byte) []byte {
	return norm().append(dst, text, form{plain: notPlainKD, compatible: true})
}

// form says what is done to a run of characters that are not plain.
type form struct {
	plain               property // set for characters that are not plain
	compose, compatible bool
}

// glyph is a character that is being put in order.
type glyph struct {
	r     rune
	class uint8 // combining class
}

func (n *normData) append(dst, text []byte, f form) []byte {
	var space [64]glyph
	run := space[:0]
	for len(text) > 0 {
		start, end := n.next(text, f)
		dst = append(dst, text[:start]...)
		if start < end {
			run = n.decompose(run[:0], text[start:end], f)
			run = sortMarks(run)
			if f.compose {
				run = n.composeAll(run)
			}
			for _, g := range run {
				dst = utf8.AppendRune(dst, g.r)
			}
		}
		text = text[end:]
	}
	return dst
}

// next finds what must be normalised first: text[start:end] begins with a plain
// character, or where text does, and ends before one.
func (n *normData) next(text []byte, f form) (start, end int) {
	if f.plain == notPlainC {
		start = n.checkC(text)
	} else {
		start = n.check(text, f.plain)
	}
	if start == len(text) {
		return start, start
	}
	_, size := utf8.DecodeRune(text[start:])
	end = start + size
	for end < len(text) && text[end] >= 0x80 {
		r, size := utf8.DecodeRune(text[end:])
		if n.of(r)&f.plain == 0 {
			break
		}
		end += size
	}
	return start, end
}

// check gives the length of the part of text, before a last plain character, that is
// plain throughout; all of text if that is.
func (n *normData) check(text []byte, plain property) int {
	last := 0
	for i := 0; i < len(text); {
		if j := ascii(text, i); j > i {
			i, last = j, j-1
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if n.of(r)&plain != 0 {
			return last
		}
		last = i
		i += size
	}
	return len(text)
}

// ascii ends the run of ASCII at i.
func ascii(text []byte, i int) int {
	for i+32 <= len(text) {
		w := text[i : i+32]
		if (binary.LittleEndian.Uint64(w)|binary.LittleEndian.Uint64(w[8:])|
			binary.LittleEndian.Uint64(w[16:])|binary.LittleEndian.Uint64(w[24:]))&0x8080808080808080 != 0 {
			break
		}
		i += 32
	}
	for i < len(text) && text[i] < 0x80 {
		i++
	}
	return i
}

// decompose appends the full decomposition of text.
func (n *normData) decompose(run []glyph, text []byte, f form) []glyph {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		text = text[size:]
		if s := r - hangulS; s >= 0 && s < countS {
			run = append(run, glyph{r: hangulL + s/countN}, glyph{r: hangulV + s%countN/countT})
			if t := s % countT; t > 0 {
				run = append(run, glyph{r: hangulT + t})
			}
			continue
		}
		p := n.of(r)
		var to []rune
		if f.compatible && p&notPlainKD != 0 {
			to = n.compatible[r]
		}
		if to == nil && p&decomposed != 0 {
			to = n.canonical[r]
		}
		if to == nil {
			run = append(run, glyph{r, uint8(p & classMask)})
		}
		for _, d := range to {
			run = append(run, glyph{d, uint8(n.of(d) & classMask)})
		}
	}
	return run
}

// longRun is from where on marks are sorted by counting, so that a run of any length
// costs time in proportion to it.
const longRun = 24

// sortMarks puts each run of marks in the order of their classes; marks of one class
// stay in order.
func sortMarks(run []glyph) []glyph {
	for i := 0; i < len(run); {
		if run[i].class == 0 {
			i++
			continue
		}
		j := i + 1
		for j < len(run) && run[j].class != 0 {
			j++
		}
		if j-i < longRun {
			insertionSort(run[i:j])
		} else {
			countingSort(run[i:j])
		}
		i = j
	}
	return run
}

func insertionSort(marks []glyph) {
	for i := 1; i < len(marks); i++ {
		g := marks[i]
		j := i
		for ; j > 0 && marks[j-1].class > g.class; j-- {
			marks[j] = marks[j-1]
		}
		marks[j] = g
	}
}

func countingSort(marks []glyph) {
	var at [256]int
	for _, g := range marks {
		at[g.class]++
	}
	sum := 0
	for class, count := range &at {
		at[class] = sum
		sum += count
	}
	for _, g := range slices.Clone(marks) {
		marks[at[g.class]] = g
		at[g.class]++
	}
}

// composeAll composes a run in order, in place. A mark composes with the last starter
// unless one of the same or a higher class that stayed stands between.
func (n *normData) composeAll(run []glyph) []glyph {
	starter := -1 // in out
	var between uint8
	open := false // something stays between starter and here
	out := run[:0]
	for _, g := range run {
		if starter >= 0 && (!open || between < g.class) {
			if r, ok := n.compose(out[starter].r, g.r); ok {
				out[starter].r = r
				continue
			}
		}
		if g.class == 0 {
			starter, open = len(out), false
		} else {
			between, open = g.class, true
		}
		out = append(out, g)
	}
	return out
}

package normalize

import "unicode/utf8"

// graphemeClass is a class of characters for cutting text into graphemes (Unicode
// Standard Annex 29).
type graphemeClass uint8

const (
	other graphemeClass = iota
	carriageReturn
	lineFeed
	control
	extend
	joiner
	spacingMark
	prepend
	regional
	pictographic
	consonant
	hangulL
	hangulV
	hangulT
	hangulLV
	hangulLVT
)

type graphemeRange struct {
	low, high rune
	class     graphemeClass
}

// lookUp finds a character in ranges.
func lookUp(ranges []graphemeRange, r rune) graphemeClass {
	low, high := 0, len(ranges)
	for low < high {
		middle := int(uint(low+high) >> 1)
		switch at := &ranges[middle]; {
		case r < at.low:
			high = middle
		case r > at.high:
			low = middle + 1
		default:
			return at.class
		}
	}
	return other
}

func classOf(r rune) graphemeClass {
	switch {
	case r >= ' ' && r <= '~':
		return other
	case r == '\n':
		return lineFeed
	case r == '\r':
		return carriageReturn
	case r >= 0xAC00 && r <= 0xD7A3:
		if (r-0xAC00)%28 == 0 {
			return hangulLV
		}
		return hangulLVT
	}
	return lookUp(graphemeRanges, r)
}

// linker says whether r joins two consonants of an Indic script.
func linker(r rune) bool {
	switch r {
	case 0x94D, 0x9CD, 0xACD, 0xB4D, 0xC4D, 0xD4D:
		return true
	}
	return false
}

// cluster is what has been read of a grapheme.
type cluster struct {
	last     graphemeClass
	regional bool // an odd number of regional indicators
	emoji    bool // a pictograph, then extending characters only
	conjunct bool // a consonant, then linkers and characters of conjuncts only
	linked   bool // with a linker among them
}

// add appends a character.
func (c *cluster) add(r rune, class graphemeClass) {
	c.regional = class == regional && !c.regional
	c.emoji = class == pictographic || c.emoji && (class == extend || class == joiner)
	switch {
	case class == consonant:
		c.conjunct, c.linked = true, false
	case linker(r):
		c.linked = c.conjunct
	default:
		c.conjunct = c.conjunct && lookUp(conjunctRanges, r) == extend
	}
	c.last = class
}

// goesOn says whether a character of a class belongs to the grapheme (rules GB3 to
// GB13).
func (c *cluster) goesOn(class graphemeClass) bool {
	switch {
	case c.last == carriageReturn && class == lineFeed:
		return true
	case c.last == control || c.last == carriageReturn || c.last == lineFeed:
		return false
	case class == control || class == carriageReturn || class == lineFeed:
		return false
	case c.last == hangulL && (class == hangulL || class == hangulV || class == hangulLV || class == hangulLVT):
		return true
	case (c.last == hangulLV || c.last == hangulV) && (class == hangulV || class == hangulT):
		return true
	case (c.last == hangulLVT || c.last == hangulT) && class == hangulT:
		return true
	case class == extend || class == joiner || class == spacingMark || c.last == prepend:
		return true
	case class == consonant:
		return c.conjunct && c.linked
	case c.last == joiner && class == pictographic:
		return c.emoji
	}
	return c.last == regional && class == regional && c.regional
}

// grapheme is where the grapheme at from ends.
func grapheme(text []byte, from int) int {
	if from+1 < len(text) && text[from]-' ' <= '~'-' ' && text[from+1]-' ' <= '~'-' ' {
		return from + 1
	}
	r, size := utf8.DecodeRune(text[from:])
	var c cluster
	c.add(r, classOf(r))
	for at := from + size; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		class := classOf(r)
		if !c.goesOn(class) {
			return at
		}
		c.add(r, class)
		at += size
	}
	return len(text)
}

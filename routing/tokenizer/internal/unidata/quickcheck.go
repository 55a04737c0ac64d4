package unidata

// IsNFC is a quick check: len(text) if text is in normalisation form C, else the
// length of a prefix that is, and that what follows leaves alone. NFC(prefix) +
// NFC(rest) is then NFC(text). Some normalised text gets less than its length.
func IsNFC(text []byte) int { return norm().checkC(text) }

// checkC is check for form C, which lets marks pass that stay where they are.
func (n *normData) checkC(text []byte) int {
	last := 0 // start of the last starter
	for i := 0; i < len(text); {
		b := text[i]
		if b < 0x80 {
			i = ascii(text, i)
			last = i - 1
			continue
		}
		if skip := int(n.skip[b]); skip != 0 && i+skip <= len(text) {
			last = i
			i += skip
			continue
		}
		r, size := decodeWide(text, i)
		if n.of(r)&notPlainC == 0 {
			last = i
			i += size
			continue
		}
		end := n.marksStay(text, last, i)
		if end == 0 {
			return last
		}
		i = end
	}
	return len(text)
}

// marksStay reads the characters from i on that are not plain, after the starter at
// last. It ends them if they are as normalisation leaves them, else it is 0.
func (n *normData) marksStay(text []byte, last, i int) int {
	starter, size := decode(text, last)
	p := n.of(starter)
	if last+size != i || p&(decomposed|classMask) != 0 {
		return 0
	}
	var between uint8
	open := false
	for i < len(text) {
		r, size := decode(text, i)
		p := n.of(r)
		if p&notPlainC == 0 {
			break
		}
		class := uint8(p & classMask)
		if p&decomposed != 0 || class != 0 && class < between {
			return 0
		}
		if p&backward != 0 && (!open || between < class) {
			if _, ok := n.compose(starter, r); ok {
				return 0
			}
		}
		between, open = class, true
		if class == 0 {
			starter, open = r, false
		}
		i += size
	}
	return i
}

func decode(text []byte, i int) (r rune, size int) {
	if text[i] < 0x80 {
		return rune(text[i]), 1
	}
	return decodeWide(text, i)
}

// decodeWide decodes a character beyond ASCII, in text that is valid; in any other it
// stays in the text and goes forward.
func decodeWide(text []byte, i int) (r rune, size int) {
	b := rune(text[i])
	rest := text[i:]
	switch {
	case b < 0xE0 && len(rest) >= 2:
		return b&0x1F<<6 | rune(rest[1]&0x3F), 2
	case b < 0xF0 && len(rest) >= 3:
		return b&0x0F<<12 | rune(rest[1]&0x3F)<<6 | rune(rest[2]&0x3F), 3
	case len(rest) >= 4:
		return b&0x07<<18 | rune(rest[1]&0x3F)<<12 | rune(rest[2]&0x3F)<<6 | rune(rest[3]&0x3F), 4
	}
	return 0xFFFD, 1
}

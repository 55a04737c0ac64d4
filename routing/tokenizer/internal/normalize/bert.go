package normalize

import (
	"unicode/utf8"

	"penstock/routing/tokenizer/internal/runeset"
	"penstock/routing/tokenizer/internal/spec"
	"penstock/routing/tokenizer/internal/unidata"
)

// newBert makes BertNormalizer: its four parts in the order of the library.
func newBert(n *spec.Normalizer, v unidata.Version) []step {
	var parts []step
	if n.CleanText {
		parts = append(parts, step{apply: clean})
	}
	if n.ChineseChars {
		parts = append(parts, step{apply: spaceChinese, same: ascii})
	}
	if n.StripAccents {
		parts = append(parts, step{apply: unidata.NFD, same: ascii}, step{apply: dropNonspacing, same: ascii})
	}
	if n.Lowercase {
		parts = append(parts, step{apply: unidata.Classes(v).LowerText})
	}
	for i := range parts {
		parts[i].drops = true
	}
	return parts
}

// filter appends what keep lets through of text, changed by it.
func filter(dst, text []byte, keep func(rune) (rune, bool)) []byte {
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		if changed, kept := keep(r); kept {
			dst = utf8.AppendRune(dst, changed)
		}
		at += size
	}
	return dst
}

// clean takes control characters away and makes white space a space.
func clean(dst, text []byte) []byte {
	return filter(dst, text, func(r rune) (rune, bool) {
		switch {
		case r > ' ' && r < 0x7F:
			return r, true
		case r == 0 || r == utf8.RuneError || runeset.Control().Has(r):
			return r, false
		case runeset.Space().Has(r):
			return ' ', true
		}
		return r, true
	})
}

// spaceChinese puts spaces around Chinese characters.
func spaceChinese(dst, text []byte) []byte {
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		chinese := isChinese(r)
		if chinese {
			dst = append(dst, ' ')
		}
		dst = append(dst, text[at:at+size]...)
		if chinese {
			dst = append(dst, ' ')
		}
		at += size
	}
	return dst
}

// isChinese has the blocks that BERT's own code lists.
func isChinese(r rune) bool {
	switch {
	case r < 0x3400:
		return false
	case r <= 0x4DBF, r >= 0x4E00 && r <= 0x9FFF, r >= 0xF900 && r <= 0xFAFF:
		return true
	case r >= 0x20000 && r <= 0x2A6DF, r >= 0x2A700 && r <= 0x2B73F, r >= 0x2B740 && r <= 0x2B81F:
		return true
	}
	return r >= 0x2B920 && r <= 0x2CEAF || r >= 0x2F800 && r <= 0x2FA1F
}

func dropNonspacing(dst, text []byte) []byte {
	return filter(dst, text, func(r rune) (rune, bool) { return r, !runeset.Nonspacing().Has(r) })
}

func dropAccents(dst, text []byte) []byte {
	return filter(dst, text, func(r rune) (rune, bool) { return r, !runeset.Combining().Has(r) })
}

// nmt takes control characters away and makes odd white space a space, as the library
// lists both.
func nmt(dst, text []byte) []byte {
	return filter(dst, text, func(r rune) (rune, bool) {
		switch {
		case r >= 1 && r <= 8, r == 0xB, r >= 0xE && r <= 0x1F, r == 0x7F, r == 0x8F, r == 0x9F:
			return r, false
		case r == '\t', r == '\n', r == 0xC, r == '\r', r == 0x1680, r >= 0x200B && r <= 0x200F:
			return ' ', true
		case r == 0x2028, r == 0x2029, r == 0x2581, r == 0xFEFF, r == utf8.RuneError:
			return ' ', true
		}
		return r, true
	})
}

// strip takes white space away at the ends.
func strip(left, right bool) func(dst, text []byte) []byte {
	return func(dst, text []byte) []byte {
		if right {
			text = text[:runeset.Space().TrimRight(text)]
		}
		if left {
			text = text[runeset.Space().TrimLeft(text):]
		}
		return append(dst, text...)
	}
}

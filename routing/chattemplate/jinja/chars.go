package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// isSpace is Python's str.isspace for one character.
func isSpace(r rune) bool {
	if r < utf8.RuneSelf {
		return r == ' ' || r >= 0x09 && r <= 0x0d || r >= 0x1c && r <= 0x1f
	}
	return unicode.IsSpace(r)
}

func trimLeft(s string) string  { return strings.TrimLeftFunc(s, isSpace) }
func trimRight(s string) string { return strings.TrimRightFunc(s, isSpace) }

// isBlank reports whether s is white space, and some.
func isBlank(s string) bool { return s != "" && trimLeft(s) == "" }

// isNamePart reports whether r may stand in an identifier.
func isNamePart(r rune, first bool) bool {
	if r < utf8.RuneSelf {
		return r == '_' || r|0x20 >= 'a' && r|0x20 <= 'z' || !first && r >= '0' && r <= '9'
	}
	if unicode.In(r, unicode.L, unicode.Nl, unicode.Other_ID_Start) {
		return true
	}
	return !first && unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue)
}

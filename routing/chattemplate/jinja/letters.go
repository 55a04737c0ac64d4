package jinja

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"
)

func inRanges(r rune, ranges [][2]rune) bool {
	i, found := slices.BinarySearchFunc(ranges, r, func(at [2]rune, r rune) int { return int(at[1]) - int(r) })
	return found || i < len(ranges) && ranges[i][0] <= r
}

// Properties of characters, by Python's names.
func isDecimal(r rune) bool { return unicode.IsDigit(r) }

func isDigit(r rune) bool { return isDecimal(r) || r >= utf8.RuneSelf && inRanges(r, otherDigits) }

func isNumeric(r rune) bool { return isDigit(r) || r >= utf8.RuneSelf && inRanges(r, otherNumerics) }
func isAlnum(r rune) bool   { return unicode.IsLetter(r) || isNumeric(r) }
func isASCII(r rune) bool   { return r < utf8.RuneSelf }
func isLower(r rune) bool   { return unicode.IsLower(r) || unicode.Is(unicode.Other_Lowercase, r) }
func isUpper(r rune) bool   { return unicode.IsUpper(r) || unicode.Is(unicode.Other_Uppercase, r) }
func isTitle(r rune) bool   { return unicode.Is(unicode.Lt, r) }
func isCased(r rune) bool   { return isLower(r) || isUpper(r) || isTitle(r) }
func isWord(r rune) bool    { return r == '_' || isAlnum(r) }

// isCaseIgnorable tells the characters that the rule for the final sigma skips.
func isCaseIgnorable(r rune) bool {
	switch r {
	case '\'', '.', ':', '^', '`', 0xa8, 0xad, 0xaf, 0xb4, 0xb7, 0xb8, 0x2018, 0x2019, 0x2024, 0x2027, 0xfe13, 0xfe52, 0xfe55, 0xff07, 0xff0e, 0xff1a:
		return true
	}
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}

func asciiUpper(c byte) byte {
	if c-'a' < 26 {
		c -= 'a' - 'A'
	}
	return c
}

func asciiLower(c byte) byte {
	if c-'A' < 26 {
		c += 'a' - 'A'
	}
	return c
}

func appendUpper(dst []byte, r rune) []byte {
	if r < utf8.RuneSelf {
		return append(dst, asciiUpper(byte(r)))
	}
	if s, ok := specialUpper[r]; ok {
		return append(dst, s...)
	}
	return utf8.AppendRune(dst, unicode.ToUpper(r))
}

func appendTitle(dst []byte, r rune) []byte {
	if r < utf8.RuneSelf {
		return append(dst, asciiUpper(byte(r)))
	}
	if s, ok := specialTitle[r]; ok {
		return append(dst, s...)
	}
	return utf8.AppendRune(dst, unicode.ToTitle(r))
}

// appendLower writes the lower case of the character of size bytes at i in s.
func appendLower(dst, s []byte, i, size int) []byte {
	if size == 1 && s[i] < utf8.RuneSelf {
		return append(dst, asciiLower(s[i]))
	}
	r, _ := utf8.DecodeRune(s[i:])
	if r == 'Σ' {
		return append(dst, lowerSigma(s[:i], s[i+size:])...)
	}
	if special, ok := specialLower[r]; ok {
		return append(dst, special...)
	}
	return utf8.AppendRune(dst, unicode.ToLower(r))
}

// lowerSigma is a final sigma at the end of a word.
func lowerSigma(before, after []byte) string {
	for len(before) > 0 {
		r, size := utf8.DecodeLastRune(before)
		if !isCaseIgnorable(r) {
			if !isCased(r) {
				return "σ"
			}
			break
		}
		before = before[:len(before)-size]
	}
	if len(before) == 0 {
		return "σ"
	}
	for len(after) > 0 {
		r, size := utf8.DecodeRune(after)
		if !isCaseIgnorable(r) {
			if isCased(r) {
				return "σ"
			}
			break
		}
		after = after[size:]
	}
	return "ς"
}

// isASCIIText reports whether s has single-byte characters only.
func isASCIIText(s []byte) bool {
	for _, c := range s {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// runeCount is the length of s in characters.
func runeCount(r *run, s []byte) int {
	r.work(len(s))
	return utf8.RuneCount(s)
}

// offset is where character n of s starts, at most the end.
func offset(s []byte, n int) int {
	at := 0
	for at < len(s) && n > 0 {
		if s[at] < utf8.RuneSelf {
			at++
		} else {
			_, size := utf8.DecodeRune(s[at:])
			at += size
		}
		n--
	}
	return at
}

func trimSpace(s []byte, left, right bool) []byte {
	if left {
		s = bytes.TrimLeftFunc(s, isSpace)
	}
	if right {
		s = bytes.TrimRightFunc(s, isSpace)
	}
	return s
}

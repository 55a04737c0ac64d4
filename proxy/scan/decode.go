package scan

import (
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// hex4 decodes four hex digits, -1 when they are not.
func hex4(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		switch {
		case isDigit(c):
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// unescape appends the decoded content of a valid JSON string. exact is false
// when an unpaired surrogate had to become U+FFFD.
func unescape(dst, raw []byte) (out []byte, exact bool) {
	exact = true
	for i := 0; i < len(raw); {
		c := raw[i]
		if c != '\\' {
			dst = append(dst, c)
			i++
			continue
		}
		if raw[i+1] != 'u' {
			dst = append(dst, unescaped(raw[i+1]))
			i += 2
			continue
		}
		r := hex4(raw[i+2:])
		i += 6
		if utf16.IsSurrogate(r) {
			low := rune(-1)
			if len(raw)-i >= 6 && raw[i] == '\\' && raw[i+1] == 'u' {
				low = hex4(raw[i+2:])
			}
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				exact = false
			} else {
				i += 6
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst, exact
}

// unescaped maps the letter of a two-byte escape to its character.
func unescaped(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// integer reads a JSON number that has an integral value within int64. Engines
// accept 16.0 and 1e2 for an integer, so these pass too.
func integer(raw []byte) (int64, bool) {
	i, negative := 0, raw[0] == '-'
	if negative {
		i = 1
	}
	var n int64
	for ; i < len(raw); i++ {
		c := raw[i]
		if !isDigit(c) {
			return integralFloat(raw)
		}
		if n > (math.MaxInt64-9)/10 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}

func integralFloat(raw []byte) (int64, bool) {
	if len(raw) > 32 { // nobody writes a token limit this long; bound the parse
		return 0, false
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// AppendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		}
		i++
	}
	return append(dst, '"')
}

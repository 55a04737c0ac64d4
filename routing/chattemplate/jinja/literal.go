package jinja

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// number reads the number at the start of s; afterDot tells that a dot stands before
// it, which no float may have.
func number(s string, afterDot bool) (kind token, length int) {
	if n := floatLength(s); n > 0 && !afterDot {
		return tokenFloat, n
	}
	if len(s) > 2 && s[0] == '0' {
		for prefix, digits := range map[byte]string{'b': "01", 'o': "01234567", 'x': "0123456789abcdefABCDEF"} {
			if s[1]|0x20 == prefix {
				if n := digitRun(s[2:], digits, true); n > 0 {
					return tokenInteger, 2 + n
				}
			}
		}
	}
	if s[0] == '0' {
		return tokenInteger, 1 + digitRun(s[1:], "0", true)
	}
	return tokenInteger, digitRun(s, "0123456789", false)
}

// digitRun is the length of digits at the start of s, single underscores between them;
// leading tells that one may come first.
func digitRun(s, digits string, leading bool) int {
	n := 0
	for n < len(s) {
		i := n
		if s[i] == '_' && (n > 0 || leading) {
			i++
		}
		if i >= len(s) || strings.IndexByte(digits, s[i]) < 0 {
			break
		}
		n = i + 1
	}
	return n
}

// floatLength is the length of the float at the start of s, 0 if there is none.
func floatLength(s string) int {
	const digits = "0123456789"
	whole := digitRun(s, digits, false)
	end := whole
	if end < len(s) && s[end] == '.' {
		if n := digitRun(s[end+1:], digits, false); n > 0 {
			end += 1 + n
		}
	}
	if end < len(s) && s[end]|0x20 == 'e' {
		i := end + 1
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if n := digitRun(s[i:], digits, false); n > 0 {
			return i + n
		}
	}
	if end == whole {
		return 0
	}
	return end
}

// quoted reads the string literal at the start of rest.
func (l *lexer) quoted(rest string) error {
	end := 1
	for ; end < len(rest) && rest[end] != rest[0]; end++ {
		if rest[end] == '\\' {
			end++
		}
	}
	if end >= len(rest) {
		return l.errorf("unexpected char %q", rest[0])
	}
	text, ok := unescape(rest[1:end])
	if !ok {
		return fmt.Errorf("%w: line %d: string %q", ErrUnsupported, l.line, rest[:end+1])
	}
	l.add(tokenString, text)
	l.advance(end + 1)
	return nil
}

// simpleEscapes are the escapes of one letter.
var simpleEscapes = map[byte]string{
	'\n': "", '\\': `\`, '\'': "'", '"': `"`,
	'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v",
}

// unescape reads the inside of a string literal as Python's unicode-escape codec
// does. It refuses names of characters and surrogates.
func unescape(s string) (text string, ok bool) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, true
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			i++
			continue
		}
		if i++; i == len(s) {
			return "", false
		}
		c := s[i]
		if plain, found := simpleEscapes[c]; found {
			b.WriteString(plain)
			i++
			continue
		}
		n, ok := 0, true
		switch {
		case c >= '0' && c <= '7':
			n, ok = octalEscape(&b, s[i:]), true
		case c == 'x':
			n, ok = hexEscape(&b, s[i:], 2)
		case c == 'u':
			n, ok = hexEscape(&b, s[i:], 4)
		case c == 'U':
			n, ok = hexEscape(&b, s[i:], 8)
		case c == 'N':
			ok = false
		default:
			n = unknownEscape(&b, s[i:])
		}
		if !ok {
			return "", false
		}
		i += n
	}
	return b.String(), true
}

func octalEscape(b *strings.Builder, s string) int {
	n, r := 0, rune(0)
	for n < 3 && n < len(s) && s[n] >= '0' && s[n] <= '7' {
		r = r*8 + rune(s[n]-'0')
		n++
	}
	b.WriteRune(r)
	return n
}

func hexEscape(b *strings.Builder, s string, digits int) (n int, ok bool) {
	if len(s) < 1+digits {
		return 0, false
	}
	r, err := strconv.ParseUint(s[1:1+digits], 16, 32)
	if err != nil || r > utf8.MaxRune || !utf8.ValidRune(rune(r)) {
		return 0, false
	}
	b.WriteRune(rune(r))
	return 1 + digits, true
}

// unknownEscape keeps the backslash. Jinja escapes what is not ASCII before it reads
// escapes, so that a backslash before such a character spoils its escape.
func unknownEscape(b *strings.Builder, s string) int {
	r, size := utf8.DecodeRuneInString(s)
	b.WriteByte('\\')
	switch {
	case r < utf8.RuneSelf:
		b.WriteRune(r)
	case r < 0x100:
		b.WriteString("x" + pad(r, 2))
	case r < 0x10000:
		b.WriteString("u" + pad(r, 4))
	default:
		b.WriteString("U" + pad(r, 8))
	}
	return size
}

func pad(r rune, width int) string {
	s := strconv.FormatInt(int64(r), 16)
	return strings.Repeat("0", max(0, width-len(s))) + s
}

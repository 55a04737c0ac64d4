package value

import (
	"bytes"
	"unicode/utf8"
)

// str reads a string whose opening quote was just read.
func (p *parser) str() []byte {
	body := p.body[p.at:]
	quote := bytes.IndexByte(body, '"')
	if quote < 0 {
		p.fail(ErrSyntax)
		return nil
	}
	escape := bytes.IndexByte(body[:quote], '\\')
	if escape < 0 {
		p.at += quote + 1
		return body[:quote:quote]
	}
	end := closingQuote(body, escape, quote)
	if end < 0 {
		p.fail(ErrSyntax)
		return nil
	}
	text := p.m.text.take(end)
	n := p.unescape(text, body[:end], escape)
	p.m.text.untake(len(text) - n)
	p.at += end + 1
	return text[:n:n]
}

// closingQuote finds the end of a string with an escape before its first quote.
func closingQuote(body []byte, escape, quote int) int {
	for {
		// A quote is escaped when an odd number of backslashes stands before it.
		run := quote
		for run > escape && body[run-1] == '\\' {
			run--
		}
		if (quote-run)%2 == 0 {
			return quote
		}
		next := bytes.IndexByte(body[quote+1:], '"')
		if next < 0 {
			return -1
		}
		quote += 1 + next
	}
}

// unescape writes src without its escapes, the first of which is at escape, to dst,
// which is as long. It gives the length written.
func (p *parser) unescape(dst, src []byte, escape int) int {
	n := copy(dst, src[:escape])
	src = src[escape:]
	for {
		c := src[1] // a backslash is never the last byte: closingQuote saw to that
		if plain := plainEscapes[c]; plain != 0 {
			dst[n] = plain
			n++
			src = src[2:]
		} else {
			size, used := p.unicodeEscape(dst[n:], src)
			if used == 0 {
				return n
			}
			n += size
			src = src[used:]
		}
		next := bytes.IndexByte(src, '\\')
		if next < 0 {
			return n + copy(dst[n:], src)
		}
		n += copy(dst[n:], src[:next])
		src = src[next:]
	}
}

// plainEscapes has what the letter after a backslash stands for.
var plainEscapes = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// unicodeEscape writes the character of the \u escape at the start of src, and of the
// second one of a surrogate pair; used is 0 after an error.
func (p *parser) unicodeEscape(dst, src []byte) (size, used int) {
	r, ok := hex4(src)
	if !ok {
		p.fail(ErrSyntax)
		return 0, 0
	}
	used = 6
	if r >= 0xd800 && r < 0xe000 {
		low, ok := hex4(src[6:])
		if r >= 0xdc00 || !ok || low < 0xdc00 || low >= 0xe000 {
			p.fail(ErrSurrogate)
			return 0, 0
		}
		r = 0x10000 + (r-0xd800)<<10 + (low - 0xdc00)
		used = 12
	}
	return utf8.EncodeRune(dst, r), used
}

// hex4 reads \uXXXX.
func hex4(src []byte) (r rune, ok bool) {
	if len(src) < 6 || src[0] != '\\' || src[1] != 'u' {
		return 0, false
	}
	for _, c := range src[2:6] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

package value

import (
	"bytes"
	"encoding/binary"
	"math/bits"
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
	// No string is longer than the rest of the body: what the first one with escapes
	// reserves does for all behind it.
	text := p.m.text.take(len(body))
	n := p.unescape(text, body, escape)
	p.m.text.untake(len(text) - n)
	return text[:n:n]
}

// Words of eight bytes, for looking at as many at a time.
const (
	word        = 8
	ones        = 0x0101010101010101
	highBits    = 0x80 * ones
	quotes      = '"' * ones
	backslashes = '\\' * ones
)

// special has the high bit of every byte of a word that is a quote or a backslash; it
// may have those of bytes above the lowest of them, and has other bits besides.
func special(w, quote, slash, one uint64) uint64 {
	return (((w ^ quote) - one) | ((w ^ slash) - one)) &^ w
}

// unescape copies the string at the start of src, the first escape of which is at
// escape, to dst, which is as long, without its escapes; it moves past the closing
// quote. It gives the length written.
func (p *parser) unescape(dst, src []byte, escape int) int {
	n := copy(dst, src[:escape])
	i := escape
	for {
		read, written := plainly(dst[n:], src[i:], quotes, backslashes, ones)
		i, n = i+read, n+written
		switch c := src[i:]; {
		case len(c) == 0:
			p.fail(ErrSyntax)
			return n
		case c[0] == '"':
			p.at += i + 1
			return n
		case c[0] != '\\':
			dst[n] = c[0]
			i, n = i+1, n+1
		default:
			size, used := p.escape(dst[n:], c)
			if used == 0 {
				return n
			}
			i, n = i+used, n+size
		}
	}
}

// plainly copies src to dst, without the escapes of one letter, up to what is none of
// these: a quote, another escape, or the last bytes. The words to compare with are
// arguments for the sake of registers: constants would be loaded anew for every word.
func plainly(dst, src []byte, quote, slash, one uint64) (i, n int) {
	for i <= len(src)-2*word && n <= len(dst)-2*word {
		first, second := binary.LittleEndian.Uint64(src[i:]), binary.LittleEndian.Uint64(src[i+word:])
		binary.LittleEndian.PutUint64(dst[n:], first)
		binary.LittleEndian.PutUint64(dst[n+word:], second)
		found, after := special(first, quote, slash, one), special(second, quote, slash, one)
		if (found|after)&highBits == 0 {
			i, n = i+2*word, n+2*word
			continue
		}
		if found &= highBits; found == 0 {
			i, n = i+word, n+word
			found = after & highBits
		}
		at := bits.TrailingZeros64(found) / 8
		i, n = i+at, n+at
		if i+1 >= len(src) || n >= len(dst) || src[i] == '"' {
			break
		}
		plain := plainEscapes[src[i+1]]
		if plain == 0 {
			break
		}
		dst[n] = plain
		i, n = i+2, n+1
	}
	return i, n
}

// escape writes what the escape at the start of src stands for; used is 0 after an
// error.
func (p *parser) escape(dst, src []byte) (size, used int) {
	if len(src) < 2 {
		p.fail(ErrSyntax)
		return 0, 0
	}
	if plain := plainEscapes[src[1]]; plain != 0 {
		dst[0] = plain
		return 1, 2
	}
	return p.unicodeEscape(dst, src)
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

package spec

import (
	"bytes"
	"math"
	"unicode/utf16"
	"unicode/utf8"
)

// deepest is how many arrays and objects may be inside each other. serde_json, which
// the tokenizers library reads with, allows 128.
const deepest = 128

// reader walks through JSON text without building a tree: the vocabularies have half
// a million strings, for which encoding/json takes seconds. The text is valid UTF-8.
type reader struct {
	data    []byte
	at      int
	scratch []byte // of str, for strings with escapes
	exact   bool   // read numbers to the last place
}

// bad is the error at the place reached.
func (r *reader) bad(what string) error {
	return Invalid("%s at byte %d", what, r.at)
}

// next skips white space and gives the byte that follows; 0 at the end.
func (r *reader) next() byte {
	for r.at < len(r.data) {
		switch c := r.data[r.at]; c {
		case ' ', '\n', '\r', '\t':
			r.at++
		default:
			return c
		}
	}
	return 0
}

// expect takes one byte.
func (r *reader) expect(c byte) error {
	if r.next() != c {
		return r.bad("expected " + string(rune(c)))
	}
	r.at++
	return nil
}

// more says whether another element follows in an array or object that close ends,
// and takes the comma before it or the closing byte.
func (r *reader) more(first bool, closing byte) (bool, error) {
	switch c := r.next(); {
	case c == closing:
		r.at++
		return false, nil
	case first:
		return true, nil
	case c == ',':
		r.at++
		if r.next() == closing {
			return false, r.bad("a comma before the end")
		}
		return true, nil
	}
	return false, r.bad("expected a comma")
}

// object calls each for every key, the reader standing before the value.
func (r *reader) object(each func(key string) error) error {
	if err := r.expect('{'); err != nil {
		return err
	}
	for first := true; ; first = false {
		again, err := r.more(first, '}')
		if err != nil || !again {
			return err
		}
		key, err := r.key()
		if err != nil {
			return err
		}
		if err := each(string(key)); err != nil {
			return err
		}
	}
}

// key reads the key of an object and the colon after it.
func (r *reader) key() ([]byte, error) {
	key, err := r.str()
	if err != nil {
		return nil, err
	}
	return key, r.expect(':')
}

// str reads a string. The result is good until the next call.
func (r *reader) str() ([]byte, error) {
	if err := r.expect('"'); err != nil {
		return nil, err
	}
	start := r.at
	for i := start; i < len(r.data); i++ {
		switch c := r.data[i]; {
		case c == '"':
			r.at = i + 1
			return r.data[start:i], nil
		case c == '\\':
			r.scratch = append(r.scratch[:0], r.data[start:i]...)
			r.at = i
			return r.escaped()
		case c < ' ':
			r.at = i
			return nil, r.bad("a control character in a string")
		}
	}
	return nil, r.bad("a string without an end")
}

// escaped reads the rest of a string from its first backslash on.
func (r *reader) escaped() ([]byte, error) {
	for r.at < len(r.data) {
		c := r.data[r.at]
		r.at++
		switch {
		case c == '"':
			return r.scratch, nil
		case c < ' ':
			return nil, r.bad("a control character in a string")
		case c != '\\':
			r.scratch = append(r.scratch, c)
			continue
		}
		if err := r.escape(); err != nil {
			return nil, err
		}
	}
	return nil, r.bad("a string without an end")
}

// escape reads what follows a backslash.
func (r *reader) escape() error {
	if r.at == len(r.data) {
		return r.bad("a string without an end")
	}
	c := r.data[r.at]
	r.at++
	if c == 'u' {
		return r.unicode()
	}
	i := bytes.IndexByte([]byte(`"\/bfnrt`), c)
	if i < 0 {
		return r.bad("an unknown escape")
	}
	r.scratch = append(r.scratch, "\"\\/\b\f\n\r\t"[i])
	return nil
}

// unicode reads the digits of a \u escape, and the second half of a pair. A half
// alone is no character: serde_json refuses it too.
func (r *reader) unicode() error {
	unit, err := r.unit()
	if err != nil {
		return err
	}
	if utf16.IsSurrogate(unit) {
		if !bytes.HasPrefix(r.data[r.at:], []byte(`\u`)) {
			return r.bad("half a surrogate pair")
		}
		r.at += 2
		second, err := r.unit()
		if err != nil {
			return err
		}
		unit = utf16.DecodeRune(unit, second)
		if unit == utf8.RuneError {
			return r.bad("half a surrogate pair")
		}
	}
	r.scratch = utf8.AppendRune(r.scratch, unit)
	return nil
}

// unit reads four hexadecimal digits.
func (r *reader) unit() (rune, error) {
	if len(r.data)-r.at < 4 {
		return 0, r.bad("a short escape")
	}
	var unit rune
	for range 4 {
		digit := bytes.IndexByte([]byte("0123456789abcdef"), r.data[r.at]|0x20)
		if digit < 0 || r.data[r.at] < '0' {
			return 0, r.bad("a digit that is not hexadecimal")
		}
		unit = unit<<4 | rune(digit)
		r.at++
	}
	return unit, nil
}

// id reads a whole number of 32 bits.
func (r *reader) id() (uint32, error) {
	r.next()
	var value uint64
	start := r.at
	for r.at < len(r.data) && r.data[r.at]-'0' < 10 {
		value = value*10 + uint64(r.data[r.at]-'0')
		if value > math.MaxUint32 {
			return 0, r.bad("an id of more than 32 bits")
		}
		r.at++
	}
	if r.at == start {
		return 0, r.bad("expected an id")
	}
	return uint32(value), nil
}

// literal takes a word such as null when it is next.
func (r *reader) literal(word string) bool {
	r.next()
	if !bytes.HasPrefix(r.data[r.at:], []byte(word)) {
		return false
	}
	r.at += len(word)
	return true
}

// raw skips a value and gives its text.
func (r *reader) raw() ([]byte, error) {
	r.next()
	start := r.at
	if err := r.skip(0); err != nil {
		return nil, err
	}
	return r.data[start:r.at], nil
}

// skip steps over a value of any kind.
func (r *reader) skip(depth int) error {
	if depth == deepest {
		return r.bad("too many arrays inside each other")
	}
	switch c := r.next(); c {
	case '{', '[':
		return r.skipMany(c, depth)
	case '"':
		_, err := r.str()
		return err
	case 't', 'f', 'n':
		if r.literal("true") || r.literal("false") || r.literal("null") {
			return nil
		}
		return r.bad("an unknown word")
	default:
		_, err := r.float()
		return err
	}
}

// skipMany steps over an array or an object.
func (r *reader) skipMany(opening byte, depth int) error {
	r.at++
	for first := true; ; first = false {
		again, err := r.more(first, opening+2) // '[' + 2 is ']', '{' + 2 is '}'
		if err != nil || !again {
			return err
		}
		if opening == '{' {
			if _, err := r.key(); err != nil {
				return err
			}
		}
		if err := r.skip(depth + 1); err != nil {
			return err
		}
	}
}

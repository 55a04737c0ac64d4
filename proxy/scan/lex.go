package scan

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// scanner is the state of one scan. Its methods return false after calling fail.
type scanner struct {
	b      []byte
	i      int
	depth  int
	values int
	lim    Limits
	media  bool // inside messages or input: look for media parts
	out    *Result
	err    Error
}

func (s *scanner) fail(class error, offset int, reason string) bool {
	if s.err.Class == nil {
		s.err = Error{Class: class, Offset: offset, Reason: reason}
	}
	return false
}

// failHere reports a syntax error at the current byte, or a truncated body.
func (s *scanner) failHere(reason string) bool {
	if s.i >= len(s.b) {
		return s.fail(ErrSyntax, len(s.b), "unexpected end of body")
	}
	return s.fail(ErrSyntax, s.i, reason)
}

func (s *scanner) space() {
	for s.i < len(s.b) && isSpace(s.b[s.i]) {
		s.i++
	}
}

func isSpace(c byte) bool { return c <= ' ' && (c == ' ' || c == '\n' || c == '\r' || c == '\t') }

func isDigit(c byte) bool { return c-'0' < 10 }

func (s *scanner) peek() byte {
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0 // no JSON token begins with NUL
}

// value skips one JSON value of any type.
func (s *scanner) value() bool {
	s.values++
	if s.values > s.lim.Values {
		return s.fail(ErrTooMany, s.i, "too many values")
	}
	switch c := s.peek(); c {
	case '"':
		_, ok := s.str()
		return ok
	case '{':
		return s.object()
	case '[':
		return s.array()
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		if c == '-' || isDigit(c) {
			return s.number()
		}
	}
	return s.failHere("expected a value")
}

func (s *scanner) literal(word string) bool {
	if len(s.b)-s.i < len(word) || string(s.b[s.i:s.i+len(word)]) != word {
		return s.fail(ErrSyntax, s.i, "invalid literal")
	}
	s.i += len(word)
	return true
}

func (s *scanner) push() bool {
	s.depth++
	if s.depth > s.lim.Depth {
		return s.fail(ErrDepth, s.i, "nested too deeply")
	}
	s.i++
	s.space()
	return true
}

// sep consumes what follows a member or element: more is true after a comma.
func (s *scanner) sep(closing byte) (more, ok bool) {
	s.space()
	switch s.peek() {
	case ',':
		s.i++
		s.space()
		return true, true
	case closing:
		s.i++
		s.depth--
		return false, true
	}
	return false, s.failHere("expected a comma or a closing bracket")
}

func (s *scanner) array() bool {
	if !s.push() {
		return false
	}
	if s.peek() == ']' {
		s.i++
		s.depth--
		return true
	}
	for more := true; more; {
		s.integers()
		if !s.value() {
			return false
		}
		var ok bool
		if more, ok = s.sep(']'); !ok {
			return false
		}
	}
	return true
}

// integers skips elements that are plain non-negative integers with a comma
// behind, the bulk of a tokenized prompt, and returns how many. It stops before
// anything else; what it cannot judge is left for value to read or refuse.
func (s *scanner) integers() (n int) {
	b, i := s.b, s.i
	for {
		j := i
		for j < len(b) && isDigit(b[j]) {
			j++
		}
		if j == i || j == len(b) || b[j] != ',' || b[i] == '0' && j > i+1 {
			break
		}
		n++
		i = j + 1
		if i < len(b) && b[i] == ' ' {
			i++
		}
	}
	s.i = i
	s.values += n
	s.space()
	return n
}

func (s *scanner) object() bool {
	if !s.push() {
		return false
	}
	if s.peek() == '}' {
		s.i++
		s.depth--
		return true
	}
	counted := false
	for more := true; more; {
		key, escaped, ok := s.key()
		if !ok {
			return false
		}
		start := s.i
		if !s.value() {
			return false
		}
		if s.media {
			counted = s.mediaMember(key, escaped, start, counted)
		}
		if more, ok = s.sep('}'); !ok {
			return false
		}
	}
	return true
}

// key reads a member's name and colon, and stops at the value.
func (s *scanner) key() (key Span, escaped, ok bool) {
	if s.peek() != '"' {
		return Span{}, false, s.failHere("expected a member name")
	}
	key.Start = s.i
	if escaped, ok = s.str(); !ok {
		return Span{}, false, false
	}
	key.End = s.i
	s.space()
	if s.peek() != ':' {
		return Span{}, false, s.failHere("expected a colon")
	}
	s.i++
	s.space()
	return key, escaped, true
}

func (s *scanner) number() bool {
	if s.peek() == '-' {
		s.i++
	}
	switch c := s.peek(); {
	case c == '0':
		s.i++
	case isDigit(c):
		s.digits()
	default:
		return s.failHere("invalid number")
	}
	if s.peek() == '.' {
		s.i++
		if !isDigit(s.peek()) {
			return s.failHere("invalid number")
		}
		s.digits()
	}
	if s.peek()|0x20 == 'e' {
		s.i++
		if c := s.peek(); c == '+' || c == '-' {
			s.i++
		}
		if !isDigit(s.peek()) {
			return s.failHere("invalid number")
		}
		s.digits()
	}
	return true
}

func (s *scanner) digits() {
	for s.i < len(s.b) && isDigit(s.b[s.i]) {
		s.i++
	}
}

const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// special marks, by its high bit, the first byte of x that is a quote, a
// backslash or a control character. Marks above the first one may be false.
// x^2 maps the quote (0x22) to 0x20, next to the controls, so that one
// subtraction finds both.
func special(x uint64) uint64 {
	quoteOrControl := (x ^ 0x02*ones) - 0x21*ones
	backslash := (x ^ '\\'*ones) - ones
	return (quoteOrControl | backslash) &^ x & highs
}

// str skips the string whose opening quote is at s.i. It looks at 32 bytes per
// step; all text of a prompt goes through here.
func (s *scanner) str() (escaped, ok bool) {
	b, i := s.b, s.i+1
	start := i
	var seen uint64 // or of all bytes: a high bit means that there is non-ASCII text
	for {
		for i+32 <= len(b) {
			// Four words per test: almost all text of a prompt is plain.
			w := (*[32]byte)(b[i:])
			x0, x1 := binary.LittleEndian.Uint64(w[0:]), binary.LittleEndian.Uint64(w[8:])
			x2, x3 := binary.LittleEndian.Uint64(w[16:]), binary.LittleEndian.Uint64(w[24:])
			if special(x0)|special(x1)|special(x2)|special(x3) != 0 {
				break
			}
			seen |= x0 | x1 | x2 | x3
			i += 32
		}
		for i+16 <= len(b) {
			x, y := binary.LittleEndian.Uint64(b[i:]), binary.LittleEndian.Uint64(b[i+8:])
			seen |= x | y
			if m := special(x); m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				goto found
			}
			if m := special(y); m != 0 {
				i += 8 + bits.TrailingZeros64(m)>>3
				goto found
			}
			i += 16
		}
		for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
			seen |= uint64(b[i])
			i++
		}
	found:
		if i >= len(b) {
			return false, s.fail(ErrSyntax, len(b), "unexpected end of body")
		}
		switch b[i] {
		case '"':
			if seen&highs != 0 && !utf8.Valid(b[start:i]) {
				return false, s.fail(ErrSyntax, start+invalidAt(b[start:i]), "invalid UTF-8")
			}
			s.i = i + 1
			return escaped, true
		case '\\':
			n := escapeLen(b[i:])
			if n == 0 {
				return false, s.fail(ErrSyntax, i, "invalid escape")
			}
			escaped = true
			i += n
		default:
			return false, s.fail(ErrSyntax, i, "control character in a string")
		}
	}
}

// escapeLen returns the length of the escape that b begins with, 0 when invalid.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) >= 6 && hex4(b[2:6]) >= 0 {
			return 6
		}
	}
	return 0
}

// invalidAt returns the offset of the first invalid UTF-8 sequence.
func invalidAt(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(b)
}

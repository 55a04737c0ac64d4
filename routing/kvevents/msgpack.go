package kvevents

import (
	"encoding/binary"
	"errors"
	"math"
)

// ErrMalformed is the error of a payload that is no event batch.
var ErrMalformed = errors.New("kvevents: malformed payload")

// kind is what a MessagePack value is, as far as events need to know.
type kind uint8

const (
	kindNone kind = iota // the end of the payload, or a byte that starts no value
	kindNil
	kindBool
	kindInt
	kindFloat
	kindString
	kindBinary
	kindArray
	kindMap
	kindExtension
)

// maxDepth is how deep a value that is skipped may nest; events nest to 5.
const maxDepth = 64

// reader walks MessagePack in place. The first error sticks: after it every read
// gives a zero value, so callers check bad once.
type reader struct {
	data []byte
	bad  bool
}

// fail makes the error stick.
func (r *reader) fail() {
	r.data, r.bad = nil, true
}

// take cuts n bytes off the front.
func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.data) {
		r.fail()
		return nil
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

// number reads a big-endian number of n bytes: 1, 2, 4 or 8.
func (r *reader) number(n int) uint64 {
	b := r.take(n)
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.BigEndian.Uint16(b))
	case 4:
		return uint64(binary.BigEndian.Uint32(b))
	case 8:
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// kinds says what each first byte starts.
var kinds = makeKinds()

func makeKinds() (t [256]kind) {
	for c := range t {
		switch {
		case c < 0x80, c >= 0xe0, c >= 0xcc && c <= 0xd3:
			t[c] = kindInt
		case c < 0x90, c == 0xde, c == 0xdf:
			t[c] = kindMap
		case c < 0xa0, c == 0xdc, c == 0xdd:
			t[c] = kindArray
		case c < 0xc0, c >= 0xd9 && c <= 0xdb:
			t[c] = kindString
		case c == 0xc0:
			t[c] = kindNil
		case c == 0xc2, c == 0xc3:
			t[c] = kindBool
		case c >= 0xc4 && c <= 0xc6:
			t[c] = kindBinary
		case c == 0xca, c == 0xcb:
			t[c] = kindFloat
		case c >= 0xc7 && c <= 0xc9, c >= 0xd4 && c <= 0xd8:
			t[c] = kindExtension
		}
	}
	return t
}

// peek is the kind of the next value.
func (r *reader) peek() kind {
	if len(r.data) == 0 {
		return kindNone
	}
	return kinds[r.data[0]]
}

// head takes the first byte of a value.
func (r *reader) head() byte {
	if b := r.take(1); len(b) == 1 {
		return b[0]
	}
	return 0xc1 // never used
}

// integer reads an integer of any width as 64 bits, in two's complement if negative.
func (r *reader) integer() (bits uint64, negative bool) {
	switch c := r.head(); {
	case c < 0x80:
		return uint64(c), false
	case c >= 0xe0:
		return uint64(int64(int8(c))), true
	case c >= 0xcc && c <= 0xcf:
		return r.number(1 << (c - 0xcc)), false
	case c >= 0xd0 && c <= 0xd3:
		width := 1 << (c - 0xd0)
		shift := 64 - 8*width
		v := int64(r.number(width)<<shift) >> shift
		return uint64(v), v < 0
	}
	r.fail()
	return 0, false
}

// float reads a number of either kind.
func (r *reader) float() float64 {
	if r.peek() == kindInt {
		bits, negative := r.integer()
		if negative {
			return float64(int64(bits))
		}
		return float64(bits)
	}
	switch r.head() {
	case 0xca:
		return float64(math.Float32frombits(uint32(r.number(4))))
	case 0xcb:
		return math.Float64frombits(r.number(8))
	}
	r.fail()
	return 0
}

// bytes reads a string or binary value, without a copy.
func (r *reader) bytes() []byte {
	switch c := r.head(); {
	case c >= 0xa0 && c < 0xc0:
		return r.take(int(c & 0x1f))
	case c >= 0xc4 && c <= 0xc6:
		return r.take(int(r.number(1 << (c - 0xc4))))
	case c >= 0xd9 && c <= 0xdb:
		return r.take(int(r.number(1 << (c - 0xd9))))
	}
	r.fail()
	return nil
}

// array reads the head of an array. Each element takes a byte at least, so a length
// beyond the payload is refused before anything is made of it.
func (r *reader) array() int {
	return r.length(0x90, 0xdc, 1)
}

// mapping reads the head of a map of keys and values.
func (r *reader) mapping() int {
	return r.length(0x80, 0xde, 2)
}

// length reads the head of a collection: short holds its size, or wide and the byte
// after are followed by it. Its elements take each bytes at least.
func (r *reader) length(short, wide byte, each int) int {
	n := 0
	switch c := r.head(); {
	case c >= short && c < short+16:
		n = int(c & 0x0f)
	case c == wide:
		n = int(r.number(2))
	case c == wide+1:
		n = int(r.number(4))
	default:
		r.fail()
	}
	if n > len(r.data)/each {
		r.fail()
		return 0
	}
	return n
}

// skip passes over one value, however deep its parts nest up to maxDepth.
func (r *reader) skip() {
	var left [maxDepth]int // values to go at each depth
	depth := 0
	for left[0] = 1; depth >= 0; {
		if r.bad {
			return
		}
		if left[depth] == 0 {
			depth--
			continue
		}
		left[depth]--
		n := r.skipHead()
		if n == 0 {
			continue
		}
		if depth++; depth == maxDepth {
			r.fail()
			return
		}
		left[depth] = n
	}
}

// skipHead passes over a scalar, or over the head of a collection: it returns how many
// values follow that belong to it.
func (r *reader) skipHead() int {
	switch r.peek() {
	case kindNil, kindBool:
		r.take(1)
	case kindInt:
		r.integer()
	case kindFloat:
		r.float()
	case kindString, kindBinary:
		r.bytes()
	case kindArray:
		return r.array()
	case kindMap:
		return 2 * r.mapping()
	case kindExtension:
		r.extension()
	default:
		r.fail()
	}
	return 0
}

// extension passes over a value of a type that MessagePack leaves to applications.
func (r *reader) extension() {
	c := r.head()
	size := 1 << (c - 0xd4)
	if c < 0xd4 {
		size = int(r.number(1 << (c - 0xc7)))
	}
	r.take(1) // the type
	r.take(size)
}

package value

import (
	"errors"
	"math"
	"slices"
	"unicode/utf8"
)

// Errors of AppendStyled; test with errors.Is.
var (
	ErrNotJSON  = errors.New("value: not serializable to JSON")
	ErrTooLarge = errors.New("value: output over its limit")
)

// Style is how JSON is written, by the names of Python's json.dumps.
type Style struct {
	Item, Key   []byte // separators
	Indent      []byte // of one level
	Lines       Layout
	SortKeys    Order
	EnsureASCII Escaping
	Limit       int // of bytes of the whole output; 0 means none
}

// Layout says whether every element has a line of its own.
type Layout bool

// Order says whether keys are sorted.
type Order bool

// Escaping says whether all but ASCII is escaped.
type Escaping bool

// What Style's fields can be.
const (
	OneLine   Layout   = false
	ManyLines Layout   = true
	AsGiven   Order    = false
	Sorted    Order    = true
	UTF8      Escaping = false
	ASCII     Escaping = true
)

// writer writes JSON; it stops at its first error.
type writer struct {
	Style
	dst []byte
	err error
}

// AppendJSON writes v as Python's json.dumps(ensure_ascii=False) does. What has no
// JSON form, which is nothing that Parse made, is null.
func (v Value) AppendJSON(dst []byte) []byte {
	style := Style{Item: []byte(", "), Key: []byte(": ")}
	w := writer{Style: style, dst: dst}
	w.value(&v, 0)
	return w.dst
}

// AppendStyled writes v as Python's json.dumps does.
func (v Value) AppendStyled(dst []byte, style *Style) ([]byte, error) {
	w := writer{Style: *style, dst: dst}
	w.value(&v, 0)
	return w.dst, w.err
}

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *writer) value(v *Value, depth int) {
	switch v.kind {
	case String:
		w.text(v.text)
	case List:
		w.list(v.ref, depth+1)
	case Dict:
		w.dict(v.ref, depth+1)
	case Int:
		w.dst = v.AppendNumber(w.dst)
	case Undefined, Other:
		w.fail(ErrNotJSON)
		w.dst = append(w.dst, "null"...)
	default:
		w.dst = v.appendScalar(w.dst)
	}
	if w.Limit > 0 && len(w.dst) > w.Limit {
		w.fail(ErrTooLarge)
	}
}

// appendScalar writes the JSON form of None, a Bool or a Float.
func (v *Value) appendScalar(dst []byte) []byte {
	switch {
	case v.kind == None:
		return append(dst, "null"...)
	case v.kind == Bool && v.small != 0:
		return append(dst, "true"...)
	case v.kind == Bool:
		return append(dst, "false"...)
	}
	switch f := v.Float64(); {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	default:
		return AppendFloat(dst, f)
	}
}

// line starts the line of an element.
func (w *writer) line(depth int) {
	if !w.Lines {
		return
	}
	if w.Limit > 0 && len(w.dst)+depth*len(w.Indent) > w.Limit {
		w.fail(ErrTooLarge)
		return
	}
	w.dst = append(w.dst, '\n')
	for range depth {
		w.dst = append(w.dst, w.Indent...)
	}
}

func (w *writer) list(o *object, depth int) {
	switch {
	case depth > maxDepth:
		w.fail(ErrDepth)
		return
	case len(o.items) == 0:
		w.dst = append(w.dst, "[]"...)
		return
	}
	w.dst = append(w.dst, '[')
	for i := range o.items {
		if i > 0 {
			w.dst = append(w.dst, w.Item...)
		}
		w.line(depth)
		if w.value(&o.items[i], depth); w.stopped() {
			return
		}
	}
	w.line(depth - 1)
	w.dst = append(w.dst, ']')
}

// stopped tells errors that end the writing from those that AppendJSON overlooks.
func (w *writer) stopped() bool {
	return w.err != nil && (w.Limit > 0 || errors.Is(w.err, ErrDepth))
}

func (w *writer) dict(o *object, depth int) {
	switch {
	case depth > maxDepth:
		w.fail(ErrDepth)
		return
	case len(o.entries) == 0:
		w.dst = append(w.dst, "{}"...)
		return
	}
	entries := o.entries
	if w.SortKeys {
		entries = w.sorted(entries)
	}
	w.dst = append(w.dst, '{')
	for i := range entries {
		if i > 0 {
			w.dst = append(w.dst, w.Item...)
		}
		w.line(depth)
		w.key(&entries[i].key)
		w.dst = append(w.dst, w.Key...)
		if w.value(&entries[i].val, depth); w.stopped() {
			return
		}
	}
	w.line(depth - 1)
	w.dst = append(w.dst, '}')
}

// key writes a key: numbers, booleans and None become strings.
func (w *writer) key(k *Value) {
	switch k.kind {
	case String:
		w.text(k.text)
	case Int:
		w.dst = append(k.AppendNumber(append(w.dst, '"')), '"')
	case None, Bool, Float:
		w.dst = append(k.appendScalar(append(w.dst, '"')), '"')
	default:
		w.fail(ErrNotJSON)
	}
}

// sorted are entries by key; keys that Python cannot compare are an error.
func (w *writer) sorted(entries []entry) []entry {
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b entry) int {
		switch {
		case a.key.kind == String && b.key.kind == String:
			return slices.Compare(a.key.text, b.key.text)
		case a.key.isNumber() && b.key.isNumber():
			return CompareNumbers(a.key, b.key)
		default:
			w.fail(ErrNotJSON)
			return 0
		}
	})
	return entries
}

// text writes a string in quotes.
func (w *writer) text(s []byte) {
	w.dst = append(w.dst, '"')
	plain := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && (c < 0x7f || !bool(w.EnsureASCII)) {
			i++
			continue
		}
		w.dst = append(w.dst, s[plain:i]...)
		if c < utf8.RuneSelf {
			w.escape(c)
			i++
		} else {
			r, size := utf8.DecodeRune(s[i:])
			w.unicode(r)
			i += size
		}
		plain = i
	}
	w.dst = append(append(w.dst, s[plain:]...), '"')
}

const hexDigits = "0123456789abcdef"

// escape writes an ASCII character that cannot stand for itself.
func (w *writer) escape(c byte) {
	switch c {
	case '"', '\\':
		w.dst = append(w.dst, '\\', c)
	case '\b':
		w.dst = append(w.dst, '\\', 'b')
	case '\f':
		w.dst = append(w.dst, '\\', 'f')
	case '\n':
		w.dst = append(w.dst, '\\', 'n')
	case '\r':
		w.dst = append(w.dst, '\\', 'r')
	case '\t':
		w.dst = append(w.dst, '\\', 't')
	default:
		w.dst = append(w.dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
	}
}

// unicode escapes a character, beyond 16 bits as a surrogate pair.
func (w *writer) unicode(r rune) {
	if r >= 0x10000 {
		r -= 0x10000
		w.unit(0xd800 + r>>10)
		r = 0xdc00 + r&0x3ff
	}
	w.unit(r)
}

func (w *writer) unit(r rune) {
	w.dst = append(w.dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

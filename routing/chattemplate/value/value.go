package value

import (
	"bytes"
	"math"
	"strconv"
)

// Kind is the type of a value, in Python's terms.
type Kind uint8

// The kinds. Callables and iterators of the template engine are its own.
const (
	Undefined Kind = iota
	None
	Bool
	Int   // any size
	Float // as written, e.g. 1.0 or 1e22
	String
	List // or tuple, see IsTuple
	Dict
	Other // of the template engine
)

// Value is one value. Copying it is cheap; lists and dicts are references. The zero
// value is Undefined.
type Value struct {
	kind  Kind
	small int32   // Bool, Int without text, mark of an Other, 1 for markup
	text  []byte  // String; Float and larger Int as written
	ref   *object // List, Dict, Other
}

// object is what lists, dicts and engine values refer to.
type object struct {
	owner   *Memory
	tuple   bool
	items   []Value  // of a List
	entries []entry  // of a Dict
	index   []uint32 // of a large Dict: entry number + 1 by hash, 0 empty
	ext     any      // of an Other
}

type entry struct{ key, val Value }

// NewNone makes None.
func NewNone() Value { return Value{kind: None} }

// NewBool makes True or False.
func NewBool(b bool) Value {
	if b {
		return Value{kind: Bool, small: 1}
	}
	return Value{kind: Bool}
}

// NewInt makes an Int. It allocates beyond 32 bits.
func NewInt(i int64) Value {
	if int64(int32(i)) == i {
		return Value{kind: Int, small: int32(i)}
	}
	return Value{kind: Int, text: strconv.AppendInt(nil, i, 10)}
}

// NewIntText makes an Int of its decimal form, which must be as Python writes it.
func NewIntText(digits []byte) Value {
	if len(digits) <= 10 {
		if i, err := strconv.ParseInt(string(digits), 10, 32); err == nil {
			return Value{kind: Int, small: int32(i)}
		}
	}
	return Value{kind: Int, text: digits}
}

// NewFloat makes a Float; it allocates.
func NewFloat(f float64) Value { return Value{kind: Float, text: AppendFloat(nil, f)} }

// NewString makes a String that is a view of s.
func NewString(s []byte) Value { return Value{kind: String, text: s} }

// NewMarkup makes a String that is marked as HTML, a view of s.
func NewMarkup(s []byte) Value { return Value{kind: String, small: 1, text: s} }

// IsMarkup reports whether v is a String marked as HTML.
func (v Value) IsMarkup() bool { return v.kind == String && v.small != 0 }

// IsText reports whether v is a String not marked as HTML.
func (v Value) IsText() bool { return v.kind == String && v.small == 0 }

// NewMark makes an Other without contents, told from others by its number.
func NewMark(n int32) Value { return Value{kind: Other, small: n} }

// NewOther makes an Other that carries ext, a pointer of the template engine.
func (m *Memory) NewOther(ext any) Value {
	o := m.object()
	o.ext = ext
	return Value{kind: Other, ref: o}
}

// Kind of v.
func (v Value) Kind() Kind { return v.kind }

// Mark is the number of an Other made by NewMark, else 0.
func (v Value) Mark() int32 {
	if v.kind == Other && v.ref == nil {
		return v.small
	}
	return 0
}

// Ext is what an Other or a List carries, nil for all else.
func (v Value) Ext() any {
	if v.kind != Other && v.kind != List || v.ref == nil {
		return nil
	}
	return v.ref.ext
}

// SetExt makes a List carry ext.
func (v Value) SetExt(ext any) { v.ref.ext = ext }

// IsTuple reports whether a List is a tuple.
func (v Value) IsTuple() bool { return v.kind == List && v.ref.tuple }

// Same reports whether v and w are the same object, as Python's "is" does where that
// can be told: by reference for containers, by value for None, booleans and ints.
func (v Value) Same(w Value) bool {
	if v.kind != w.kind {
		return false
	}
	switch v.kind {
	case List, Dict, Other:
		return v.ref == w.ref && v.small == w.small
	case Int:
		return v.small == w.small && bytes.Equal(v.text, w.text)
	case Float, String:
		return len(v.text) == len(w.text) && (len(v.text) == 0 || &v.text[0] == &w.text[0])
	default:
		return v.small == w.small
	}
}

// Bytes is the text of a String, unescaped; it must not be changed. For a Float, and
// for an Int beyond 32 bits, it is the literal.
func (v Value) Bytes() []byte { return v.text }

// Small is the number of an Int or Bool that fits 32 bits.
func (v Value) Small() (n int64, ok bool) {
	return int64(v.small), v.kind == Bool || v.kind == Int && v.text == nil
}

// Int64 is the number of an Int or Bool that fits 64 bits.
func (v Value) Int64() (n int64, ok bool) {
	if n, ok = v.Small(); ok || v.kind != Int || len(v.text) > 20 {
		return n, ok
	}
	n, err := strconv.ParseInt(string(v.text), 10, 64)
	return n, err == nil
}

// Float64 is the number of a Float, Int or Bool; an Int too large is an infinity.
func (v Value) Float64() float64 {
	if n, ok := v.Small(); ok {
		return float64(n)
	}
	if v.kind != Int && v.kind != Float {
		return math.NaN()
	}
	return parseFloat(v.text)
}

// Len is the number of elements of a List or entries of a Dict.
func (v Value) Len() int {
	switch v.kind {
	case List:
		return len(v.ref.items)
	case Dict:
		return len(v.ref.entries)
	default:
		return 0
	}
}

// Index is element i of a List.
func (v Value) Index(i int) Value { return v.ref.items[i] }

// Items are the elements of a List; they must not be changed.
func (v Value) Items() []Value {
	if v.kind != List {
		return nil
	}
	return v.ref.items
}

// Entry is entry i of a Dict, in order. Its key is empty when it is no String, which
// no JSON has; EntryKey tells.
func (v Value) Entry(i int) (key []byte, val Value) {
	e := &v.ref.entries[i]
	if e.key.kind != String {
		return nil, e.val
	}
	return e.key.text, e.val
}

// EntryKey is the key of entry i of a Dict.
func (v Value) EntryKey(i int) Value { return v.ref.entries[i].key }

// EntryValue is the value of entry i of a Dict.
func (v Value) EntryValue(i int) Value { return v.ref.entries[i].val }

// Truth is Python's bool(v). An Other is true.
func (v Value) Truth() bool {
	switch v.kind {
	case Bool:
		return v.small != 0
	case Int:
		return v.small != 0 || v.text != nil
	case Float:
		return v.Float64() != 0
	case String:
		return len(v.text) > 0
	case List, Dict:
		return v.Len() > 0
	case Other:
		return true
	default:
		return false
	}
}

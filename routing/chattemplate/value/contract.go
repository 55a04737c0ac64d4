// Package value holds the values that templates compute with: views over the
// request's own JSON bytes, in order, with numbers kept as they were written, and
// what is built on top of them.
package value

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
	List
	Dict
	Other // of the template engine
)

// Value is one value. Copying it is cheap; lists and dicts are references.
type Value struct{ kind Kind }

// Kind of v.
func (v Value) Kind() Kind { return v.kind }

// Bytes is the text of a String, unescaped; it must not be changed.
func (v Value) Bytes() []byte { panic("not built yet") }

// Len is the number of elements of a List or entries of a Dict.
func (v Value) Len() int { panic("not built yet") }

// Index is element i of a List.
func (v Value) Index(i int) Value { panic("not built yet") }

// Entry is entry i of a Dict, in order.
func (v Value) Entry(i int) (key []byte, val Value) { panic("not built yet") }

// Get is the entry of a Dict, Undefined when it has none or v is no Dict.
func (v Value) Get(key string) Value { panic("not built yet") }

// Truth is Python's bool(v).
func (v Value) Truth() bool { panic("not built yet") }

// Memory parses JSON and builds values in memory that is reused by Reset; what it
// made is valid until then. Its sizes are bounded by the bodies it is given.
type Memory struct{}

// Reset forgets everything made.
func (m *Memory) Reset() { panic("not built yet") }

// Parse reads one JSON document as Python's json.loads does (the last of repeated
// keys wins, at the place of the first). Strings without escapes are views of body.
func (m *Memory) Parse(body []byte) (Value, error) { panic("not built yet") }

// NewNone, NewBool, NewInt, NewString (a view), NewList and NewDict make values.
func NewNone() Value                         { panic("not built yet") }
func NewBool(b bool) Value                   { panic("not built yet") }
func NewInt(i int64) Value                   { panic("not built yet") }
func NewString(s []byte) Value               { panic("not built yet") }
func (m *Memory) NewList(capacity int) Value { panic("not built yet") }
func (m *Memory) NewDict(capacity int) Value { panic("not built yet") }

// Add appends to a List, Set sets an entry of a Dict (its place stays when it had
// one), Delete removes one, Clone copies one level.
func (m *Memory) Add(list, v Value)                   { panic("not built yet") }
func (m *Memory) Set(dict Value, key string, v Value) { panic("not built yet") }
func (m *Memory) Delete(dict Value, key string)       { panic("not built yet") }
func (m *Memory) Clone(v Value) Value                 { panic("not built yet") }

// AppendJSON writes v as Python's json.dumps(ensure_ascii=False) does.
func (v Value) AppendJSON(dst []byte) []byte { panic("not built yet") }

package value

import "hash/maphash"

// Memory parses JSON and builds values in memory that is reused by Reset; what it
// made is valid until then. Its sizes are bounded by the bodies it is given. The zero
// value is ready.
type Memory struct {
	// Limit, when set, is how many bytes may be made, about, and Expired is asked now
	// and then; Stop says what happens then.
	Limit   int
	Expired func() bool

	made    uint // counts up to the next Check
	objects arena[object]
	values  arena[Value]
	entries arena[entry]
	indexes arena[uint32]
	text    arena[byte]

	stack   []Value // elements of the lists being parsed
	pending []entry // entries of the dicts being parsed
	seed    maphash.Seed
	seeded  bool
}

// keepBytes is about how much of each kind of memory Reset keeps.
const keepBytes = 4 << 20

// Sizes in bytes on 64-bit machines, for accounting.
const (
	valueSize  = 40
	entrySize  = 2 * valueSize
	objectSize = 104
)

// Reset forgets everything made. Memory beyond some megabytes is given back.
func (m *Memory) Reset() {
	m.objects.reset(keepBytes / objectSize)
	m.values.reset(keepBytes / valueSize)
	m.entries.reset(keepBytes / entrySize)
	m.indexes.reset(keepBytes / 4)
	m.text.resetDirty(keepBytes)
	clear(m.stack[:cap(m.stack)])
	clear(m.pending[:cap(m.pending)])
	if cap(m.stack) > keepBytes/valueSize {
		m.stack = nil
	}
	if cap(m.pending) > keepBytes/entrySize {
		m.pending = nil
	}
}

// Used is about how many bytes were made since Reset.
func (m *Memory) Used() int {
	return m.objects.used*objectSize + m.values.used*valueSize + m.entries.used*entrySize + m.indexes.used*4 + m.text.used
}

func (m *Memory) object() *object {
	m.count()
	o := &m.objects.take(1)[0]
	o.owner = m
	return o
}

// Text is room for n bytes that lives until Reset. It holds anything.
func (m *Memory) Text(n int) []byte { return m.text.take(n) }

// Values is room for n values that lives until Reset.
func (m *Memory) Values(n int) []Value { return m.values.take(n) }

// CopyString makes a String of a copy of s.
func (m *Memory) CopyString(s []byte) Value {
	t := m.text.take(len(s))
	copy(t, s)
	return NewString(t)
}

// NewInt makes an Int.
func (m *Memory) NewInt(i int64) Value {
	if int64(int32(i)) == i {
		return Value{kind: Int, small: int32(i)}
	}
	var digits [20]byte
	return Value{kind: Int, text: m.copyText(appendInt(digits[:0], i))}
}

// NewFloat makes a Float.
func (m *Memory) NewFloat(f float64) Value {
	var digits [32]byte
	return Value{kind: Float, text: m.copyText(AppendFloat(digits[:0], f))}
}

func (m *Memory) copyText(s []byte) []byte {
	t := m.text.take(len(s))
	copy(t, s)
	return t
}

// arena hands out slices of T that live until reset. Chunks double in size, so that
// there are few.
type arena[T any] struct {
	chunk []T // of which the first n are taken
	n     int
	old   [][]T // chunks filled before
	used  int
}

// firstChunk is the number of elements of the first chunk.
const firstChunk = 256

// take gives n zeroed elements; appending to them never reaches others.
func (a *arena[T]) take(n int) []T {
	if n > len(a.chunk)-a.n {
		a.grow(n)
	}
	s := a.chunk[a.n : a.n+n : a.n+n]
	a.n += n
	a.used += n
	return s
}

func (a *arena[T]) grow(n int) {
	if a.chunk != nil {
		a.old = append(a.old, a.chunk)
	}
	a.chunk, a.n = make([]T, max(n, 2*len(a.chunk), firstChunk)), 0
}

// reset keeps the largest chunk, unless it is above limit.
func (a *arena[T]) reset(limit int) {
	clear(a.chunk[:a.n])
	a.resetDirty(limit)
}

// resetDirty is reset for elements that are always written before they are read and
// point nowhere.
func (a *arena[T]) resetDirty(limit int) {
	clear(a.old)
	a.old, a.n, a.used = a.old[:0], 0, 0
	if len(a.chunk) > limit {
		a.chunk = nil
	}
}

// untake gives back the last n elements taken, which were not written.
func (a *arena[T]) untake(n int) {
	a.n -= n
	a.used -= n
}

package value

import "hash/maphash"

// indexed is the number of entries from which a Dict has an index: below, comparing
// lengths and a few bytes is faster.
const indexed = 12

// NewList makes an empty List with room for capacity elements.
func (m *Memory) NewList(capacity int) Value {
	o := m.object()
	o.items = m.values.take(capacity)[:0]
	return Value{kind: List, ref: o}
}

// NewTuple makes a tuple of items, which it takes over.
func (m *Memory) NewTuple(items []Value) Value {
	o := m.object()
	o.items, o.tuple = items, true
	return Value{kind: List, ref: o}
}

// ListOf makes a List of items, which it takes over.
func (m *Memory) ListOf(items []Value) Value {
	o := m.object()
	o.items = items
	return Value{kind: List, ref: o}
}

// NewDict makes an empty Dict with room for capacity entries.
func (m *Memory) NewDict(capacity int) Value {
	o := m.object()
	o.entries = m.entries.take(capacity)[:0]
	return Value{kind: Dict, ref: o}
}

// Add appends to a List.
func (m *Memory) Add(list, v Value) {
	o := list.ref
	if len(o.items) == cap(o.items) {
		grown := m.values.take(max(4, 2*len(o.items)))
		o.items = grown[:copy(grown, o.items)]
	}
	o.items = append(o.items, v)
}

// Set sets an entry of a Dict; its place stays when it had one. The key is copied.
func (m *Memory) Set(dict Value, key string, v Value) {
	o := dict.ref
	if i := o.findString(key); i >= 0 {
		o.entries[i].val = v
		return
	}
	t := m.text.take(len(key))
	copy(t, key)
	m.insert(o, NewString(t), v)
}

// SetValue is Set for a key of any hashable kind, which is not copied. It reports
// whether the key is hashable.
func (m *Memory) SetValue(dict, key, v Value) bool {
	if !Hashable(key) {
		return false
	}
	if i := dict.ref.find(key); i >= 0 {
		dict.ref.entries[i].val = v
		return true
	}
	m.insert(dict.ref, key, v)
	return true
}

// insert adds an entry that is known to be new.
func (m *Memory) insert(o *object, key, v Value) {
	if len(o.entries) == cap(o.entries) {
		grown := m.entries.take(max(4, 2*len(o.entries)))
		o.entries = grown[:copy(grown, o.entries)]
	}
	o.entries = append(o.entries, entry{key, v})
	switch n := len(o.entries); {
	case n < indexed:
	case 2*n > len(o.index):
		m.reindex(o, 4*n)
	default:
		o.link(n - 1)
	}
}

// reindex gives a Dict an index with room for about room/2 entries. Of entries with
// equal keys the last value stays, at the first's place.
func (m *Memory) reindex(o *object, room int) {
	if !m.seeded {
		m.seed, m.seeded = maphash.MakeSeed(), true
	}
	size := 32
	for size < room {
		size *= 2
	}
	o.index = m.indexes.take(size)
	entries := o.entries
	o.entries = entries[:0]
	for i := range entries {
		e := entries[i]
		if j := o.find(e.key); j >= 0 {
			o.entries[j].val = e.val
			continue
		}
		o.entries = append(o.entries, e)
		o.link(len(o.entries) - 1)
	}
}

// link puts entry i into the index.
func (o *object) link(i int) {
	mask := uint32(len(o.index) - 1)
	at := o.owner.hash(o.entries[i].key) & mask
	for o.index[at] != 0 {
		at = (at + 1) & mask
	}
	o.index[at] = uint32(i + 1)
}

// hash is seeded per Memory: clients choose the keys.
func (m *Memory) hash(key Value) uint32 {
	if key.kind == String {
		return uint32(maphash.Bytes(m.seed, key.text))
	}
	var canonical [64]byte
	return uint32(maphash.Bytes(m.seed, appendCanonical(canonical[:0], key, maxDepth)))
}

// find is the number of the entry with a key, -1 when there is none.
func (o *object) find(key Value) int {
	if o.index != nil {
		return o.probe(o.owner.hash(key), key)
	}
	for i := range o.entries {
		if sameKey(&o.entries[i].key, &key) {
			return i
		}
	}
	return -1
}

// probe looks an entry up in the index.
func (o *object) probe(hash uint32, key Value) int {
	mask := uint32(len(o.index) - 1)
	for at := hash & mask; o.index[at] != 0; at = (at + 1) & mask {
		if i := int(o.index[at] - 1); sameKey(&o.entries[i].key, &key) {
			return i
		}
	}
	return -1
}

func (o *object) findString(key string) int {
	if o.index != nil {
		mask := uint32(len(o.index) - 1)
		at := uint32(maphash.String(o.owner.seed, key)) & mask
		for ; o.index[at] != 0; at = (at + 1) & mask {
			i := int(o.index[at] - 1)
			if k := &o.entries[i].key; k.kind == String && string(k.text) == key {
				return i
			}
		}
		return -1
	}
	for i := range o.entries {
		if k := &o.entries[i].key; len(k.text) == len(key) && string(k.text) == key && k.kind == String {
			return i
		}
	}
	return -1
}

// Get is the entry of a Dict, Undefined when it has none or v is no Dict.
func (v Value) Get(key string) Value {
	if v.kind != Dict {
		return Value{}
	}
	if i := v.ref.findString(key); i >= 0 {
		return v.ref.entries[i].val
	}
	return Value{}
}

// Has reports whether a Dict has an entry, which tells one that is missing.
func (v Value) Has(key string) bool { return v.kind == Dict && v.ref.findString(key) >= 0 }

// Find is the number of the entry of a Dict whose key equals key as Python compares,
// -1 when there is none.
func (v Value) Find(key Value) int {
	if v.kind != Dict {
		return -1
	}
	return v.ref.find(key)
}

// Delete removes an entry of a Dict; those behind it move up.
func (m *Memory) Delete(dict Value, key string) {
	o := dict.ref
	i := o.findString(key)
	if i < 0 {
		return
	}
	o.entries = append(o.entries[:i], o.entries[i+1:]...)
	o.entries[:len(o.entries)+1][len(o.entries)] = entry{}
	if o.index != nil {
		m.reindex(o, len(o.index)/2)
	}
}

// Clone copies one level of a List or Dict; all else is itself.
func (m *Memory) Clone(v Value) Value {
	if v.kind != List && v.kind != Dict {
		return v
	}
	o := m.object()
	o.tuple = v.ref.tuple
	o.items = m.values.take(len(v.ref.items))
	copy(o.items, v.ref.items)
	o.entries = m.entries.take(len(v.ref.entries))
	copy(o.entries, v.ref.entries)
	if v.ref.index != nil {
		m.reindex(o, len(v.ref.index))
	}
	return Value{kind: v.kind, ref: o}
}

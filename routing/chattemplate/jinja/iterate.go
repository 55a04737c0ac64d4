package jinja

import (
	"unicode/utf8"

	"penstock/routing/chattemplate/value"
)

// iteration is what an iterator goes over.
type iteration uint8

const (
	overNothing iteration = iota
	overList
	overString
	overKeys
	overValues
	overItems
	overRange
	overShared // an iterator that others may read from as well
	overLoop
)

// iterator goes over the elements of a value once.
type iterator struct {
	kind   iteration
	items  []value.Value
	dict   value.Value
	text   []byte
	at     int
	rng    rangeValue
	shared *oneShot
	loop   *loopState
}

// oneShot is what Python's generators are: they can be read once. Here their elements
// are made at once; an error in making them shows when it is reached.
type oneShot struct {
	items []value.Value
	at    int
	err   error
}

// iterate makes an iterator of v; what cannot be iterated over is an error.
func (r *run) iterate(v value.Value) (iterator, bool) {
	if r.err != nil {
		return iterator{}, false
	}
	it, ok := iterate(v)
	if !ok {
		r.raise("%s is not iterable", typeName(v))
	}
	return it, ok
}

func iterate(v value.Value) (iterator, bool) {
	switch v.Kind() {
	case value.Undefined:
		return iterator{}, true
	case value.List:
		return iterator{kind: overList, items: v.Items()}, true
	case value.String:
		return iterator{kind: overString, text: v.Bytes()}, true
	case value.Dict:
		return iterator{kind: overKeys, dict: v}, true
	case value.Other:
	default:
		return iterator{}, false
	}
	switch x := v.Ext().(type) {
	case *dictView:
		return iterator{kind: x.kind, dict: x.dict}, true
	case *rangeValue:
		return iterator{kind: overRange, rng: *x}, true
	case *oneShot:
		return iterator{kind: overShared, shared: x}, true
	case *loopState:
		return iterator{kind: overLoop, loop: x}, true
	default:
		return iterator{}, false
	}
}

// next is the next element; ok is false at the end, and after an error.
func (it *iterator) next(r *run) (v value.Value, ok bool) {
	switch it.kind {
	case overList:
		if it.at < len(it.items) {
			it.at++
			return it.items[it.at-1], true
		}
	case overString:
		if it.at < len(it.text) {
			_, size := utf8.DecodeRune(it.text[it.at:])
			it.at += size
			return value.NewString(it.text[it.at-size : it.at : it.at]), true
		}
	case overKeys, overValues, overItems:
		if it.at < it.dict.Len() {
			it.at++
			return r.element(it.dict, it.at-1, it.kind), true
		}
	case overRange:
		if it.at < it.rng.length {
			it.at++
			return r.m.NewInt(it.rng.start + int64(it.at-1)*it.rng.step), true
		}
	case overShared:
		return it.shared.next(r)
	case overLoop:
		return r.loopPair(it.loop)
	default:
	}
	return value.Value{}, false
}

// element is entry i of a dict as one of its views has it.
func (r *run) element(dict value.Value, i int, kind iteration) value.Value {
	switch kind {
	case overKeys:
		return dict.EntryKey(i)
	case overValues:
		return dict.EntryValue(i)
	default:
		return r.pair(dict.EntryKey(i), dict.EntryValue(i))
	}
}

// pair makes a tuple of two.
func (r *run) pair(a, b value.Value) value.Value {
	items := r.m.Values(2)
	items[0], items[1] = a, b
	return r.m.NewTuple(items)
}

func (s *oneShot) next(r *run) (value.Value, bool) {
	if s.at < len(s.items) {
		s.at++
		return s.items[s.at-1], true
	}
	if s.err != nil && r.err == nil {
		r.err = s.err
	}
	return value.Value{}, false
}

// loopPair is what iterating over the variable "loop" gives.
func (r *run) loopPair(s *loopState) (value.Value, bool) {
	item, ok := s.next(r)
	if !ok {
		return item, false
	}
	return r.pair(item, r.m.NewOther(s)), true
}

// size is how many elements there are in all, where that can be told.
func (it *iterator) size() (n int, ok bool) {
	switch it.kind {
	case overNothing:
		return 0, true
	case overList:
		return len(it.items), true
	case overString:
		return utf8.RuneCount(it.text), true
	case overKeys, overValues, overItems:
		return it.dict.Len(), true
	case overRange:
		return it.rng.length, true
	case overLoop:
		return 0, false
	default:
		return 0, false
	}
}

// elements are all elements of v; nil after an error.
func (r *run) elements(v value.Value) []value.Value {
	if v.Kind() == value.List {
		return v.Items()
	}
	it, ok := r.iterate(v)
	if !ok {
		return nil
	}
	n, _ := it.size()
	if !r.room(n * valueSize) {
		return nil
	}
	items := r.m.Values(n)[:0]
	for {
		item, ok := it.next(r)
		if !ok || len(items) >= n && !r.room(valueSize) {
			return items
		}
		items = append(items, item)
	}
}

// generator makes a value that can be read once.
func (r *run) generator(items []value.Value, err error) value.Value {
	return r.m.NewOther(&oneShot{items: items, err: err})
}

package value

import (
	"bytes"
	"math"
)

// maxDepth bounds what is walked recursively: Python's own limit is near 1000.
const maxDepth = 900

// Equal is Python's v == w. Work is counted in budget; it is false, with a negative
// budget, when that or the depth runs out.
func Equal(v, w Value, budget *int) bool { return equal(&v, &w, budget, maxDepth) }

func equal(v, w *Value, budget *int, depth int) bool {
	*budget -= 1 + len(v.text)>>5
	switch {
	case *budget < 0 || depth == 0:
		*budget = min(*budget, -1)
		return false
	case v.isNumber() && w.isNumber():
		return equalNumbers(v, w)
	case v.kind != w.kind:
		return false
	}
	switch v.kind {
	case String:
		return bytes.Equal(v.text, w.text)
	case List:
		return v.ref == w.ref || equalLists(v.ref, w.ref, budget, depth)
	case Dict:
		return v.ref == w.ref || equalDicts(v.ref, w.ref, budget, depth)
	case Other:
		return v.ref == w.ref && v.small == w.small
	default: // None, Undefined
		return true
	}
}

func equalNumbers(v, w *Value) bool {
	if v.kind != Float && w.kind != Float {
		return v.small == w.small && bytes.Equal(v.text, w.text)
	}
	a, b := v.Float64(), w.Float64()
	if v.kind == Float && w.kind == Float || math.IsNaN(a) || math.IsNaN(b) {
		return a == b
	}
	var left, right [400]byte
	return bytes.Equal(v.appendCanonicalNumber(left[:0]), w.appendCanonicalNumber(right[:0]))
}

func equalLists(v, w *object, budget *int, depth int) bool {
	if len(v.items) != len(w.items) || v.tuple != w.tuple {
		return false
	}
	for i := range v.items {
		if !equal(&v.items[i], &w.items[i], budget, depth-1) {
			return false
		}
	}
	return true
}

func equalDicts(v, w *object, budget *int, depth int) bool {
	if len(v.entries) != len(w.entries) {
		return false
	}
	for i := range v.entries {
		e := &v.entries[i]
		j := w.find(e.key)
		if j < 0 || !equal(&e.val, &w.entries[j].val, budget, depth-1) {
			return false
		}
	}
	return true
}

// sameKey is equality of dict keys.
func sameKey(v, w *Value) bool {
	if v.kind == String && w.kind == String {
		return bytes.Equal(v.text, w.text)
	}
	budget := keyBudget
	return equal(v, w, &budget, maxDepth)
}

// keyBudget bounds the work on one key; only tuples can be large.
const keyBudget = 1 << 16

// Hashable reports whether v can be the key of a Dict. Tuples of very many elements in
// all are taken for unhashable: what they share makes them cheap to build.
func Hashable(v Value) bool {
	if v.kind != List {
		return v.kind != Dict
	}
	budget := keyBudget
	return hashable(&v, &budget, maxDepth)
}

func hashable(v *Value, budget *int, depth int) bool {
	*budget--
	switch {
	case v.kind == Dict || depth == 0 || *budget < 0:
		return false
	case v.kind != List:
		return true
	case !v.ref.tuple:
		return false
	}
	for i := range v.ref.items {
		if !hashable(&v.ref.items[i], budget, depth-1) {
			return false
		}
	}
	return true
}

// appendCanonical writes a key so that equal keys read the same; unequal ones may.
func appendCanonical(dst []byte, v Value, depth int) []byte {
	switch {
	case v.isNumber():
		return v.appendCanonicalNumber(dst)
	case v.kind == String:
		return append(dst, v.text...)
	case v.kind != List || depth == 0 || len(dst) > keyBudget:
		return append(dst, byte(v.kind))
	}
	for _, item := range v.ref.items {
		dst = append(appendCanonical(dst, item, depth-1), 0)
	}
	return dst
}

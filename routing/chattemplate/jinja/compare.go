package jinja

import (
	"bytes"
	"cmp"
	"math"

	"penstock/routing/chattemplate/value"
)

// compare is one of Python's comparisons.
func (r *run) compare(op token, a, b value.Value) bool {
	if r.err != nil {
		return false
	}
	if x, ok := a.Small(); ok && op <= tokenLe {
		if y, ok := b.Small(); ok {
			return holds(op, cmp.Compare(x, y))
		}
	}
	switch op {
	case tokenEq:
		return r.equal(a, b)
	case tokenNe:
		return !r.equal(a, b)
	case tokenIn:
		return r.contains(b, a)
	case tokenNotIn:
		return !r.contains(b, a)
	default:
	}
	n, ok := r.order(a, b)
	return ok && holds(op, n)
}

// holds reports whether an order is what an operator asks for.
func holds(op token, n int) bool {
	switch op {
	case tokenEq:
		return n == 0
	case tokenNe:
		return n != 0
	case tokenLt:
		return n < 0
	case tokenLe:
		return n <= 0
	case tokenGt:
		return n > 0
	default:
		return n >= 0
	}
}

func (r *run) equal(a, b value.Value) bool {
	if a.Kind() == value.Other && b.Kind() == value.Other {
		return r.equalOthers(a, b)
	}
	budget := r.steps
	same := value.Equal(a, b, &budget)
	r.steps = budget
	r.spend(0)
	return same
}

func (r *run) equalOthers(a, b value.Value) bool {
	if x, ok := a.Ext().(*rangeValue); ok {
		y, ok := b.Ext().(*rangeValue)
		return ok && x.length == y.length &&
			(x.length == 0 || x.start == y.start && (x.length == 1 || x.step == y.step))
	}
	if x, ok := a.Ext().(*dictView); ok {
		if y, ok := b.Ext().(*dictView); ok && x != y {
			r.unsupported("comparing views of dicts %d and %d", x.dict.Len(), y.dict.Len())
		}
	}
	return a.Same(b)
}

// order is negative, zero or positive as a is less than, equal to or greater than b.
// A NaN, which is none of these, is not supported.
func (r *run) order(a, b value.Value) (n int, ok bool) {
	x, y := a.Kind(), b.Kind()
	switch {
	case isNumber(x) && isNumber(y):
		if x == value.Float && math.IsNaN(a.Float64()) || y == value.Float && math.IsNaN(b.Float64()) {
			r.unsupported("comparing with nan")
			return 0, false
		}
		return value.CompareNumbers(a, b), true
	case x == value.String && y == value.String:
		r.work(min(len(a.Bytes()), len(b.Bytes())))
		return bytes.Compare(a.Bytes(), b.Bytes()), true
	case x == value.List && y == value.List && a.IsTuple() == b.IsTuple():
		return r.orderLists(a, b)
	}
	r.raise("%s and %s cannot be ordered", typeName(a), typeName(b))
	return 0, false
}

func isNumber(k value.Kind) bool { return k == value.Int || k == value.Float || k == value.Bool }

func (r *run) orderLists(a, b value.Value) (int, bool) {
	if !r.descend() {
		return 0, false
	}
	defer r.ascend()
	for i := range min(a.Len(), b.Len()) {
		x, y := a.Index(i), b.Index(i)
		if r.equal(x, y) {
			if !r.spend(1) {
				return 0, false
			}
			continue
		}
		return r.order(x, y)
	}
	return a.Len() - b.Len(), true
}

// contains is Python's "item in c".
func (r *run) contains(c, item value.Value) bool {
	switch c.Kind() {
	case value.String:
		if item.Kind() != value.String {
			r.raise("'in <string>' requires string as left operand, not %s", typeName(item))
			return false
		}
		r.work(len(c.Bytes()))
		return bytes.Contains(c.Bytes(), item.Bytes())
	case value.Dict:
		if !value.Hashable(item) {
			r.raise("unhashable type: %s", typeName(item))
			return false
		}
		return c.Find(item) >= 0
	case value.List:
		for _, v := range c.Items() {
			if r.equal(v, item) {
				return true
			}
			if !r.spend(1) {
				return false
			}
		}
		return false
	case value.Other:
		if x, ok := c.Ext().(*dictView); ok && x.kind == overKeys {
			return r.contains(x.dict, item)
		}
	default:
	}
	it, ok := r.iterate(c)
	for ok {
		var v value.Value
		if v, ok = it.next(r); ok && r.equal(v, item) {
			return true
		}
		ok = ok && r.spend(1)
	}
	return false
}

package jinja

import "penstock/routing/chattemplate/value"

// source is an operand that is read without calling closures: a variable of the
// running function, or an attribute or item of one. Templates are mostly made of
// these.
type source struct {
	slot   int
	attr   *attribute  // nil for the variable itself
	key    value.Value // of an item
	item   bool        // the attribute is written as a subscript
	direct bool        // of a dict it is the entry of that name, and nothing else
}

// source is what n reads; ok is false when it is nothing so simple.
func (c *compiler) source(n *node, at place) (s source, ok bool) {
	switch n.op {
	case opName:
		v := at.sc.find(n.name)
		if v == nil || v.global > 0 || v.fn != at.fn {
			return s, false
		}
		return source{slot: v.slot}, true
	case opGetattr:
		if s, ok = c.source(n.left, at); !ok || s.attr != nil {
			return s, false
		}
		s.attr = newAttribute(n.name, &allTables)
		s.direct = s.attr.dict == nil && !s.attr.updates && !s.attr.hidden
		return s, true
	case opGetitem:
		if n.right.op != opConst || n.right.val.Kind() != value.String {
			return s, false
		}
		if s, ok = c.source(n.left, at); !ok || s.attr != nil {
			return s, false
		}
		s.key, s.item = n.right.val, true
		s.attr = newAttribute(string(s.key.Bytes()), &allTables)
		s.direct = s.attr.dict == nil
		return s, true
	default:
		return s, false
	}
}

func (s *source) get(r *run) value.Value {
	v := &r.fr.slots[s.slot]
	switch {
	case s.attr == nil:
		return *v
	case s.direct && v.Kind() == value.Dict:
		return v.Get(s.attr.name)
	case s.item:
		return r.item(*v, s.key, s.attr)
	case s.attr.loop != noField:
		if state, ok := v.Ext().(*loopState); ok {
			return r.loopField(state, s.attr.loop)
		}
	}
	return r.getattr(*v, s.attr)
}

// sourceExpr makes an expression of a source.
func sourceExpr(s source) expr {
	if s.attr == nil {
		slot := s.slot
		return func(r *run) value.Value { return r.fr.slots[slot] }
	}
	return s.get
}

// lengthOf compiles "x|length".
func (c *compiler) lengthOf(n *node, at place) expr {
	of := c.expr(n, at)
	return func(r *run) value.Value {
		v := of(r)
		if k := v.Kind(); (k == value.List || k == value.Dict) && r.spend(1) {
			return value.NewInt(int64(v.Len()))
		}
		return filterLength(r, v, nil)
	}
}

// plainArguments reports whether a filter, test or call is given nothing.
func (n *node) plainArguments() bool {
	return len(n.args)+len(n.kwargs) == 0 && n.dynArgs == nil && n.dynKwargs == nil
}

// difference compiles "a - b", which templates use on small ints.
func (c *compiler) difference(n *node, at place) expr {
	left, right := c.expr(n.left, at), c.expr(n.right, at)
	return func(r *run) value.Value {
		a := left(r)
		b := right(r)
		if x, ok := a.Small(); ok {
			if y, ok := b.Small(); ok && r.err == nil {
				return r.m.NewInt(x - y)
			}
		}
		return r.arithmetic('-', a, b)
	}
}

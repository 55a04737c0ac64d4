package jinja

import "penstock/routing/chattemplate/value"

// expr compiles an expression.
func (c *compiler) expr(n *node, at place) expr {
	if v, ok := c.constant(n); ok {
		return func(*run) value.Value { return v }
	}
	if s, ok := c.source(n, at); ok {
		return sourceExpr(s)
	}
	switch n.op {
	case opName:
		return c.name(n, at)
	case opTuple, opList:
		return c.sequence(n, at)
	case opDict:
		return c.dict(n, at)
	case opCond:
		return c.conditional(n, at)
	case opAnd, opOr:
		return c.logic(n, at)
	case opNot, opCompare, opTest:
		cond := c.cond(n, at)
		return func(r *run) value.Value { return value.NewBool(cond(r)) }
	case opSum, opConcat:
		return c.joined(n, at)
	case opSub:
		return c.difference(n, at)
	case opMul, opDiv, opFloorDiv, opMod, opPow:
		left, right, operator := c.expr(n.left, at), c.expr(n.right, at), operatorOf[n.op]
		return func(r *run) value.Value {
			a := left(r)
			return r.arithmetic(operator, a, right(r))
		}
	case opNeg, opPos:
		operand, negate := c.expr(n.left, at), n.op == opNeg
		return func(r *run) value.Value { return r.signed(operand(r), negate) }
	case opGetattr:
		of, attr := c.expr(n.left, at), newAttribute(n.name, &allTables)
		return func(r *run) value.Value { return r.getattr(of(r), attr) }
	case opGetitem:
		return c.getitem(n, at)
	case opCall:
		return c.call(n, at, nil)
	case opFilter:
		if n.plainArguments() && (n.name == "length" || n.name == "count") {
			return c.lengthOf(n.left, at)
		}
		of := c.expr(n.left, at)
		apply := c.filterOf(n, at)
		return func(r *run) value.Value { return apply(r, of(r)) }
	default:
		c.fail(ErrSyntax, n, "not an expression")
		return func(*run) value.Value { return value.Value{} }
	}
}

// constant is the value of an expression made of literals only. Lists are shared
// between renderings, which cannot change them.
func (c *compiler) constant(n *node) (v value.Value, ok bool) {
	switch n.op {
	case opConst, opData:
		return n.val, true
	case opNeg:
		if i, ok := n.left.val.Small(); ok && n.left.op == opConst && n.left.val.Kind() == value.Int {
			return value.NewInt(-i), true
		}
	case opTuple, opList:
		if n.ctx != load {
			return v, false
		}
		items := make([]value.Value, len(n.list))
		for i, e := range n.list {
			if items[i], ok = c.constant(e); !ok {
				return v, false
			}
		}
		if n.op == opTuple {
			return c.t.memory.NewTuple(items), true
		}
		return c.t.memory.ListOf(items), true
	default:
	}
	return v, false
}

func (c *compiler) exprs(list []*node, at place) []expr {
	out := make([]expr, len(list))
	for i, n := range list {
		out[i] = c.expr(n, at)
	}
	return out
}

func (c *compiler) sequence(n *node, at place) expr {
	parts, tuple := c.exprs(n.list, at), n.op == opTuple
	return func(r *run) value.Value {
		if !r.room(len(parts) * valueSize) {
			return value.Value{}
		}
		items := r.m.Values(len(parts))
		for i, part := range parts {
			items[i] = part(r)
		}
		if tuple {
			return r.m.NewTuple(items)
		}
		return r.m.ListOf(items)
	}
}

func (c *compiler) dict(n *node, at place) expr {
	parts := c.exprs(n.list, at)
	return func(r *run) value.Value {
		if !r.room(len(parts) * valueSize) {
			return value.Value{}
		}
		d := r.m.NewDict(len(parts) / 2)
		for i := 0; i < len(parts); i += 2 {
			key, val := parts[i](r), parts[i+1](r)
			if !r.m.SetValue(d, key, val) {
				return r.raise("unhashable type: %s", typeName(key))
			}
		}
		return d
	}
}

func (c *compiler) conditional(n *node, at place) expr {
	at = at.branch()
	test, yes := c.cond(n.right, at), c.expr(n.left, at)
	no := func(*run) value.Value { return value.Value{} }
	if n.third != nil {
		no = c.expr(n.third, at)
	}
	return func(r *run) value.Value {
		if test(r) {
			return yes(r)
		}
		return no(r)
	}
}

// logic is "and" and "or", whose value is that of the operand that decides.
func (c *compiler) logic(n *node, at place) expr {
	parts, or := c.exprs(n.list, at), n.op == opOr
	return func(r *run) (v value.Value) {
		for _, part := range parts {
			if v = part(r); r.truth(v) == or || r.err != nil {
				return v
			}
		}
		return v
	}
}

func (c *compiler) getitem(n *node, at place) expr {
	of := c.expr(n.left, at)
	if n.right.op == opSlice {
		var parts [3]expr
		for i, e := range n.right.list {
			if e != nil {
				parts[i] = c.expr(e, at)
			}
		}
		if v, ok := c.constant(n.left); ok && !isSequence(v) {
			// Jinja may work this out beforehand, by a lookup that does not raise.
			return func(r *run) value.Value { return r.unsupported("a slice of the literal %s", typeName(v)) }
		}
		return func(r *run) value.Value { return r.sliced(of(r), parts) }
	}
	if key, ok := c.constant(n.right); ok && key.Kind() == value.String {
		attr := newAttribute(string(key.Bytes()), &allTables)
		return func(r *run) value.Value { return r.item(of(r), key, attr) }
	}
	key := c.expr(n.right, at)
	return func(r *run) value.Value {
		obj := of(r)
		return r.getitem(obj, key(r))
	}
}

// item is getitem with a key known beforehand.
func (r *run) item(obj, key value.Value, a *attribute) value.Value {
	if obj.Kind() == value.Dict {
		if v := obj.Get(a.name); v.Kind() != value.Undefined {
			return v
		}
		if a.dict == nil {
			return value.Value{}
		}
	}
	return r.getitem(obj, key)
}

// cond compiles an expression whose truth alone matters.
func (c *compiler) cond(n *node, at place) func(*run) bool {
	switch n.op {
	case opNot:
		inner := c.cond(n.left, at)
		return func(r *run) bool { return !inner(r) }
	case opAnd, opOr:
		parts, or := make([]func(*run) bool, len(n.list)), n.op == opOr
		for i, e := range n.list {
			parts[i] = c.cond(e, at)
		}
		return func(r *run) bool {
			for _, part := range parts {
				if part(r) == or || r.err != nil {
					return or
				}
			}
			return !or
		}
	case opCompare:
		return c.compare(n, at)
	case opTest:
		return c.test(n, at)
	default:
	}
	eval := c.expr(n, at)
	return func(r *run) bool { return r.truth(eval(r)) }
}

func (c *compiler) compare(n *node, at place) func(*run) bool {
	first := c.expr(n.left, at)
	if len(n.ops) == 1 {
		op := n.ops[0].op
		if v, ok := c.constant(n.ops[0].expr); ok && v.Kind() == value.String && (op == tokenEq || op == tokenNe) {
			text, want := string(v.Bytes()), op == tokenEq
			if s, ok := c.source(n.left, at); ok {
				return func(r *run) bool {
					x := s.get(r)
					return (x.Kind() == value.String && string(x.Bytes()) == text) == want
				}
			}
			return func(r *run) bool {
				x := first(r)
				return (x.Kind() == value.String && string(x.Bytes()) == text) == want
			}
		}
		second := c.expr(n.ops[0].expr, at)
		return func(r *run) bool {
			left := first(r)
			return r.compare(op, left, second(r))
		}
	}
	others := make([]expr, len(n.ops))
	for i, o := range n.ops {
		others[i] = c.expr(o.expr, at)
	}
	ops := n.ops
	return func(r *run) bool {
		left := first(r)
		for i, other := range others {
			right := other(r)
			if !r.compare(ops[i].op, left, right) || r.err != nil {
				return false
			}
			left = right
		}
		return true
	}
}

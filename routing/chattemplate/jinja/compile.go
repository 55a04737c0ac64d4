package jinja

import (
	"fmt"

	"penstock/routing/chattemplate/value"
)

// compiler turns a syntax tree into closures.
type compiler struct {
	t       *Template
	globals map[string]int
	err     error
}

// place is where code is compiled: Jinja calls it a frame.
type place struct {
	sc   *scope
	fn   *function
	loop bool // inside a for loop of fn, where break may stand
	soft bool // in a branch: unknown filters are an error only when they run
}

func (c *compiler) fail(sentinel error, n *node, format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: line %d: %s", sentinel, n.line, fmt.Sprintf(format, args...))
	}
}

// compile compiles the whole template into t.
func (c *compiler) compile(body []*node) {
	c.t.root = &function{}
	sc := newScope(nil, c.t.root)
	sc.visitAll(body)
	at := place{sc: sc, fn: c.t.root}
	begin := c.begin(sc)
	main := c.body(body, at)
	c.t.body = func(r *run) flow {
		begin(r)
		return main(r)
	}
	if sc.refs["self"] != nil && !sc.stores["self"] {
		c.fail(ErrUnsupported, &node{}, "variable %q", "self")
	}
}

// inner is a place in a scope inside at, in the same function.
func (at place) inner() place {
	at.sc = newScope(at.sc, at.fn)
	at.soft = false
	return at
}

// inside is a place in a new function inside at.
func (at place) inside() place {
	fn := &function{parent: at.fn}
	at.fn.captured = true
	return place{sc: newScope(at.sc, fn), fn: fn}
}

func (at place) branch() place {
	at.soft = true
	return at
}

// global is the number of a variable of the request.
func (c *compiler) global(name string) int {
	i, known := c.globals[name]
	if !known {
		i = len(c.t.globals)
		c.globals[name] = i
		c.t.globals = append(c.t.globals, name)
	}
	return i
}

// begin makes what gives the variables of a scope their first values. Names that are
// only read stay where they are.
func (c *compiler) begin(sc *scope) func(*run) {
	var steps []func(*run)
	for _, v := range sc.order {
		switch l := sc.loads[v]; l.kind {
		case loadResolve:
			global := c.global(l.name)
			if !sc.stores[l.name] {
				v.global = global + 1
				continue
			}
			slot := v.slot
			steps = append(steps, func(r *run) { r.fr.slots[slot] = r.globals[global] })
		case loadAlias:
			slot, read := v.slot, c.read(l.from, sc.fn)
			steps = append(steps, func(r *run) { r.fr.slots[slot] = read(r) })
		case loadUndefined:
			slot := v.slot
			steps = append(steps, func(r *run) { r.fr.slots[slot] = value.Value{} })
		case loadParameter:
		}
	}
	switch len(steps) {
	case 0:
		return func(*run) {}
	case 1:
		return steps[0]
	}
	return func(r *run) {
		for _, step := range steps {
			step(r)
		}
	}
}

// hops is the number of functions between fn and the one that v belongs to.
func hops(v *variable, fn *function) int {
	n := 0
	for ; fn != v.fn; fn = fn.parent {
		n++
	}
	return n
}

// read makes what reads a variable from inside fn.
func (c *compiler) read(v *variable, fn *function) expr {
	if v.global > 0 {
		global := v.global - 1
		return func(r *run) value.Value { return r.globals[global] }
	}
	slot, up := v.slot, hops(v, fn)
	switch up {
	case 0:
		return func(r *run) value.Value { return r.fr.slots[slot] }
	case 1:
		return func(r *run) value.Value { return r.fr.up.slots[slot] }
	}
	return func(r *run) value.Value {
		f := r.fr
		for range up {
			f = f.up
		}
		return f.slots[slot]
	}
}

// name makes what reads a name.
func (c *compiler) name(n *node, at place) expr {
	v := at.sc.find(n.name)
	if v == nil {
		c.fail(ErrSyntax, n, "name %q is not known where it stands", n.name)
		return func(*run) value.Value { return value.Value{} }
	}
	return c.read(v, at.fn)
}

// assign makes what assigns to a target.
func (c *compiler) assign(n *node, at place) func(*run, value.Value) {
	switch n.op {
	case opName:
		v := at.sc.find(n.name)
		if v == nil || v.fn != at.fn {
			c.fail(ErrSyntax, n, "cannot assign to %q", n.name)
			return nil
		}
		slot := v.slot
		return func(r *run, x value.Value) { r.fr.slots[slot] = x }
	case opNSRef:
		return c.assignAttribute(n, at)
	case opTuple:
		targets := make([]func(*run, value.Value), len(n.list))
		for i, t := range n.list {
			targets[i] = c.assign(t, at)
		}
		return func(r *run, x value.Value) { r.unpack(x, targets) }
	default:
		c.fail(ErrSyntax, n, "cannot assign to that")
		return nil
	}
}

func (c *compiler) assignAttribute(n *node, at place) func(*run, value.Value) {
	read, attr := c.name(n, at), n.attr
	return func(r *run, x value.Value) {
		ns, ok := read(r).Ext().(*namespace)
		if !ok {
			r.raise("cannot assign attribute on non-namespace object")
			return
		}
		if r.room(len(attr) + 80) {
			r.m.Set(ns.attrs, attr, x)
		}
	}
}

// unpack assigns the elements of x, of which there must be as many as targets.
func (r *run) unpack(x value.Value, targets []func(*run, value.Value)) {
	if x.Kind() == value.List && x.Len() == len(targets) {
		for i, assign := range targets {
			assign(r, x.Index(i))
		}
		return
	}
	it, ok := r.iterate(x)
	if !ok {
		return
	}
	items := make([]value.Value, 0, len(targets))
	for len(items) <= len(targets) {
		item, ok := it.next(r)
		if !ok {
			break
		}
		items = append(items, item)
	}
	if len(items) != len(targets) {
		r.raise("cannot unpack %d values into %d names", len(items), len(targets))
		return
	}
	for i, assign := range targets {
		assign(r, items[i])
	}
}

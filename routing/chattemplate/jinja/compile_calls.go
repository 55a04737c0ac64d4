package jinja

import (
	"slices"

	"penstock/routing/chattemplate/value"
)

// arguments of a call. They live on the stack: who keeps them copies them.
type arguments struct {
	pos   []value.Value
	names []string // of vals
	vals  []value.Value
}

// passing is compiled arguments.
type passing struct {
	pos               []expr
	names             []string
	vals              []expr
	dynamic, keywords expr // *args and **kwargs, nil without
}

func (c *compiler) passing(n *node, at place) *passing {
	p := &passing{pos: c.exprs(n.args, at)}
	for _, k := range n.kwargs {
		p.names = append(p.names, k.name)
		p.vals = append(p.vals, c.expr(k.val, at))
	}
	if n.dynArgs != nil {
		p.dynamic = c.expr(n.dynArgs, at)
	}
	if n.dynKwargs != nil {
		p.keywords = c.expr(n.dynKwargs, at)
	}
	return p
}

// with evaluates the arguments and calls f with them.
func (p *passing) with(r *run, f func(a arguments) value.Value) value.Value {
	base := len(r.stack)
	a := p.push(r)
	if r.err != nil {
		r.pop(base)
		return value.Value{}
	}
	v := f(a)
	r.pop(base)
	return v
}

// push evaluates the arguments onto the stack.
func (p *passing) push(r *run) arguments {
	base := len(r.stack)
	for _, e := range p.pos {
		v := e(r)
		r.push(v)
	}
	if p.dynamic != nil {
		for _, v := range r.elements(p.dynamic(r)) {
			r.push(v)
		}
	}
	middle := len(r.stack)
	for _, e := range p.vals {
		v := e(r)
		r.push(v)
	}
	names := p.names
	if p.keywords != nil {
		names = r.pushKeywords(names, p.keywords(r))
	}
	end := len(r.stack)
	return arguments{pos: r.stack[base:middle:middle], names: names, vals: r.stack[middle:end:end]}
}

// pushKeywords adds the entries of a dict to keyword arguments.
func (r *run) pushKeywords(names []string, kwargs value.Value) []string {
	if kwargs.Kind() != value.Dict {
		r.raise("argument after ** must be a mapping, not %s", typeName(kwargs))
		return names
	}
	names = slices.Clone(names)
	for i := range kwargs.Len() {
		key, val := kwargs.EntryKey(i), kwargs.EntryValue(i)
		if key.Kind() != value.String || slices.Contains(names, string(key.Bytes())) {
			r.raise("keywords must be strings, and given once")
			return names
		}
		if !r.work(len(names) * 16) {
			return names
		}
		names = append(names, string(key.Bytes()))
		r.push(val)
	}
	return names
}

// call compiles a call; caller is the block that is passed along, nil without.
func (c *compiler) call(n *node, at place, caller expr) expr {
	args := c.passing(n, at)
	if caller != nil {
		args.names = append(args.names, "caller")
		args.vals = append(args.vals, caller)
	}
	if n.left.op == opGetattr {
		of, attr := c.expr(n.left.left, at), newAttribute(n.left.name, &allTables)
		return func(r *run) value.Value {
			obj := of(r)
			f := directMethod(obj, attr)
			if f == nil {
				callee := r.getattr(obj, attr)
				return args.with(r, func(a arguments) value.Value { return r.call(callee, a) })
			}
			base := len(r.stack)
			a := args.push(r)
			var v value.Value
			if r.spend(1) {
				v = r.callMethod(attr.name, f, obj, a)
			}
			r.pop(base)
			return v
		}
	}
	callee := c.expr(n.left, at)
	return func(r *run) value.Value {
		f := callee(r)
		base := len(r.stack)
		a := args.push(r)
		v := r.call(f, a)
		r.pop(base)
		return v
	}
}

// directMethod is the method that a call of obj.name calls, nil when it must be
// looked up.
func directMethod(obj value.Value, a *attribute) methodFunc {
	switch obj.Kind() {
	case value.String:
		return a.str
	case value.Dict:
		return a.dict
	case value.List:
		if !obj.IsTuple() && !a.changes {
			return a.list
		}
	default:
	}
	return nil
}

// emitCall prints what a call gives; a macro writes straight to the output.
func (c *compiler) emitCall(n *node, at place) emitter {
	if n.left.op != opName {
		eval := c.call(n, at, nil)
		return func(r *run) { r.print(eval(r)) }
	}
	callee, args := c.expr(n.left, at), c.passing(n, at)
	return func(r *run) {
		f := callee(r)
		base := len(r.stack)
		a := args.push(r)
		if m, ok := f.Ext().(*macroValue); ok {
			r.runMacro(m, a)
		} else {
			r.print(r.call(f, a))
		}
		r.pop(base)
	}
}

// call calls a value.
func (r *run) call(f value.Value, a arguments) value.Value {
	if !r.spend(1) {
		return value.Value{}
	}
	switch x := f.Ext().(type) {
	case *macroValue:
		start := len(r.out)
		r.runMacro(x, a)
		return r.capture(start)
	case *method:
		return r.callMethod(x.name, x.call, x.recv, a)
	case *loopState:
		return r.callLoop(x, a)
	case *cycler:
		return value.Value{}
	case *joiner:
		return r.callJoiner(x)
	}
	switch f.Mark() {
	case markRange:
		return r.makeRange(a)
	case markDict:
		return r.makeDict(a)
	case markNamespace:
		d := r.makeDict(a)
		return r.m.NewOther(&namespace{d})
	case markCycler:
		return r.makeCycler(a)
	case markJoiner:
		return r.makeJoiner(a)
	case markRaise:
		return r.raiseException(a)
	case markStrftime:
		return r.strftimeNow(a)
	case markLipsum:
		return r.unsupported("function %q", "lipsum")
	}
	return r.raise("%s is not callable", typeName(f))
}

// callLoop renders a recursive loop one level deeper.
func (r *run) callLoop(s *loopState, a arguments) value.Value {
	if s.up == nil {
		return r.raise("the loop must have the recursive marker to be called")
	}
	var p [1]value.Value
	if !r.bindArgs("loop", a, p[:], 1, "iterable") {
		return value.Value{}
	}
	start := len(r.out)
	s.code.recurse(r, p[0], s.up, s.depth0+1)
	return r.capture(start)
}

// bindArgs puts arguments where their names say, as Python does; those beyond
// required may be missing. It reports whether they fit.
func (r *run) bindArgs(what string, a arguments, into []value.Value, required int, names ...string) bool {
	if len(a.pos) > len(into) {
		r.raise("%s takes %d arguments, not %d", what, len(into), len(a.pos))
		return false
	}
	n := copy(into, a.pos)
	for i := n; i < len(into); i++ {
		into[i] = missing
	}
	for i, name := range a.names {
		at := slices.Index(names, name)
		if at < 0 || at < n || !isMissing(into[at]) {
			r.raise("%s got an unexpected argument %q", what, name)
			return false
		}
		into[at] = a.vals[i]
	}
	for i, v := range into[:required] {
		if isMissing(v) {
			r.raise("%s misses argument %d", what, i+1)
			return false
		}
	}
	return r.err == nil
}

package jinja

import (
	"slices"

	"penstock/routing/chattemplate/value"
)

// macroCode is a compiled macro or call block.
type macroCode struct {
	name        string
	fn          *function
	params      []string
	slots       []int
	defaults    []expr // of the last parameters
	begin       func(*run)
	body        stmt
	callerSlot  int // -1 when the caller is not mentioned, or a parameter
	kwargsSlot  int
	varargsSlot int
	usesCaller  bool
	explicit    bool // the caller is a parameter
}

// macroCode compiles the body of a macro or call block.
func (c *compiler) macroCode(n *node, at place) *macroCode {
	in := at.inside()
	for _, p := range n.params {
		in.sc.parameter(p.name)
	}
	in.sc.analyze(n)
	m := &macroCode{name: n.name, fn: in.fn, callerSlot: -1, kwargsSlot: -1, varargsSlot: -1}
	for _, p := range n.params {
		if slices.Contains(m.params, p.name) {
			c.fail(ErrSyntax, n, "parameter %q given twice", p.name)
		}
		m.params = append(m.params, p.name)
		m.slots = append(m.slots, in.sc.find(p.name).slot)
	}
	m.explicit = slices.Contains(m.params, "caller")
	special := mentions(n.body, "caller", "kwargs", "varargs")
	if special["caller"] {
		m.usesCaller = true
		if at := slices.Index(m.params, "caller"); at < 0 {
			m.callerSlot = in.sc.parameter("caller").slot
		} else if at < len(m.params)-len(n.defaults) {
			c.fail(ErrSyntax, n, "the caller argument must be omitted or be given a default")
		}
	}
	if special["kwargs"] && !slices.Contains(m.params, "kwargs") {
		m.kwargsSlot = in.sc.parameter("kwargs").slot
	}
	if special["varargs"] && !slices.Contains(m.params, "varargs") {
		m.varargsSlot = in.sc.parameter("varargs").slot
	}
	m.begin = c.begin(in.sc)
	m.defaults = c.exprs(n.defaults, in)
	m.body = c.body(n.body, in)
	return m
}

func (c *compiler) macro(n *node, at place) stmt {
	code := c.macroCode(n, at)
	assign := c.assign(&node{op: opName, ctx: store, name: n.name, line: n.line}, at)
	return func(r *run) flow {
		if r.room(valueSize) {
			assign(r, r.m.NewOther(&macroValue{code, r.fr}))
		}
		return r.ended()
	}
}

func (c *compiler) callBlock(n *node, at place) stmt {
	code := c.macroCode(n, at)
	call := c.call(n.left, at, func(r *run) value.Value {
		return r.m.NewOther(&macroValue{code, r.fr})
	})
	return func(r *run) flow {
		r.printText(call(r))
		r.spend(1)
		return r.ended()
	}
}

// runMacro binds arguments as Jinja's Macro does and runs the body.
func (r *run) runMacro(m *macroValue, a arguments) {
	if r.err != nil {
		return
	}
	if r.descend() {
		code := m.code
		before := r.enter(code.fn, m.up)
		absent := code.bind(r, a)
		if r.err == nil {
			code.begin(r)
			code.fillDefaults(r, absent)
		}
		if r.err == nil {
			code.body(r)
		}
		r.leave(code.fn, before)
	}
	r.ascend()
}

// maxParams is how many parameters are told apart as absent.
const maxParams = 64

// bind puts arguments into the frame; absent has a bit for every parameter without.
func (m *macroCode) bind(r *run, a arguments) (absent uint64) {
	slots := r.fr.slots
	n := min(len(a.pos), len(m.params))
	for i := range n {
		slots[m.slots[i]] = a.pos[i]
	}
	var used uint64
	for i := n; i < len(m.params); i++ {
		at := slices.Index(a.names, m.params[i])
		if at < 0 {
			absent |= 1 << (i % maxParams)
			continue
		}
		slots[m.slots[i]] = a.vals[at]
		used |= 1 << (at % maxParams)
	}
	if m.usesCaller && m.callerSlot >= 0 {
		if at := slices.Index(a.names, "caller"); at >= 0 {
			if a.vals[at].Kind() != value.None {
				slots[m.callerSlot] = a.vals[at]
			}
			used |= 1 << (at % maxParams)
		}
	}
	m.bindRest(r, a, n, used)
	return absent
}

// bindRest deals with what is left of the arguments.
func (m *macroCode) bindRest(r *run, a arguments, n int, used uint64) {
	if len(m.params) > maxParams || len(a.names) > maxParams {
		r.unsupported("more than %d arguments", maxParams)
		return
	}
	var kwargs value.Value
	if m.kwargsSlot >= 0 {
		kwargs = r.m.NewDict(len(a.names))
		r.fr.slots[m.kwargsSlot] = kwargs
	}
	for i, name := range a.names {
		switch {
		case used&(1<<i) != 0:
		case m.kwargsSlot >= 0:
			r.m.Set(kwargs, name, a.vals[i])
		default:
			r.raise("macro %q takes no keyword argument %q", m.name, name)
		}
	}
	switch {
	case m.varargsSlot >= 0:
		r.fr.slots[m.varargsSlot] = r.m.NewTuple(r.copyValues(a.pos[n:]))
	case len(a.pos) > n:
		r.raise("macro %q takes not more than %d arguments", m.name, len(m.params))
	}
}

func (r *run) copyValues(from []value.Value) []value.Value {
	if !r.room(len(from) * valueSize) {
		return nil
	}
	items := r.m.Values(len(from))
	copy(items, from)
	return items
}

// fillDefaults evaluates the defaults of absent parameters; the rest are undefined.
func (m *macroCode) fillDefaults(r *run, absent uint64) {
	if absent == 0 {
		return
	}
	first := len(m.params) - len(m.defaults)
	for i := first; i < len(m.params); i++ {
		if absent&(1<<i) != 0 {
			v := m.defaults[i-first](r)
			r.fr.slots[m.slots[i]] = v
		}
	}
}

package jinja

import "penstock/routing/chattemplate/value"

// emit compiles the printing of an expression. What is joined there is written as it
// comes, without being put together first.
func (c *compiler) emit(n *node, at place) emitter {
	if n.op == opData || n.op == opConst && n.val.Kind() == value.String {
		text := n.val.Bytes()
		return func(r *run) { r.out = append(r.out, text...) }
	}
	switch n.op {
	case opCond:
		at = at.branch()
		test, yes := c.cond(n.right, at), c.emit(n.left, at)
		no := func(*run) {}
		if n.third != nil {
			no = c.emit(n.third, at)
		}
		return func(r *run) {
			if test(r) {
				yes(r)
				return
			}
			no(r)
		}
	case opConcat:
		var parts []emitter
		for _, e := range n.list {
			parts = append(parts, c.emit(e, at))
		}
		return func(r *run) {
			for _, part := range parts {
				part(r)
			}
		}
	case opSum:
		return c.emitSum(n, at)
	case opCall:
		return c.emitCall(n, at)
	case opFilter:
		if n.name == "tojson" && n.plainArguments() {
			of := c.expr(n.left, at)
			return func(r *run) { r.printJSON(of(r)) }
		}
	default:
	}
	eval := c.expr(n, at)
	return func(r *run) { r.print(eval(r)) }
}

// term is an operand of a sum: a text, or what gives one.
type term struct {
	kind termKind
	text []byte
	from source
	eval expr
}

type termKind uint8

const (
	termText termKind = iota
	termSource
	termExpr
)

// emitSum prints a sum. While all terms are strings they are written at once; sums of
// anything else go on from the first that is none.
func (c *compiler) emitSum(n *node, at place) emitter {
	terms := c.terms(n, at)
	return func(r *run) {
		start := len(r.out)
		for i := range terms {
			t := &terms[i]
			if t.kind == termText {
				r.out = append(r.out, t.text...)
				continue
			}
			v := t.value(r)
			if v.IsText() {
				r.out = append(r.out, v.Bytes()...)
				continue
			}
			if i > 0 {
				v = r.sum(r.capture(start), v)
			}
			r.print(r.sumFrom(v, terms[i+1:]))
			return
		}
	}
}

func (c *compiler) terms(n *node, at place) []term {
	terms := make([]term, len(n.list))
	for i, e := range n.list {
		if v, ok := c.constant(e); ok && v.Kind() == value.String {
			terms[i].text = v.Bytes()
			continue
		}
		if s, ok := c.source(e, at); ok {
			terms[i].kind, terms[i].from = termSource, s
			continue
		}
		terms[i].kind, terms[i].eval = termExpr, c.expr(e, at)
	}
	return terms
}

func (t *term) value(r *run) value.Value {
	switch t.kind {
	case termText:
		return value.NewString(t.text)
	case termSource:
		return t.from.get(r)
	default:
		return t.eval(r)
	}
}

// sumFrom adds terms to v.
func (r *run) sumFrom(v value.Value, terms []term) value.Value {
	for i := range terms {
		if v = r.sum(v, terms[i].value(r)); r.err != nil {
			return value.Value{}
		}
	}
	return v
}

// joined compiles a sum or a concatenation as a value.
func (c *compiler) joined(n *node, at place) expr {
	if n.op == opConcat {
		write := c.emit(n, at)
		return func(r *run) value.Value {
			start := len(r.out)
			write(r)
			return r.capture(start)
		}
	}
	terms := c.terms(n, at)
	return func(r *run) value.Value {
		base, size := len(r.texts), 0
		for i := range terms {
			text := terms[i].text
			if terms[i].kind != termText {
				v := terms[i].value(r)
				if !v.IsText() {
					return r.sumOthers(base, v, terms[i+1:])
				}
				text = v.Bytes()
			}
			size += len(text)
			r.texts = append(r.texts, text)
		}
		t := r.text(size)
		if r.err == nil {
			n := 0
			for _, text := range r.texts[base:] {
				n += copy(t[n:], text)
			}
		}
		r.dropTexts(base)
		return value.NewString(t)
	}
}

// sumOthers goes on with a sum of texts since base, of which v is none.
func (r *run) sumOthers(base int, v value.Value, terms []term) value.Value {
	if before := r.texts[base:]; len(before) > 0 {
		total := value.NewString(before[0])
		for _, s := range before[1:] {
			total = r.sum(total, value.NewString(s))
		}
		v = r.sum(total, v)
	}
	r.dropTexts(base)
	return r.sumFrom(v, terms)
}

func (r *run) dropTexts(base int) {
	clear(r.texts[base:])
	r.texts = r.texts[:base]
}

// print writes str(v).
func (r *run) print(v value.Value) {
	switch v.Kind() {
	case value.String:
		r.out = append(r.out, v.Bytes()...)
	case value.Undefined:
	default:
		r.out = r.appendRepr(r.out, v)
	}
}

// str is Python's str(v) as a text.
func (r *run) str(v value.Value) []byte {
	if v.Kind() == value.String {
		return v.Bytes()
	}
	start := len(r.out)
	r.print(v)
	return r.capture(start).Bytes()
}

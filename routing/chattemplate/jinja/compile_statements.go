package jinja

import "penstock/routing/chattemplate/value"

// body compiles statements that follow each other.
func (c *compiler) body(list []*node, at place) stmt {
	steps := make([]stmt, 0, len(list))
	for _, n := range list {
		if s := c.statement(n, at); s != nil {
			steps = append(steps, s)
		}
	}
	switch len(steps) {
	case 0:
		return func(*run) flow { return goOn }
	case 1:
		return steps[0]
	}
	return func(r *run) flow {
		for _, s := range steps {
			if f := s(r); f != goOn {
				return f
			}
		}
		return goOn
	}
}

func (c *compiler) statement(n *node, at place) stmt {
	switch n.op {
	case opOutput:
		return c.output(n, at)
	case opIf:
		return c.ifChain(n, at)
	case opFor:
		return c.forLoop(n, at)
	case opAssign:
		return c.set(n, at)
	case opAssignBlock:
		return c.setBlock(n, at)
	case opMacro:
		return c.macro(n, at)
	case opCallBlock:
		return c.callBlock(n, at)
	case opGeneration:
		return c.generation(n, at)
	case opFilterBlock:
		return c.filterBlock(n, at)
	case opWith:
		return c.with(n, at)
	case opBreak, opContinue:
		if !at.loop {
			c.fail(ErrSyntax, n, "break or continue outside a loop")
		}
		f := breakLoop
		if n.op == opContinue {
			f = continueLoop
		}
		return func(*run) flow { return f }
	default:
		c.fail(ErrSyntax, n, "not a statement")
		return nil
	}
}

// ended is how a statement ends that has nothing more to say.
func (r *run) ended() flow {
	if r.err != nil {
		return stop
	}
	return goOn
}

func (c *compiler) output(n *node, at place) stmt {
	parts := make([]emitter, 0, len(n.list))
	for _, child := range n.list {
		parts = append(parts, c.emit(child, at))
	}
	if len(parts) == 1 {
		part := parts[0]
		return func(r *run) flow {
			part(r)
			r.spend(1)
			return r.ended()
		}
	}
	return func(r *run) flow {
		for _, part := range parts {
			if part(r); !r.spend(1) {
				return stop
			}
		}
		return goOn
	}
}

func (c *compiler) ifChain(n *node, at place) stmt {
	at = at.branch()
	branches := append([]*node{n}, n.elifs...)
	tests, bodies := make([]func(*run) bool, 0, len(branches)), make([]stmt, 0, len(branches))
	for _, e := range branches {
		tests = append(tests, c.cond(e.left, at))
		bodies = append(bodies, c.body(e.body, at))
	}
	otherwise := c.body(n.other, at)
	if len(tests) == 1 {
		return ifOnce(tests[0], bodies[0], otherwise)
	}
	return func(r *run) flow {
		for i, test := range tests {
			holds := test(r)
			if !r.spend(1) {
				return stop
			}
			if holds {
				return bodies[i](r)
			}
		}
		return otherwise(r)
	}
}

// ifOnce is an if without elif.
func ifOnce(test func(*run) bool, yes, no stmt) stmt {
	return func(r *run) flow {
		holds := test(r)
		switch {
		case !r.spend(1):
			return stop
		case holds:
			return yes(r)
		default:
			return no(r)
		}
	}
}

func (c *compiler) set(n *node, at place) stmt {
	// The check that a target is a namespace comes first, in Jinja as here.
	eval, assign := c.expr(n.right, at), c.assign(n.left, at)
	return func(r *run) flow {
		v := eval(r)
		if r.spend(1) {
			assign(r, v)
		}
		return r.ended()
	}
}

// captured runs a body and gives what it printed.
func (r *run) captured(body stmt) (value.Value, flow) {
	start := len(r.out)
	f := body(r)
	v := r.capture(start)
	if r.err != nil {
		return v, stop
	}
	return v, f
}

func (c *compiler) setBlock(n *node, at place) stmt {
	in := at.inner()
	in.sc.analyze(n)
	begin, body := c.begin(in.sc), c.body(n.body, in)
	assign := c.assign(n.left, at)
	filter := c.filterChain(n.right, in)
	return func(r *run) flow {
		begin(r)
		v, f := r.captured(body)
		if f != goOn {
			return f
		}
		assign(r, filter(r, v))
		return r.ended()
	}
}

func (c *compiler) filterBlock(n *node, at place) stmt {
	in := at.inner()
	in.sc.analyze(n)
	begin, body := c.begin(in.sc), c.body(n.body, in)
	filter := c.filterChain(n.left, in)
	return func(r *run) flow {
		begin(r)
		v, f := r.captured(body)
		if f != goOn {
			return f
		}
		r.printText(filter(r, v))
		return r.ended()
	}
}

func (c *compiler) with(n *node, at place) stmt {
	in := at.inner()
	in.sc.analyze(n)
	begin := c.begin(in.sc)
	steps := make([]func(*run), 0, len(n.params))
	for i, target := range n.params {
		assign, eval := c.assign(target, in), c.expr(n.list[i], at)
		steps = append(steps, func(r *run) { assign(r, eval(r)) })
	}
	body := c.body(n.body, in)
	return func(r *run) flow {
		begin(r)
		for _, step := range steps {
			if step(r); !r.spend(1) {
				return stop
			}
		}
		return body(r)
	}
}

// printText prints what must be a string: blocks are not converted as expressions are.
func (r *run) printText(v value.Value) {
	if v.Kind() != value.String {
		r.raise("expected str instance, %s found", typeName(v))
	}
	r.print(v)
}

// generation runs its body as a function of its own, like the call block that
// transformers makes of it.
func (c *compiler) generation(n *node, at place) stmt {
	in := at.inside()
	in.sc.analyze(n)
	begin, body, fn := c.begin(in.sc), c.body(n.body, in), in.fn
	return func(r *run) flow {
		if r.descend() {
			before := r.enter(fn, r.fr)
			begin(r)
			body(r)
			r.leave(fn, before)
		}
		r.ascend()
		return r.ended()
	}
}

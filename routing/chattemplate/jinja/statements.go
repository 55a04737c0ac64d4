package jinja

import "penstock/routing/chattemplate/value"

// statement reads a tag, up to its end. Tags that need a template loader, and those
// that chat templates have no use for, are refused by name.
func (p *parser) statement() *node {
	t := p.current()
	if t.kind != tokenName {
		p.syntax("tag name expected")
		return nil
	}
	n := &node{line: t.line}
	switch t.text {
	case "for":
		return p.forLoop(n)
	case "if":
		return p.ifChain(n)
	case "set":
		return p.set(n)
	case "macro":
		return p.macro(n)
	case "call":
		return p.callBlock(n)
	case "filter":
		return p.filterBlock(n)
	case "with":
		return p.with(n)
	case "print":
		return p.print(n)
	case "generation":
		p.next()
		n.op, n.body = opGeneration, p.block("endgeneration")
	case "break":
		p.next()
		n.op = opBreak
	case "continue":
		p.next()
		n.op = opContinue
	case "block", "extends", "include", "from", "import", "autoescape":
		p.fail(ErrUnsupported, "tag %q", t.text)
	default:
		p.syntax("unknown tag %q", t.text)
	}
	return n
}

func (p *parser) forLoop(n *node) *node {
	p.next()
	n.op = opFor
	n.left = p.assignTarget("in")
	p.expectName("in")
	n.right = p.tuple(tupleRules{end: "recursive"})
	if p.skipName("if") {
		n.third = p.expression()
	}
	n.recursive = p.skipName("recursive")
	n.body = p.statements("endfor", "else")
	if p.next().text == "else" {
		n.other = p.block("endfor")
	}
	return n
}

func (p *parser) ifChain(n *node) *node {
	p.next()
	n.op = opIf
	for branch := n; p.err == nil; {
		branch.left = p.tuple(tupleRules{})
		branch.body = p.statements("elif", "else", "endif")
		if branch != n {
			p.finish(branch)
		}
		switch p.next().text {
		case "elif":
			branch = &node{op: opIf, line: p.current().line}
			n.elifs = append(n.elifs, branch)
			continue
		case "else":
			n.other = p.block("endif")
		}
		break
	}
	return n
}

func (p *parser) set(n *node) *node {
	p.next()
	n.left = p.assignTargetNS()
	if p.skipIf(tokenAssign) {
		n.op, n.right = opAssign, p.tuple(tupleRules{conditional: true})
		return n
	}
	n.op = opAssignBlock
	if p.is(tokenPipe) {
		n.right = p.filters(nil)
	}
	n.body = p.block("endset")
	return n
}

func (p *parser) signature(n *node) {
	p.expect(tokenLParen)
	for !p.is(tokenRParen) && p.err == nil {
		if len(n.params) > 0 {
			p.expect(tokenComma)
		}
		arg := p.nameTarget(param)
		if p.skipIf(tokenAssign) {
			n.defaults = append(n.defaults, p.expression())
		} else if len(n.defaults) > 0 {
			p.syntax("non-default argument follows default argument")
		}
		n.params = append(n.params, arg)
	}
	p.expect(tokenRParen)
}

func (p *parser) macro(n *node) *node {
	p.next()
	n.op = opMacro
	n.name = p.nameTarget(store).name
	p.signature(n)
	n.body = p.block("endmacro")
	return n
}

func (p *parser) callBlock(n *node) *node {
	p.next()
	n.op = opCallBlock
	if p.is(tokenLParen) {
		p.signature(n)
	}
	n.left = p.expression()
	if n.left.op != opCall {
		p.syntax("expected call")
	}
	n.body = p.block("endcall")
	return n
}

func (p *parser) filterBlock(n *node) *node {
	p.next()
	n.op = opFilterBlock
	n.left = p.filters(p.filter(nil))
	n.body = p.block("endfilter")
	return n
}

func (p *parser) with(n *node) *node {
	p.next()
	n.op = opWith
	for !p.is(tokenBlockEnd) && p.err == nil {
		if len(n.params) > 0 {
			p.expect(tokenComma)
		}
		target := p.assignTarget("")
		setContext(target, param)
		p.expect(tokenAssign)
		n.params = append(n.params, target)
		n.list = append(n.list, p.expression())
	}
	n.body = p.block("endwith")
	return n
}

func (p *parser) print(n *node) *node {
	p.next()
	n.op = opOutput
	for !p.is(tokenBlockEnd) && p.err == nil {
		if len(n.list) > 0 {
			p.expect(tokenComma)
		}
		n.list = append(n.list, p.expression())
	}
	return n
}

// nameTarget reads a name that is assigned to.
func (p *parser) nameTarget(ctx context) *node {
	t := p.expect(tokenName)
	n := p.finish(&node{op: opName, ctx: ctx, line: t.line, name: t.text})
	if t.kind == tokenName {
		p.checkTarget(n)
	}
	return n
}

// assignTarget reads what a loop assigns to, up to a name.
func (p *parser) assignTarget(end string) *node {
	n := p.tuple(tupleRules{simple: true, end: end})
	setContext(n, store)
	p.checkTarget(n)
	return n
}

// assignTargetNS reads what a set tag assigns to.
func (p *parser) assignTargetNS() *node {
	n := p.tuple(tupleRules{simple: true, namespace: true})
	setContext(n, store)
	p.checkTarget(n)
	return n
}

func setContext(n *node, ctx context) {
	if n.op != opName && n.op != opTuple && n.op != opList {
		return
	}
	n.ctx = ctx
	for _, c := range n.list {
		setContext(c, ctx)
	}
}

// checkTarget refuses what cannot be assigned to.
func (p *parser) checkTarget(n *node) {
	switch n.op {
	case opNSRef:
	case opTuple:
		for _, c := range n.list {
			p.checkTarget(c)
		}
	case opName:
		switch n.name {
		case "true", "false", "none", "True", "False", "None":
			p.syntax("can't assign to %q", n.name)
		}
	default:
		p.syntax("can't assign to that")
	}
}

// constant is a node for a value.
func (p *parser) constant(line int, v value.Value) *node {
	return p.finish(&node{op: opConst, line: line, val: v})
}

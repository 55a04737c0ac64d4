package jinja

import (
	"strings"

	"penstock/routing/chattemplate/value"
)

// postfix reads subscripts and calls.
func (p *parser) postfix(n *node) *node {
	for {
		switch p.current().kind {
		case tokenDot, tokenLBracket:
			n = p.subscript(n)
		case tokenLParen:
			n = p.call(n)
		default:
			return n
		}
	}
}

// filterExpr reads filters and tests, and calls of them.
func (p *parser) filterExpr(n *node) *node {
	for {
		switch {
		case p.is(tokenPipe):
			n = p.filters(n)
		case p.isName("is"):
			n = p.test(n)
		case p.is(tokenLParen):
			n = p.call(n)
		default:
			return n
		}
	}
}

func (p *parser) subscript(of *node) *node {
	t := p.next()
	if t.kind == tokenDot {
		attr := p.next()
		switch attr.kind {
		case tokenName:
			return p.finish(&node{op: opGetattr, line: t.line, left: of, name: attr.text})
		case tokenInteger:
			return p.finish(&node{op: opGetitem, line: t.line, left: of, right: p.constant(t.line, p.integer(attr.text))})
		default:
		}
		p.syntax("expected name or number")
		return of
	}
	var args []*node
	for !p.is(tokenRBracket) && p.err == nil {
		if len(args) > 0 {
			p.expect(tokenComma)
		}
		args = append(args, p.subscribed())
	}
	p.expect(tokenRBracket)
	index := &node{op: opTuple, line: t.line, list: args}
	if len(args) == 1 {
		index = args[0]
	} else {
		for _, a := range args {
			if a.op == opSlice {
				p.fail(ErrUnsupported, "a slice inside a tuple")
			}
		}
		p.finish(index)
	}
	return p.finish(&node{op: opGetitem, line: t.line, left: of, right: index})
}

// subscribed reads an index or a slice.
func (p *parser) subscribed() *node {
	line := p.current().line
	var start, stop, step *node
	if !p.is(tokenColon) {
		start = p.expression()
		if !p.is(tokenColon) {
			return start
		}
	}
	p.next()
	ends := func() bool { return p.is(tokenRBracket) || p.is(tokenComma) || p.is(tokenColon) }
	if !ends() {
		stop = p.expression()
	}
	if p.skipIf(tokenColon) && !ends() {
		step = p.expression()
	}
	return p.finish(&node{op: opSlice, line: line, list: []*node{start, stop, step}})
}

func (p *parser) call(of *node) *node {
	n := &node{op: opCall, line: p.current().line, left: of}
	p.callArgs(n)
	return p.finish(n)
}

func (p *parser) callArgs(n *node) {
	p.expect(tokenLParen)
	ensure := func(ok bool) {
		if !ok {
			p.syntax("invalid syntax for function call expression")
		}
	}
	for first := true; !p.is(tokenRParen) && p.err == nil; first = false {
		if !first {
			p.expect(tokenComma)
			if p.is(tokenRParen) {
				break
			}
		}
		switch {
		case p.skipIf(tokenMul):
			ensure(n.dynArgs == nil && n.dynKwargs == nil)
			n.dynArgs = p.expression()
		case p.skipIf(tokenPow):
			ensure(n.dynKwargs == nil)
			n.dynKwargs = p.expression()
		case p.is(tokenName) && p.look().kind == tokenAssign:
			ensure(n.dynKwargs == nil)
			name := p.next().text
			p.next()
			for _, k := range n.kwargs {
				ensure(k.name != name)
			}
			if len(n.kwargs) >= maxNamed {
				p.fail(ErrLimit, "a call with too many arguments")
			}
			n.kwargs = append(n.kwargs, keyword{name, p.expression()})
		default:
			ensure(n.dynArgs == nil && n.dynKwargs == nil && len(n.kwargs) == 0)
			n.args = append(n.args, p.expression())
		}
	}
	p.expect(tokenRParen)
}

// filters reads filters, each after its pipe.
func (p *parser) filters(n *node) *node {
	for p.skipIf(tokenPipe) {
		n = p.filter(n)
	}
	return n
}

// filter reads one filter without its pipe.
func (p *parser) filter(of *node) *node {
	n := &node{op: opFilter, line: p.current().line, left: of, name: p.dotted()}
	if p.is(tokenLParen) {
		p.callArgs(n)
	}
	return p.finish(n)
}

// dotted reads the name of a filter or test.
func (p *parser) dotted() string {
	parts := []string{p.expect(tokenName).text}
	for p.skipIf(tokenDot) {
		parts = append(parts, p.expect(tokenName).text)
	}
	return strings.Join(parts, ".")
}

func (p *parser) test(of *node) *node {
	n := &node{op: opTest, line: p.next().line, left: of}
	negated := p.skipName("not")
	n.name = p.dotted()
	switch p.current().kind {
	case tokenLParen:
		p.callArgs(n)
	case tokenName, tokenString, tokenInteger, tokenFloat, tokenLBracket, tokenLBrace:
		if p.isAnyName("else", "or", "and") {
			break
		}
		if p.isName("is") {
			p.syntax("you cannot chain multiple tests with is")
		}
		n.args = []*node{p.postfix(p.primary(false))}
	default:
	}
	p.finish(n)
	if negated {
		return p.finish(&node{op: opNot, line: n.line, left: n})
	}
	return n
}

// none is the value None.
var none = value.NewNone()

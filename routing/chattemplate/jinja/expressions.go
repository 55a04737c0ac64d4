package jinja

import (
	"math/big"
	"strconv"
	"strings"

	"penstock/routing/chattemplate/value"
)

func (p *parser) expression() *node { return p.conditional() }

func (p *parser) conditional() *node {
	p.enter()
	defer p.leave()
	n := p.or()
	for p.skipName("if") {
		test := p.or()
		n = &node{op: opCond, line: n.line, left: n, right: test}
		if p.skipName("else") {
			n.third = p.conditional()
		}
		p.finish(n)
	}
	return n
}

// chain reads operands joined by a separator into one node.
func (p *parser) chain(kind op, operand func() *node, joined func() bool) *node {
	first := operand()
	if !joined() {
		return first
	}
	n := &node{op: kind, line: first.line, list: []*node{first}}
	for {
		n.list = append(n.list, operand())
		if !joined() {
			return p.finish(n)
		}
	}
}

func (p *parser) or() *node {
	return p.chain(opOr, p.and, func() bool { return p.skipName("or") })
}

func (p *parser) and() *node {
	return p.chain(opAnd, p.not, func() bool { return p.skipName("and") })
}

func (p *parser) not() *node {
	if !p.isName("not") {
		return p.compare()
	}
	line := p.next().line
	p.enter()
	defer p.leave()
	return p.finish(&node{op: opNot, line: line, left: p.not()})
}

func (p *parser) compare() *node {
	first := p.sum()
	var ops []operand
	for {
		kind := p.current().kind
		switch {
		case kind >= tokenEq && kind <= tokenLe:
			p.next()
		case p.skipName("in"):
			kind = tokenIn
		case p.isName("not") && p.look().kind == tokenName && p.look().text == "in":
			p.next()
			p.next()
			kind = tokenNotIn
		default:
			if ops == nil {
				return first
			}
			return p.finish(&node{op: opCompare, line: first.line, left: first, ops: ops})
		}
		ops = append(ops, operand{kind, p.sum()})
	}
}

// sum joins what is added in a row: most of what templates print is such a sum.
func (p *parser) sum() *node {
	left := p.concat()
	for p.is(tokenAdd) || p.is(tokenSub) {
		kind := p.next().kind
		right := p.concat()
		switch {
		case kind == tokenSub:
			left = &node{op: opSub, line: left.line, left: left, right: right}
		case left.op == opSum: // in brackets or not, it binds to the left
			left.list = append(left.list, right)
			p.above(left, right)
			continue
		default:
			left = &node{op: opSum, line: left.line, list: []*node{left, right}}
		}
		p.finish(left)
	}
	return left
}

func (p *parser) concat() *node {
	return p.chain(opConcat, p.product, func() bool { return p.skipIf(tokenTilde) })
}

func (p *parser) product() *node {
	return p.binary(p.power, map[token]op{tokenMul: opMul, tokenDiv: opDiv, tokenFloorDiv: opFloorDiv, tokenMod: opMod})
}

func (p *parser) power() *node {
	return p.binary(func() *node { return p.unary(true) }, map[token]op{tokenPow: opPow})
}

// binary reads operators that bind to the left; unlike Python's, Jinja's power does too.
func (p *parser) binary(operand func() *node, kinds map[token]op) *node {
	left := operand()
	for {
		kind, ok := kinds[p.current().kind]
		if !ok {
			return left
		}
		p.next()
		left = p.finish(&node{op: kind, line: left.line, left: left, right: operand()})
	}
}

func (p *parser) unary(filtered bool) *node {
	p.enter()
	defer p.leave()
	var n *node
	switch line := p.current().line; {
	case p.skipIf(tokenSub):
		n = p.finish(&node{op: opNeg, line: line, left: p.unary(false)})
	case p.skipIf(tokenAdd):
		n = p.finish(&node{op: opPos, line: line, left: p.unary(false)})
	default:
		n = p.primary(false)
	}
	n = p.postfix(n)
	if filtered {
		n = p.filterExpr(n)
	}
	return n
}

func (p *parser) primary(namespace bool) *node {
	t := p.current()
	switch t.kind {
	case tokenName:
		p.next()
		return p.name(t, namespace)
	case tokenString:
		var text []string
		for p.is(tokenString) {
			text = append(text, p.next().text)
		}
		return p.constant(t.line, value.NewString([]byte(strings.Join(text, ""))))
	case tokenInteger:
		p.next()
		return p.constant(t.line, p.integer(t.text))
	case tokenFloat:
		p.next()
		f, err := strconv.ParseFloat(t.text, 64)
		if err != nil { // Jinja writes an infinity as a name that Python does not know
			p.fail(ErrUnsupported, "the literal %s", t.text)
		}
		return p.constant(t.line, value.NewFloat(f))
	case tokenLParen:
		p.next()
		n := p.tuple(tupleRules{conditional: true, brackets: true})
		p.expect(tokenRParen)
		return n
	case tokenLBracket:
		return p.list()
	case tokenLBrace:
		return p.dict()
	default:
	}
	p.syntax("unexpected %q", t.text)
	return p.constant(t.line, value.NewNone())
}

func (p *parser) integer(text string) value.Value {
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return value.NewInt(n)
	}
	n, ok := new(big.Int).SetString(text, 0)
	if trimmed := strings.TrimLeft(text, "0"); trimmed == "" {
		return value.NewInt(0)
	}
	if !ok || len(text) > maxIntDigits {
		p.syntax("cannot read %q", text)
		return value.NewInt(0)
	}
	return value.NewIntText([]byte(n.String()))
}

func (p *parser) name(t *lexeme, namespace bool) *node {
	switch t.text {
	case "true", "True":
		return p.constant(t.line, value.NewBool(true))
	case "false", "False":
		return p.constant(t.line, value.NewBool(false))
	case "none", "None":
		return p.constant(t.line, value.NewNone())
	}
	if namespace && p.skipIf(tokenDot) {
		return p.finish(&node{op: opNSRef, line: t.line, name: t.text, attr: p.expect(tokenName).text})
	}
	return p.finish(&node{op: opName, line: t.line, name: t.text})
}

// tupleRules say how expressions with commas between them are read.
type tupleRules struct {
	simple      bool // names and literals only
	namespace   bool // attributes of namespaces as well
	conditional bool // with "x if y"
	brackets    bool // an empty tuple is fine
	end         string
}

func (p *parser) tuple(rules tupleRules) *node {
	line := p.current().line
	var items []*node
	comma := false
	for p.err == nil {
		if len(items) > 0 {
			p.expect(tokenComma)
		}
		if p.is(tokenVariableEnd) || p.is(tokenBlockEnd) || p.is(tokenRParen) || rules.end != "" && p.isName(rules.end) {
			break
		}
		items = append(items, p.element(rules))
		if !p.is(tokenComma) {
			break
		}
		comma = true
	}
	switch {
	case comma:
	case len(items) > 0:
		return items[0]
	case !rules.brackets:
		p.syntax("expected an expression, got %q", p.current().text)
	}
	return p.finish(&node{op: opTuple, line: line, list: items})
}

func (p *parser) element(rules tupleRules) *node {
	switch {
	case rules.simple:
		return p.primary(rules.namespace)
	case rules.conditional:
		return p.expression()
	default:
		p.enter()
		defer p.leave()
		return p.or()
	}
}

func (p *parser) list() *node {
	n := &node{op: opList, line: p.next().line}
	for !p.is(tokenRBracket) && p.err == nil {
		if len(n.list) > 0 {
			p.expect(tokenComma)
		}
		if p.is(tokenRBracket) {
			break
		}
		n.list = append(n.list, p.expression())
	}
	p.expect(tokenRBracket)
	return p.finish(n)
}

func (p *parser) dict() *node {
	n := &node{op: opDict, line: p.next().line}
	for !p.is(tokenRBrace) && p.err == nil {
		if len(n.list) > 0 {
			p.expect(tokenComma)
		}
		if p.is(tokenRBrace) {
			break
		}
		key := p.expression()
		p.expect(tokenColon)
		n.list = append(n.list, key, p.expression())
	}
	p.expect(tokenRBrace)
	return p.finish(n)
}

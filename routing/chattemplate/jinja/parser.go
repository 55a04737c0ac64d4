package jinja

import (
	"fmt"
	"slices"

	"penstock/routing/chattemplate/value"
)

// Bounds of what is compiled. Python's own limits on nesting are lower.
const (
	maxSource  = 4 << 20
	maxNesting = 200 // of brackets and blocks
	maxTree    = 300 // depth of the tree, which bounds the Go stack
	maxNamed   = 255 // keyword arguments of one call
)

// parser builds the syntax tree by Jinja's grammar. After an error it goes on at the
// end of the source, so that every loop ends.
type parser struct {
	tokens  []lexeme
	at      int
	err     error
	nesting int
	memory  *value.Memory // holds constants; it lives as long as the template
}

func parse(source string, memory *value.Memory) ([]*node, error) {
	if len(source) > maxSource {
		return nil, fmt.Errorf("%w: source of %d bytes", ErrLimit, len(source))
	}
	tokens, err := lex(source)
	if err != nil {
		return nil, err
	}
	p := parser{tokens: tokens, memory: memory}
	body := p.subparse()
	return body, p.err
}

func (p *parser) current() *lexeme { return &p.tokens[p.at] }

func (p *parser) look() *lexeme { return &p.tokens[min(p.at+1, len(p.tokens)-1)] }

func (p *parser) next() *lexeme {
	t := &p.tokens[p.at]
	if p.at < len(p.tokens)-1 {
		p.at++
	}
	return t
}

// fail keeps the first error and moves to the end of the source.
func (p *parser) fail(sentinel error, format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("%w: line %d: %s", sentinel, p.current().line, fmt.Sprintf(format, args...))
	}
	p.at = len(p.tokens) - 1
}

func (p *parser) syntax(format string, args ...any) { p.fail(ErrSyntax, format, args...) }

func (p *parser) is(kind token) bool { return p.current().kind == kind }

func (p *parser) isName(name string) bool {
	t := p.current()
	return t.kind == tokenName && t.text == name
}

func (p *parser) isAnyName(names ...string) bool {
	return slices.ContainsFunc(names, p.isName)
}

func (p *parser) skipIf(kind token) bool {
	if p.is(kind) {
		p.next()
		return true
	}
	return false
}

func (p *parser) skipName(name string) bool {
	if p.isName(name) {
		p.next()
		return true
	}
	return false
}

func (p *parser) expect(kind token) *lexeme {
	if !p.is(kind) {
		p.syntax("unexpected %q", p.current().text)
	}
	return p.next()
}

func (p *parser) expectName(name string) {
	if !p.skipName(name) {
		p.syntax("expected %q, got %q", name, p.current().text)
	}
}

// enter counts one more level of nesting; leave ends it.
func (p *parser) enter() {
	if p.nesting++; p.nesting > maxNesting {
		p.fail(ErrLimit, "nested too deeply")
	}
}

func (p *parser) leave() { p.nesting-- }

// finish sets the depth of a node whose children are complete.
func (p *parser) finish(n *node) *node {
	n.depth = 1
	n.children(func(c *node) { p.above(n, c) })
	return n
}

// above makes n at least as deep as its child asks for.
func (p *parser) above(n, child *node) {
	if n.depth = max(n.depth, child.depth+1); n.depth > maxTree {
		p.fail(ErrLimit, "nested too deeply")
	}
}

// subparse reads text, prints and statements up to a tag that ends a block, whose
// name is then current, or to the end of the source.
func (p *parser) subparse(ends ...string) []*node {
	p.enter()
	defer p.leave()
	var body, data []*node
	flush := func() {
		if len(data) > 0 {
			body = append(body, p.finish(&node{op: opOutput, line: data[0].line, list: data}))
			data = nil
		}
	}
	for !p.is(tokenEOF) {
		t := p.next()
		switch t.kind {
		case tokenData:
			data = append(data, &node{op: opData, line: t.line, val: value.NewString([]byte(t.text))})
		case tokenVariableBegin:
			data = append(data, p.tuple(tupleRules{conditional: true}))
			p.expect(tokenVariableEnd)
		case tokenBlockBegin:
			flush()
			if p.isAnyName(ends...) {
				return body
			}
			if n := p.statement(); n != nil {
				body = append(body, p.finish(n))
			}
			p.expect(tokenBlockEnd)
		default:
			p.syntax("unexpected %q", t.text)
		}
	}
	flush()
	if len(ends) > 0 {
		p.syntax("unexpected end of template, looking for %q", ends[0])
	}
	return body
}

// statements reads the body of a block up to one of the tags that end it.
func (p *parser) statements(ends ...string) []*node {
	p.skipIf(tokenColon)
	p.expect(tokenBlockEnd)
	return p.subparse(ends...)
}

// block is statements that also reads the name of the tag that ends it.
func (p *parser) block(end string) []*node {
	body := p.statements(end)
	p.next()
	return body
}

package value

import (
	"errors"
	"fmt"
)

// Errors of Parse; test with errors.Is.
var (
	ErrSyntax    = errors.New("value: invalid JSON")
	ErrDepth     = errors.New("value: JSON nested too deeply")
	ErrSurrogate = errors.New("value: a lone surrogate, which has no UTF-8 form")
)

// maxIntDigits is the length from which Python refuses to read an int.
const maxIntDigits = 4300

// parser reads one document.
type parser struct {
	m    *Memory
	body []byte
	at   int
	err  error
}

// Parse reads one JSON document as Python's json.loads does (the last of repeated
// keys wins, at the place of the first; NaN and Infinity are numbers). Strings without
// escapes are views of body. Control characters inside strings are let through, and
// UTF-8 is not checked.
func (m *Memory) Parse(body []byte) (Value, error) {
	p := parser{m: m, body: body}
	m.stack, m.pending = m.stack[:0], m.pending[:0]
	v := p.value(0)
	if p.skip(); p.at != len(body) {
		p.fail(ErrSyntax)
	}
	if p.err != nil {
		return Value{}, fmt.Errorf("cannot read byte %d: %w", p.at, p.err)
	}
	return v, nil
}

func (p *parser) fail(err error) Value {
	if p.err == nil {
		p.err = err
	}
	return Value{}
}

// skip moves past white space and gives the byte there, 0 at the end.
func (p *parser) skip() byte {
	for p.at < len(p.body) {
		switch c := p.body[p.at]; c {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return c
		}
	}
	return 0
}

func (p *parser) value(depth int) Value {
	p.m.count()
	switch c := p.skip(); c {
	case '"':
		p.at++
		return NewString(p.str())
	case '{':
		return p.dict(depth + 1)
	case '[':
		return p.list(depth + 1)
	case 't':
		return p.word("true", NewBool(true))
	case 'f':
		return p.word("false", NewBool(false))
	case 'n':
		return p.word("null", NewNone())
	case 'N':
		return p.word("NaN", Value{kind: Float, text: p.ahead(3)})
	case 'I':
		return p.word("Infinity", Value{kind: Float, text: p.ahead(8)})
	default:
		return p.number(c)
	}
}

func (p *parser) ahead(n int) []byte {
	end := min(len(p.body), p.at+n)
	return p.body[p.at:end:end]
}

func (p *parser) word(word string, v Value) Value {
	if string(p.ahead(len(word))) != word {
		return p.fail(ErrSyntax)
	}
	p.at += len(word)
	return v
}

func (p *parser) list(depth int) Value {
	if depth > maxDepth {
		return p.fail(ErrDepth)
	}
	p.at++
	start := len(p.m.stack)
	if p.skip() == ']' {
		p.at++
		return p.m.NewList(0)
	}
	for p.err == nil {
		v := p.value(depth)
		p.m.stack = append(p.m.stack, v)
		switch p.skip() {
		case ',':
			p.at++
		case ']':
			p.at++
			list := p.m.NewList(len(p.m.stack) - start)
			list.ref.items = append(list.ref.items, p.m.stack[start:]...)
			p.m.stack = p.m.stack[:start]
			return list
		default:
			return p.fail(ErrSyntax)
		}
	}
	return Value{}
}

func (p *parser) dict(depth int) Value {
	if depth > maxDepth {
		return p.fail(ErrDepth)
	}
	p.at++
	start := len(p.m.pending)
	if p.skip() == '}' {
		p.at++
		return p.m.NewDict(0)
	}
	for p.err == nil {
		if p.skip() != '"' {
			return p.fail(ErrSyntax)
		}
		p.at++
		key := NewString(p.str())
		if p.skip() != ':' {
			return p.fail(ErrSyntax)
		}
		p.at++
		p.m.pending = append(p.m.pending, entry{key, p.value(depth)})
		switch p.skip() {
		case ',':
			p.at++
		case '}':
			p.at++
			return p.endDict(start)
		default:
			return p.fail(ErrSyntax)
		}
	}
	return Value{}
}

// endDict makes a Dict of the entries pending since start.
func (p *parser) endDict(start int) Value {
	read := p.m.pending[start:]
	dict := p.m.NewDict(len(read))
	o := dict.ref
	if len(read) >= indexed {
		o.entries = append(o.entries, read...)
		p.m.reindex(o, 4*len(read))
	} else {
		for i := range read {
			if j := o.find(read[i].key); j >= 0 {
				o.entries[j].val = read[i].val
				continue
			}
			o.entries = append(o.entries, read[i])
		}
	}
	p.m.pending = p.m.pending[:start]
	return dict
}

// number reads a number that starts with c.
func (p *parser) number(c byte) Value {
	start := p.at
	if c == '-' {
		p.at++
		if p.at < len(p.body) && p.body[p.at] == 'I' {
			p.word("Infinity", Value{})
			return Value{kind: Float, text: p.body[start:p.at:p.at]}
		}
	}
	digits := p.digits()
	if digits == 0 || digits > 1 && p.body[p.at-digits] == '0' {
		return p.fail(ErrSyntax)
	}
	if fraction := p.fraction(); fraction || p.err != nil {
		return Value{kind: Float, text: p.body[start:p.at:p.at]}
	}
	if digits > maxIntDigits {
		return p.fail(ErrSyntax)
	}
	if digits > 9 {
		return NewIntText(p.body[start:p.at:p.at])
	}
	n := int32(0)
	for _, d := range p.body[p.at-digits : p.at] {
		n = n*10 + int32(d-'0')
	}
	if c == '-' {
		n = -n
	}
	return Value{kind: Int, small: n}
}

// fraction reads what makes a number a Float, if anything.
func (p *parser) fraction() (found bool) {
	if p.at < len(p.body) && p.body[p.at] == '.' {
		found = true
		if p.at++; p.digits() == 0 {
			p.fail(ErrSyntax)
		}
	}
	if p.at < len(p.body) && p.body[p.at]|0x20 == 'e' {
		found = true
		p.at++
		if p.at < len(p.body) && (p.body[p.at] == '+' || p.body[p.at] == '-') {
			p.at++
		}
		if p.digits() == 0 {
			p.fail(ErrSyntax)
		}
	}
	return found
}

func (p *parser) digits() int {
	start := p.at
	for p.at < len(p.body) && p.body[p.at]-'0' <= 9 {
		p.at++
	}
	return p.at - start
}

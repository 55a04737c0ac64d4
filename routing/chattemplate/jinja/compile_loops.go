package jinja

import "penstock/routing/chattemplate/value"

// loopCode is a compiled for loop.
type loopCode struct {
	iter      expr
	set       func(*run, value.Value)
	begin     func(*run)
	body      stmt
	test      func(*run) bool // nil without "if"
	setTest   func(*run, value.Value)
	beginTest func(*run)
	repack    expr // makes tuples of what the targets got, nil where they are one name
	other     stmt // nil without "else"
	loopSlot  int  // of the variable "loop", -1 without
	fn        *function
}

func (c *compiler) forLoop(n *node, at place) stmt {
	n.walk(func(m *node) {
		if m.op == opName && m.ctx == store && m.name == "loop" {
			c.fail(ErrSyntax, m, "can't assign to special loop variable")
		}
	})
	in, outside := at.inner(), at
	if n.recursive {
		in = at.inside()
		outside = in
		outside.sc = at.sc
	}
	test, other := outside.inner(), outside.inner()
	in.loop = true
	code := &loopCode{iter: c.expr(n.right, at), loopSlot: -1, fn: in.fn}
	if n.recursive || mentions(n.body, "loop")["loop"] {
		code.loopSlot = in.sc.parameter("loop").slot
	}
	in.sc.target(n.left)
	in.sc.visitAll(n.body)
	if n.third != nil {
		test.sc.target(n.left)
		test.sc.visit(n.third)
		code.beginTest = c.begin(test.sc)
		code.test, code.setTest = c.cond(n.third, test), c.assign(n.left, test)
		if n.left.op == opTuple {
			code.repack = c.expr(n.left.loaded(), test)
		}
	}
	code.set, code.begin = c.assign(n.left, in), c.begin(in.sc)
	code.body = c.body(n.body, in)
	if n.other != nil {
		other.sc.visitAll(n.other)
		begin, body := c.begin(other.sc), c.body(n.other, other)
		code.other = func(r *run) flow {
			begin(r)
			return body(r)
		}
	}
	switch {
	case n.recursive:
		return code.runRecursive
	case code.loopSlot >= 0:
		return code.runExtended
	default:
		return code.runPlain
	}
}

// accepts evaluates the "if" of a loop for an item.
func (l *loopCode) accepts(r *run, item value.Value) bool {
	l.setTest(r, item)
	l.beginTest(r)
	return l.test(r)
}

// runPlain is a loop whose body does not look at "loop".
func (l *loopCode) runPlain(r *run) flow {
	it, ok := r.iterate(l.iter(r))
	if !ok {
		return stop
	}
	through := false
	for {
		item, ok := it.next(r)
		if !ok || !r.spend(1) {
			break
		}
		if l.test != nil && !l.accepts(r, item) {
			continue
		}
		l.set(r, item)
		l.begin(r)
		f := l.body(r)
		if f == stop || f == breakLoop {
			break
		}
		through = through || f == goOn
	}
	return l.end(r, through)
}

// end runs "else", unless some iteration reached its end.
func (l *loopCode) end(r *run, through bool) flow {
	if r.err != nil {
		return stop
	}
	if l.other != nil && !through {
		return l.other(r)
	}
	return goOn
}

func (l *loopCode) runExtended(r *run) flow {
	state := r.newLoop()
	state.code = l
	return l.each(r, l.iter(r), state)
}

// each runs the loop over v with state as "loop".
func (l *loopCode) each(r *run, v value.Value, state *loopState) flow {
	it, ok := r.iterate(v)
	if !ok {
		return stop
	}
	if !r.room(loopSize) {
		return stop
	}
	state.it, state.index0, state.length = it, -1, -1
	r.fr.slots[l.loopSlot] = r.m.NewOther(state)
	through := false
	for {
		item, ok := state.next(r)
		if !ok || !r.spend(1) {
			break
		}
		l.set(r, item)
		l.begin(r)
		f := l.body(r)
		if f == stop || f == breakLoop {
			break
		}
		through = through || f == goOn
	}
	return l.end(r, through)
}

func (l *loopCode) runRecursive(r *run) flow {
	l.recurse(r, l.iter(r), r.fr, 0)
	return r.ended()
}

// recurse runs a recursive loop over v as the function that it is.
func (l *loopCode) recurse(r *run, v value.Value, up *frame, depth int) {
	if r.descend() {
		before := r.enter(l.fn, up)
		state := r.newLoop()
		state.code, state.up, state.depth0 = l, up, depth
		l.each(r, v, state)
		r.leave(l.fn, before)
	}
	r.ascend()
}

// loopState is the variable "loop".
type loopState struct {
	code            *loopCode
	it              iterator
	index0          int
	length          int // -1 when not known yet
	current, before value.Value
	after           value.Value
	peeked, ended   bool
	depth0          int
	up              *frame // of a recursive loop
	changed         value.Value
	called          bool // changed was
	accepted        bool // what is left has passed the "if"
}

// newLoop is an empty loop variable. It lives as long as the rendering: values may
// refer to it when its loop is over.
func (r *run) newLoop() *loopState {
	if r.made == len(r.loops) {
		r.loops = append(r.loops, new(loopState))
	}
	r.made++
	return r.loops[r.made-1]
}

// fetch is the next item that the loop's "if" accepts.
func (s *loopState) fetch(r *run) (value.Value, bool) {
	for r.err == nil {
		item, ok := s.it.next(r)
		if !ok {
			return item, false
		}
		if s.accepted || s.code.test == nil {
			return item, true
		}
		if s.code.accepts(r, item) {
			if s.code.repack != nil {
				item = s.code.repack(r)
			}
			return item, true
		}
		r.spend(1)
	}
	return value.Value{}, false
}

// peek looks one item ahead.
func (s *loopState) peek(r *run) (value.Value, bool) {
	if !s.peeked && !s.ended {
		item, ok := s.fetch(r)
		s.after, s.peeked, s.ended = item, ok, !ok
	}
	return s.after, s.peeked
}

// next goes on to the next item.
func (s *loopState) next(r *run) (value.Value, bool) {
	item, ok := s.after, s.peeked
	if !ok {
		if s.ended {
			return item, false
		}
		if item, ok = s.fetch(r); !ok {
			s.after, s.ended = item, true
			return item, false
		}
	}
	s.peeked = false
	s.index0++
	s.before, s.current = s.current, item
	return item, true
}

// total is the number of items; of what cannot tell, the rest is read for it.
func (s *loopState) total(r *run) int {
	if s.length >= 0 {
		return s.length
	}
	if n, ok := s.it.size(); ok && s.code.test == nil {
		s.length = n
		return n
	}
	var rest []value.Value
	for {
		item, ok := s.fetch(r)
		if !ok || !r.room(valueSize) {
			break
		}
		rest = append(rest, item)
	}
	s.length = len(rest) + s.index0 + 1
	if s.peeked {
		s.length++
	}
	s.it = iterator{items: rest, kind: overList}
	s.accepted = true
	return s.length
}

// Sizes are about what a value, and a loop variable with its value, take.
const (
	valueSize = 40
	loopSize  = 640
)

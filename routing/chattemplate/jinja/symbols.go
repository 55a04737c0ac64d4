package jinja

import "maps"

// Which variable a name means is decided here, at compile time, by Jinja's own rules
// (jinja2/idtracking.py): every scope knows the names it stores and loads, an inner
// scope works on copies of the outer variables that it assigns to, and a name that no
// scope assigns to comes from the request.

// function is a piece of a template that Jinja compiles to a Python function: it has
// variables of its own at each call.
type function struct {
	parent   *function
	slots    int
	captured bool // functions inside it keep its variables
}

// variable is a place in the frame of a function.
type variable struct {
	fn     *function
	slot   int
	global int // number + 1 of the request's variable that it always is, 0 if none
}

// loadKind says how a variable gets its value when its scope is entered.
type loadKind uint8

const (
	loadParameter loadKind = iota
	loadResolve            // from the request
	loadAlias              // from the outer variable
	loadUndefined
)

type loading struct {
	kind loadKind
	name string
	from *variable
}

// scope is a set of names; Jinja calls it Symbols.
type scope struct {
	parent *scope
	fn     *function
	made   map[string]*variable // of the scope and its copies
	refs   map[string]*variable
	loads  map[*variable]loading
	order  []*variable // of loads
	stores map[string]bool
}

func newScope(parent *scope, fn *function) *scope {
	return &scope{
		parent: parent, fn: fn,
		made: map[string]*variable{}, refs: map[string]*variable{}, loads: map[*variable]loading{}, stores: map[string]bool{},
	}
}

func (s *scope) find(name string) *variable {
	for ; s != nil; s = s.parent {
		if v := s.refs[name]; v != nil {
			return v
		}
	}
	return nil
}

func (s *scope) findOuter(name string) *variable {
	if s.parent == nil {
		return nil
	}
	return s.parent.find(name)
}

func (s *scope) define(name string, l loading) *variable {
	v := s.made[name]
	if v == nil {
		v = &variable{fn: s.fn, slot: s.fn.slots}
		s.fn.slots++
		s.made[name] = v
	}
	s.refs[name] = v
	s.setLoad(v, l)
	return v
}

func (s *scope) setLoad(v *variable, l loading) {
	if _, known := s.loads[v]; !known {
		s.order = append(s.order, v)
	}
	s.loads[v] = l
}

func (s *scope) parameter(name string) *variable {
	s.stores[name] = true
	return s.define(name, loading{kind: loadParameter})
}

func (s *scope) load(name string) {
	if s.find(name) == nil {
		s.define(name, loading{kind: loadResolve, name: name})
	}
}

func (s *scope) store(name string) {
	s.stores[name] = true
	if s.refs[name] != nil {
		return
	}
	if outer := s.findOuter(name); outer != nil {
		s.define(name, loading{kind: loadAlias, from: outer})
		return
	}
	s.define(name, loading{kind: loadUndefined})
}

func (s *scope) copy() *scope {
	c := *s
	c.refs, c.loads, c.stores = maps.Clone(s.refs), maps.Clone(s.loads), maps.Clone(s.stores)
	c.order = append([]*variable(nil), s.order...)
	return &c
}

// merge takes over what the branches of an if found. A name that only some of them
// store starts as what it is outside.
func (s *scope) merge(branches []*scope) {
	stored := map[string]bool{}
	var names []string
	for _, b := range branches {
		for name := range b.stores {
			if !stored[name] && !s.stores[name] {
				names = append(names, name)
			}
			stored[name] = true
		}
	}
	for _, b := range branches {
		maps.Copy(s.refs, b.refs)
		maps.Copy(s.stores, b.stores)
		for _, v := range b.order {
			s.setLoad(v, b.loads[v])
		}
	}
	for _, name := range names {
		v := s.find(name)
		if outer := s.findOuter(name); outer != nil {
			s.setLoad(v, loading{kind: loadAlias, from: outer})
			continue
		}
		s.setLoad(v, loading{kind: loadResolve, name: name})
	}
}

// analyze finds the names of a scope whose body starts at n.
func (s *scope) analyze(n *node) {
	switch n.op {
	case opAssignBlock, opGeneration:
		s.visitAll(n.body)
	case opFilterBlock:
		s.visitAll(n.body)
		s.visit(n.left)
	case opMacro, opCallBlock:
		for _, p := range n.params {
			s.parameter(p.name)
		}
		s.visitAll(n.defaults)
		s.visitAll(n.body)
	case opWith:
		s.visitAll(n.params)
		s.visitAll(n.body)
	default:
	}
}

func (s *scope) visitAll(list []*node) {
	for _, n := range list {
		s.visit(n)
	}
}

// target declares the names that a loop assigns to.
func (s *scope) target(n *node) {
	if n.op == opName {
		s.parameter(n.name)
	}
	for _, c := range n.list {
		s.target(c)
	}
}

// visit notes the names that n mentions in this scope, not in those inside.
func (s *scope) visit(n *node) {
	switch n.op {
	case opName:
		switch n.ctx {
		case param:
			s.parameter(n.name)
		case store:
			s.store(n.name)
		default:
			s.load(n.name)
		}
	case opNSRef:
		s.load(n.name)
	case opIf:
		s.visitIf(n)
	case opMacro:
		s.store(n.name)
	case opAssign:
		s.visit(n.right)
		s.visit(n.left)
	case opFor:
		s.visit(n.right)
	case opCallBlock, opFilterBlock, opAssignBlock:
		s.visit(n.left)
	case opWith:
		s.visitAll(n.list)
	case opGeneration:
	default:
		n.children(s.visit)
	}
}

func (s *scope) visitIf(n *node) {
	s.visit(n.left)
	branch := func(list []*node) *scope {
		c := s.copy()
		c.visitAll(list)
		return c
	}
	s.merge([]*scope{branch(n.body), branch(n.elifs), branch(n.other)})
}

// mentions reports whether any of names is loaded in list before it is stored, as
// Jinja looks for special names.
func mentions(list []*node, names ...string) map[string]bool {
	open, found := map[string]bool{}, map[string]bool{}
	for _, name := range names {
		open[name] = true
	}
	look := func(n *node) {
		if n.op != opName || !open[n.name] {
			return
		}
		if n.ctx == load {
			found[n.name] = true
		} else {
			delete(open, n.name)
		}
	}
	for _, n := range list {
		look(n)
		n.walk(look)
	}
	return found
}

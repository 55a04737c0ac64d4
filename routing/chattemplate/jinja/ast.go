package jinja

import "penstock/routing/chattemplate/value"

// op is the kind of a node.
type op uint8

// The nodes, by Jinja's names.
const (
	opConst op = iota
	opName
	opNSRef
	opTuple
	opList
	opDict // list holds keys and values in turn
	opCond // left if right else third
	opAnd  // list
	opOr   // list
	opNot
	opCompare
	opSum    // list of terms added from the left
	opConcat // list
	opSub
	opMul
	opDiv
	opFloorDiv
	opMod
	opPow
	opNeg
	opPos
	opGetattr
	opGetitem
	opSlice // list of three, any of them nil
	opCall
	opFilter
	opTest

	opOutput // list
	opData   // text between tags, inside an opOutput
	opFor
	opIf
	opMacro
	opCallBlock
	opGeneration
	opFilterBlock
	opWith
	opAssign
	opAssignBlock
	opBreak
	opContinue
)

// context says what a name is used for.
type context uint8

const (
	load context = iota
	store
	param
)

// node is a node of the syntax tree. Which fields mean something depends on op.
type node struct {
	op    op
	ctx   context
	line  int
	depth int // of the tree below
	name  string
	attr  string      // of opNSRef
	val   value.Value // of opConst and opData

	left, right, third *node
	list               []*node
	args               []*node
	kwargs             []keyword
	dynArgs, dynKwargs *node
	ops                []operand

	body, other []*node
	elifs       []*node
	params      []*node // names
	defaults    []*node
	recursive   bool
}

type keyword struct {
	name string
	val  *node
}

// operand is one comparison of a chain.
type operand struct {
	op   token
	expr *node
}

// children calls f with the nodes below n, in Jinja's order, which its analysis of
// names depends on.
func (n *node) children(f func(*node)) {
	each := func(list []*node) {
		for _, c := range list {
			if c != nil {
				f(c)
			}
		}
	}
	switch n.op {
	case opFor: // target, iter, body, else, test
		f(n.left)
		f(n.right)
		each(n.body)
		each(n.other)
		each([]*node{n.third})
		return
	case opIf:
		f(n.left)
		each(n.body)
		each(n.elifs)
		each(n.other)
		return
	case opCallBlock:
		f(n.left)
	case opCond: // test, then the two values
		each([]*node{n.right, n.left, n.third})
		return
	default:
		each([]*node{n.left, n.right, n.third})
	}
	each(n.list)
	for _, o := range n.ops {
		f(o.expr)
	}
	each(n.args)
	for _, k := range n.kwargs {
		f(k.val)
	}
	each([]*node{n.dynArgs, n.dynKwargs})
	each(n.params)
	each(n.defaults)
	each(n.body)
}

// loaded is a target as the expression that reads it again.
func (n *node) loaded() *node {
	c := *n
	c.ctx, c.list = load, nil
	for _, e := range n.list {
		c.list = append(c.list, e.loaded())
	}
	return &c
}

// walk calls f with every node below n, parents first.
func (n *node) walk(f func(*node)) {
	n.children(func(c *node) {
		f(c)
		c.walk(f)
	})
}

package jinja

import "penstock/routing/chattemplate/value"

// The values of the template engine; each is what a value of kind Other carries.
type (
	// namespace is a dict that templates may assign to.
	namespace struct{ attrs value.Value }

	// method is a method with the value it was looked up on.
	method struct {
		recv value.Value
		name string
		call methodFunc
	}

	// dictView is dict.keys(), values() or items().
	dictView struct {
		dict value.Value
		kind iteration
	}

	// rangeValue is a range.
	rangeValue struct {
		start, stop, step int64
		length            int
	}

	// macroValue is a macro, with the frame it was defined in.
	macroValue struct {
		code *macroCode
		up   *frame
	}

	// cycler and joiner are Jinja's helpers.
	cycler struct {
		items []value.Value
		at    int
	}
	joiner struct {
		sep  value.Value
		used bool
	}

	// groupTag marks the tuples that groupby makes.
	groupTag struct{}
)

// The functions that every template knows, as marks of values of kind Other.
const (
	markMissing int32 = iota + 1 // an argument that was not given
	markRange
	markDict
	markNamespace
	markCycler
	markJoiner
	markLipsum
	markRaise
	markStrftime
)

// builtin is a global function, Undefined when there is none by that name.
func builtin(name string) value.Value {
	mark, ok := builtins[name]
	if !ok {
		return value.Value{}
	}
	return value.NewMark(mark)
}

var builtins = map[string]int32{
	"range": markRange, "dict": markDict, "namespace": markNamespace, "cycler": markCycler, "joiner": markJoiner,
	"lipsum": markLipsum, "raise_exception": markRaise, "strftime_now": markStrftime,
}

// missing stands for an argument that was not given.
var missing = value.NewMark(markMissing)

func isMissing(v value.Value) bool { return v.Mark() == markMissing }

// typeName names the type of a value for errors.
func typeName(v value.Value) string {
	switch v.Kind() {
	case value.Undefined:
		return "undefined"
	case value.None:
		return "None"
	case value.Bool:
		return "bool"
	case value.Int:
		return "int"
	case value.Float:
		return "float"
	case value.String:
		return "str"
	case value.Dict:
		return "dict"
	case value.List:
		if v.IsTuple() {
			return "tuple"
		}
		return "list"
	default:
		return "object"
	}
}

// truth is Python's bool(v).
func (r *run) truth(v value.Value) bool {
	if v.Kind() != value.Other {
		return v.Truth()
	}
	switch x := v.Ext().(type) {
	case *dictView:
		return x.dict.Len() > 0
	case *rangeValue:
		return x.length > 0
	case *loopState:
		return x.total(r) > 0
	default:
		return true
	}
}

// length is Python's len(v).
func (r *run) length(v value.Value) (int, bool) {
	switch v.Kind() {
	case value.List, value.Dict:
		return v.Len(), true
	case value.String:
		return runeCount(r, v.Bytes()), true
	case value.Undefined:
		return 0, true
	default:
	}
	switch x := v.Ext().(type) {
	case *dictView:
		return x.dict.Len(), true
	case *rangeValue:
		return x.length, true
	case *loopState:
		return x.total(r), true
	default:
		return 0, false
	}
}

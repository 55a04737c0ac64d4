package jinja

import "penstock/routing/chattemplate/value"

// testSpecs are Jinja's tests.
var testSpecs = map[string]*testSpec{
	"defined":     kindTest(func(v value.Value) bool { return v.Kind() != value.Undefined }),
	"undefined":   kindTest(func(v value.Value) bool { return v.Kind() == value.Undefined }),
	"none":        kindTest(func(v value.Value) bool { return v.Kind() == value.None }),
	"boolean":     kindTest(func(v value.Value) bool { return v.Kind() == value.Bool }),
	"true":        kindTest(func(v value.Value) bool { return v.Kind() == value.Bool && v.Truth() }),
	"false":       kindTest(func(v value.Value) bool { return v.Kind() == value.Bool && !v.Truth() }),
	"integer":     kindTest(func(v value.Value) bool { return v.Kind() == value.Int }),
	"float":       kindTest(func(v value.Value) bool { return v.Kind() == value.Float }),
	"number":      kindTest(func(v value.Value) bool { return isNumber(v.Kind()) }),
	"string":      kindTest(func(v value.Value) bool { return v.Kind() == value.String }),
	"mapping":     kindTest(func(v value.Value) bool { return v.Kind() == value.Dict }),
	"sequence":    kindTest(isSequence),
	"iterable":    kindTest(isIterable),
	"callable":    kindTest(isCallable),
	"escaped":     kindTest(value.Value.IsMarkup),
	"odd":         {0, func(r *run, v value.Value, _ []value.Value) bool { return r.remainder(v, value.NewInt(2), 1) }},
	"even":        {0, func(r *run, v value.Value, _ []value.Value) bool { return r.remainder(v, value.NewInt(2), 0) }},
	"divisibleby": {1, func(r *run, v value.Value, p []value.Value) bool { return r.remainder(v, p[0], 0) }},
	"upper":       {0, func(r *run, v value.Value, _ []value.Value) bool { return r.hasCase(v, isUpper, isLower) }},
	"lower":       {0, func(r *run, v value.Value, _ []value.Value) bool { return r.hasCase(v, isLower, isUpper) }},
	"filter":      {0, testFilter},
	"test":        {0, testTest},
	"sameas":      {1, func(_ *run, v value.Value, p []value.Value) bool { return v.Same(p[0]) }},
	"in":          compareTest(tokenIn),
	"==":          compareTest(tokenEq),
	"eq":          compareTest(tokenEq),
	"equalto":     compareTest(tokenEq),
	"!=":          compareTest(tokenNe),
	"ne":          compareTest(tokenNe),
	">":           compareTest(tokenGt),
	"gt":          compareTest(tokenGt),
	"greaterthan": compareTest(tokenGt),
	">=":          compareTest(tokenGe),
	"ge":          compareTest(tokenGe),
	"<":           compareTest(tokenLt),
	"lt":          compareTest(tokenLt),
	"lessthan":    compareTest(tokenLt),
	"<=":          compareTest(tokenLe),
	"le":          compareTest(tokenLe),
}

func kindTest(is func(value.Value) bool) *testSpec {
	return &testSpec{0, func(_ *run, v value.Value, _ []value.Value) bool { return is(v) }}
}

func compareTest(op token) *testSpec {
	return &testSpec{1, func(r *run, v value.Value, p []value.Value) bool { return r.compare(op, v, p[0]) }}
}

// isSequence is what has a length and can be subscripted, which Jinja's undefined is
// not: asking it for its method raises.
func isSequence(v value.Value) bool {
	switch v.Kind() {
	case value.String, value.List, value.Dict:
		return true
	case value.Undefined:
		return true
	default:
	}
	_, isRange := v.Ext().(*rangeValue)
	return isRange
}

func isIterable(v value.Value) bool {
	_, ok := iterate(v)
	return ok
}

func isCallable(v value.Value) bool {
	if v.Kind() == value.Undefined {
		return true // its class has __call__, which raises
	}
	if mark := v.Mark(); mark > markMissing {
		return true
	}
	switch v.Ext().(type) {
	case *macroValue, *method, *joiner, *loopState:
		return true
	}
	return false
}

// remainder reports whether v % by is want.
func (r *run) remainder(v, by value.Value, want int64) bool {
	rest := r.arithmetic('%', v, by)
	return r.err == nil && r.equal(rest, value.NewInt(want))
}

func (r *run) hasCase(v value.Value, want, other func(rune) bool) bool {
	is := caseMethod(want, func(c rune) bool { return other(c) || isTitle(c) })
	return is(r, value.NewString(r.str(v)), arguments{}).Truth()
}

func testFilter(r *run, v value.Value, _ []value.Value) bool {
	if v.Kind() != value.String {
		return r.hashableOrRaise(v)
	}
	return r.t.tables.filters[string(v.Bytes())] != nil || refusedFilters[string(v.Bytes())]
}

func testTest(r *run, v value.Value, _ []value.Value) bool {
	if v.Kind() != value.String {
		return r.hashableOrRaise(v)
	}
	return r.t.tables.tests[string(v.Bytes())] != nil
}

// hashableOrRaise raises for what cannot be looked up in a dict, and is false.
func (r *run) hashableOrRaise(v value.Value) bool {
	if view, ok := v.Ext().(*dictView); !value.Hashable(v) || ok && view.kind != overValues {
		r.raise("unhashable type: %s", typeName(v))
	}
	return false
}

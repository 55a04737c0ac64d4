package jinja

import "penstock/routing/chattemplate/value"

// tables are the methods, filters and tests by name. Code that runs reaches them
// through the template, since they refer to that code.
type tables struct {
	str, dict, list, tuple map[string]methodFunc
	views                  map[string]bool
	filters                map[string]*filterSpec
	tests                  map[string]*testSpec
}

var allTables = tables{
	str: strMethods, dict: dictMethods, list: listMethods, tuple: tupleMethods, views: viewAttrs,
	filters: filterSpecs, tests: testSpecs,
}

// filterSpec is a filter: call gets its arguments by the names in params, missing
// where not given; raw gets them as they came.
type filterSpec struct {
	params   []string
	required int
	call     func(r *run, v value.Value, p []value.Value) value.Value
	raw      func(r *run, v value.Value, a arguments) value.Value
}

// testSpec is a test.
type testSpec struct {
	params int // all required
	call   func(r *run, v value.Value, p []value.Value) bool
}

// refusedFilters are those of Jinja that are not built: they draw lots, read clocks,
// or make HTML.
var refusedFilters = map[string]bool{"random": true, "pprint": true, "urlize": true, "wordwrap": true}

// apply runs a filter.
func (f *filterSpec) apply(r *run, name string, v value.Value, a arguments) value.Value {
	if !r.spend(1) {
		return value.Value{}
	}
	if f.raw != nil {
		return f.raw(r, v, a)
	}
	base := len(r.stack)
	for range f.params {
		r.push(missing)
	}
	p := r.stack[base:len(r.stack):len(r.stack)]
	if len(a.pos)+len(a.names)+f.required == 0 || r.bindArgs(name, a, p, f.required, f.params...) {
		v = f.call(r, v, p)
	}
	r.pop(base)
	return v
}

// apply runs a test.
func (t *testSpec) apply(r *run, name string, v value.Value, a arguments) bool {
	if !r.spend(1) {
		return false
	}
	if len(a.pos) != t.params || len(a.names) > 0 {
		if len(a.names) > 0 {
			r.unsupported("keyword arguments of test %q", name)
		} else {
			r.raise("test %q takes %d arguments", name, t.params)
		}
		return false
	}
	return t.call(r, v, a.pos)
}

// filterOf compiles the filter n, without what it is applied to.
func (c *compiler) filterOf(n *node, at place) func(*run, value.Value) value.Value {
	spec, name := allTables.filters[n.name], n.name
	if spec == nil {
		return c.noFilter(n, at)
	}
	args := c.passing(n, at)
	if len(args.pos)+len(args.vals) == 0 && args.dynamic == nil && args.keywords == nil {
		return func(r *run, v value.Value) value.Value { return spec.apply(r, name, v, arguments{}) }
	}
	return func(r *run, v value.Value) value.Value {
		base := len(r.stack)
		v = spec.apply(r, name, v, args.push(r))
		r.pop(base)
		return v
	}
}

// noFilter deals with an unknown filter: it is an error now, or in a branch when it
// runs.
func (c *compiler) noFilter(n *node, at place) func(*run, value.Value) value.Value {
	name := n.name
	if !at.soft || refusedFilters[name] {
		c.fail(ErrUnsupported, n, "filter %q", name)
	}
	return func(r *run, _ value.Value) value.Value { return r.unsupported("filter %q", name) }
}

// filterChain compiles filters that are applied to a block; nil is none.
func (c *compiler) filterChain(n *node, at place) func(*run, value.Value) value.Value {
	if n == nil {
		return func(_ *run, v value.Value) value.Value { return v }
	}
	inner, outer := c.filterChain(n.left, at), c.filterOf(n, at)
	return func(r *run, v value.Value) value.Value { return outer(r, inner(r, v)) }
}

// test compiles "x is test".
func (c *compiler) test(n *node, at place) func(*run) bool {
	of, name := c.expr(n.left, at), n.name
	switch {
	case len(n.args)+len(n.kwargs) > 0 || n.dynArgs != nil || n.dynKwargs != nil:
	case name == "defined":
		return func(r *run) bool { return of(r).Kind() != value.Undefined }
	case name == "undefined":
		return func(r *run) bool { return of(r).Kind() == value.Undefined }
	case name == "none":
		return func(r *run) bool { return of(r).Kind() == value.None }
	case name == "string":
		return func(r *run) bool { return of(r).Kind() == value.String }
	}
	spec := allTables.tests[name]
	if spec == nil {
		if !at.soft {
			c.fail(ErrUnsupported, n, "test %q", name)
		}
		return func(r *run) bool {
			r.unsupported("test %q", name)
			return false
		}
	}
	args := c.passing(n, at)
	return func(r *run) bool {
		v := of(r)
		base := len(r.stack)
		holds := spec.apply(r, name, v, args.push(r))
		r.pop(base)
		return holds
	}
}

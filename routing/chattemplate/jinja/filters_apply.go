package jinja

import (
	"errors"
	"slices"

	"penstock/routing/chattemplate/value"
)

// Filters that apply other filters and tests. Python does so when their result is
// read; here it is done at once, and an error waits until its element is read.

// collect applies f to every element until the first error.
func (r *run) collect(v value.Value, f func(item value.Value) (value.Value, bool)) value.Value {
	if r.err != nil {
		return value.Value{}
	}
	var kept []value.Value
	start := len(r.out)
	if r.truth(v) {
		it, ok := r.iterate(v)
		for ok {
			var item value.Value
			if item, ok = it.next(r); !ok {
				break
			}
			out, keep := f(item)
			if ok = r.room(valueSize) && r.err == nil; ok && keep {
				kept = append(kept, out)
			}
		}
	}
	return r.waiting(kept, start)
}

// waiting makes a generator of items whose error, if Python raises one, comes last.
// What was being written is taken back to where it started.
func (r *run) waiting(items []value.Value, start int) value.Value {
	err := r.err
	if errors.Is(err, ErrRaised) {
		r.err, r.out = nil, r.out[:start]
	}
	return r.generator(items, err)
}

func filterMap(r *run, v value.Value, a arguments) value.Value {
	if len(a.pos) == 0 && slices.Contains(a.names, "attribute") {
		return r.mapAttribute(v, a)
	}
	if len(a.pos) == 0 {
		return r.failLater(v, "map requires a filter argument")
	}
	if a.pos[0].Kind() != value.String {
		return r.failLater(v, "no such filter")
	}
	name := string(a.pos[0].Bytes())
	spec := r.t.tables.filters[name]
	if spec == nil {
		if refusedFilters[name] {
			return r.unsupported("filter %q", name)
		}
		return r.failLater(v, "no filter named "+name)
	}
	rest := arguments{pos: a.pos[1:], names: a.names, vals: a.vals}
	return r.collect(v, func(item value.Value) (value.Value, bool) { return spec.apply(r, name, item, rest), true })
}

// failLater is a generator over v that fails once it is read, if there is anything.
func (r *run) failLater(v value.Value, message string) value.Value {
	if r.err != nil || !r.truth(v) {
		return r.generator(nil, nil)
	}
	return r.lazily(func() value.Value { return r.raise("%s", message) })
}

func (r *run) mapAttribute(v value.Value, a arguments) value.Value {
	path, fallback := []attrPart(nil), missing
	for i, name := range a.names {
		switch name {
		case "attribute":
			path = r.attrParts(a.vals[i])
		case "default":
			fallback = a.vals[i]
		default:
			return r.failLater(v, "unexpected keyword argument "+name)
		}
	}
	return r.collect(v, func(item value.Value) (value.Value, bool) { return r.follow(item, path, fallback), true })
}

// selectFilter is select, reject, selectattr and rejectattr.
func selectFilter(want, attribute bool) func(*run, value.Value, arguments) value.Value {
	return func(r *run, v value.Value, a arguments) value.Value {
		var path []attrPart
		pos := a.pos
		if attribute {
			if len(pos) == 0 {
				return r.failLater(v, "missing parameter for attribute name")
			}
			path, pos = r.attrParts(pos[0]), pos[1:]
		}
		holds := r.truth
		if len(pos) > 0 {
			name := ""
			if pos[0].Kind() == value.String {
				name = string(pos[0].Bytes())
			}
			spec, rest := r.t.tables.tests[name], arguments{pos: pos[1:], names: a.names, vals: a.vals}
			if spec == nil {
				return r.failLater(v, "no test named "+name)
			}
			holds = func(item value.Value) bool { return spec.apply(r, name, item, rest) }
		}
		return r.collect(v, func(item value.Value) (value.Value, bool) {
			return item, holds(r.follow(item, path, missing)) == want
		})
	}
}

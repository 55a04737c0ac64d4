package jinja

import "penstock/routing/chattemplate/value"

// Strings that filters mark as HTML: nothing is escaped when it is printed here, but
// adding a plain string to one escapes that.

// sameMarkup marks a string that was made of another as that is.
func sameMarkup(of, v value.Value) value.Value {
	if of.IsMarkup() && v.Kind() == value.String {
		return value.NewMarkup(v.Bytes())
	}
	return v
}

// softFilter makes a filter keep the mark.
func softFilter(f func(*run, value.Value, []value.Value) value.Value) func(*run, value.Value, []value.Value) value.Value {
	return func(r *run, v value.Value, p []value.Value) value.Value { return sameMarkup(v, f(r, v, p)) }
}

func filterSafe(r *run, v value.Value, _ []value.Value) value.Value {
	return value.NewMarkup(r.str(v))
}

// filterEscape escapes HTML in what is not marked.
func filterEscape(r *run, v value.Value, p []value.Value) value.Value {
	if v.IsMarkup() {
		return v
	}
	return filterForceEscape(r, v, p)
}

func filterForceEscape(r *run, v value.Value, _ []value.Value) value.Value {
	return value.NewMarkup(r.convert(r.str(v), escapeHTML).Bytes())
}

// sumMarkup is a + b where one of them is marked.
func (r *run) sumMarkup(a, b value.Value) value.Value {
	if a.Kind() != value.String || b.Kind() != value.String {
		return r.raise("cannot add %s and %s", typeName(a), typeName(b))
	}
	a, b = filterEscape(r, a, nil), filterEscape(r, b, nil)
	sum := r.sum(value.NewString(a.Bytes()), value.NewString(b.Bytes()))
	return value.NewMarkup(sum.Bytes())
}

// callMethod calls a method; what methods make of marked strings is marked too.
func (r *run) callMethod(name string, f methodFunc, recv value.Value, a arguments) value.Value {
	if !recv.IsMarkup() {
		return f(r, recv, a)
	}
	switch name {
	case "strip", "lstrip", "rstrip", "upper", "lower", "title", "capitalize", "swapcase", "zfill", "removeprefix", "removesuffix":
		return sameMarkup(recv, f(r, recv, a))
	case "startswith", "endswith", "find", "rfind", "index", "rindex", "count", "isdigit", "isalpha", "isalnum", "isspace",
		"isupper", "islower", "istitle", "isnumeric", "isdecimal", "isascii", "isprintable", "isidentifier":
		return f(r, recv, a)
	case "split", "rsplit", "splitlines":
		list := f(r, recv, a)
		items := r.copyValues(list.Items())
		for i := range items {
			items[i] = value.NewMarkup(items[i].Bytes())
		}
		return r.m.ListOf(items)
	}
	return r.unsupported("method %q of markup", name)
}

func escapeHTML(dst, s []byte) []byte {
	for _, c := range s {
		switch c {
		case '&':
			dst = append(dst, "&amp;"...)
		case '<':
			dst = append(dst, "&lt;"...)
		case '>':
			dst = append(dst, "&gt;"...)
		case '\'':
			dst = append(dst, "&#39;"...)
		case '"':
			dst = append(dst, "&#34;"...)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

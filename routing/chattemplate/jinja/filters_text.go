package jinja

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"penstock/routing/chattemplate/value"
)

// wordTitle is Jinja's title, which unlike Python's breaks words at white space,
// hyphens and opening brackets only.
func wordTitle(dst, s []byte) []byte {
	first, rest := true, 0 // where the word goes on behind its first letter
	for i := 0; i < len(s); {
		c, size := utf8.DecodeRune(s[i:])
		switch {
		case c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || isSpace(c):
			dst = append(dst, s[i:i+size]...)
			first = true
		case first:
			dst = appendUpper(dst, c)
			first, rest = false, i+size
		default:
			dst = appendLower(dst, s[rest:], i-rest, size)
		}
		i += size
	}
	return dst
}

// jsonStyle is what transformers' tojson writes without arguments.
var jsonStyle = value.Style{Item: []byte(", "), Key: []byte(": ")}

// printJSON writes v as tojson does without arguments.
func (r *run) printJSON(v value.Value) {
	style := jsonStyle
	r.appendJSON(v, &style)
}

func (r *run) appendJSON(v value.Value, style *value.Style) {
	if r.err != nil {
		return
	}
	style.Limit = r.limits.Output
	start := len(r.out)
	out, err := v.AppendStyled(r.out, style)
	r.out = out
	switch {
	case errors.Is(err, value.ErrNotJSON):
		r.raise("not JSON serializable")
	case err != nil:
		r.fail(ErrLimit, "%v", err)
	}
	r.work((len(out) - start) * 4)
}

func filterToJSON(r *run, v value.Value, p []value.Value) value.Value {
	style := jsonStyle
	if !isMissing(p[1]) && p[1].Kind() != value.None {
		style.Lines, style.Item = value.ManyLines, []byte(",")
		switch n, ok := p[1].Int64(); {
		case p[1].Kind() == value.String:
			style.Indent = p[1].Bytes()
		case !ok: // Python raises, unless there is nothing to indent
			return r.unsupported("an indent of %s", typeName(p[1]))
		case n > maxWidth:
			return r.fail(ErrLimit, "an indent of %d", n)
		default:
			style.Indent = bytes.Repeat([]byte(" "), int(max(n, 0)))
		}
	}
	if !isMissing(p[2]) && p[2].Kind() != value.None {
		items := r.elements(p[2])
		if len(items) != 2 || items[0].Kind() != value.String || items[1].Kind() != value.String {
			return r.raise("separators must be two strings")
		}
		style.Item, style.Key = items[0].Bytes(), items[1].Bytes()
	}
	style.EnsureASCII, style.SortKeys = value.Escaping(r.isTrue(p[0])), value.Order(r.isTrue(p[3]))
	start := len(r.out)
	r.appendJSON(v, &style)
	return r.capture(start)
}

// filterURLEncode quotes for a URL: a string as a path, a dict or pairs as a query.
func filterURLEncode(r *run, v value.Value, _ []value.Value) value.Value {
	if v.Kind() == value.String || !isIterable(v) {
		return r.convert(r.str(v), func(dst, s []byte) []byte { return appendURL(dst, s, "/") })
	}
	if v.Kind() == value.Dict {
		v = r.m.NewOther(&dictView{v, overItems})
	}
	items := r.elements(v)
	start := len(r.out)
	for i, item := range items {
		if i > 0 {
			r.out = append(r.out, '&')
		}
		pair := r.elements(item)
		if len(pair) != 2 {
			return r.raise("not a pair")
		}
		key, val := r.str(pair[0]), r.str(pair[1])
		r.out = append(appendURL(r.out, key, ""), '=')
		r.out = appendURL(r.out, val, "")
		r.spend(1)
	}
	return r.capture(start)
}

// appendURL writes s with what is not safe in a URL as %XX. In a query, which keeps
// no slash, a space is a plus.
func appendURL(dst, s []byte, safe string) []byte {
	const hexDigits = "0123456789ABCDEF"
	for _, c := range s {
		switch {
		case c|0x20 >= 'a' && c|0x20 <= 'z', c >= '0' && c <= '9', bytes.IndexByte([]byte("_.-~"+safe), c) >= 0:
			dst = append(dst, c)
		case c == ' ' && safe == "":
			dst = append(dst, '+')
		default:
			dst = append(dst, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return dst
}

func filterXMLAttr(r *run, v value.Value, p []value.Value) value.Value {
	if v.Kind() != value.Dict {
		return r.raise("%s has no items", typeName(v))
	}
	start := len(r.out)
	for i := range v.Len() {
		key, val := v.EntryKey(i), v.EntryValue(i)
		if val.Kind() == value.None || val.Kind() == value.Undefined {
			continue
		}
		if key.Kind() != value.String || bytes.ContainsAny(key.Bytes(), " \t\n\r\f\v/>=") {
			return r.raise("invalid character in attribute name")
		}
		text := r.str(val)
		if len(r.out) > start || isMissing(p[0]) || r.truth(p[0]) {
			r.out = append(r.out, ' ')
		}
		r.out = append(escapeHTML(r.out, key.Bytes()), `="`...)
		r.out = append(escapeHTML(r.out, text), '"')
		r.work(len(text))
	}
	return r.capture(start)
}

package jinja

import (
	"bytes"
	"strconv"
	"unicode"
	"unicode/utf8"

	"penstock/routing/chattemplate/value"
)

// maxReprDepth bounds the nesting of what is printed; Python's limit is higher, and
// what passes it fails.
const maxReprDepth = 180

// appendRepr writes Python's repr(v).
func (r *run) appendRepr(dst []byte, v value.Value) []byte {
	switch v.Kind() {
	case value.Undefined:
		return append(dst, "Undefined"...)
	case value.None:
		return append(dst, "None"...)
	case value.Bool, value.Int, value.Float:
		return v.AppendNumber(dst)
	case value.String:
		if v.IsMarkup() {
			return append(appendQuoted(append(dst, "Markup("...), v.Bytes()), ')')
		}
		return appendQuoted(dst, v.Bytes())
	default:
	}
	if r.depth >= r.limits.Depth+maxReprDepth {
		r.fail(ErrLimit, "depth")
	}
	if len(dst) > r.limits.Output {
		r.fail(ErrLimit, "output")
	}
	if r.err != nil || !r.spend(1) {
		return dst
	}
	r.depth++
	switch v.Kind() {
	case value.List:
		dst = r.appendList(dst, v)
	case value.Dict:
		dst = r.appendDict(dst, v)
	default:
		dst = r.appendOther(dst, v)
	}
	r.depth--
	return dst
}

func (r *run) appendList(dst []byte, v value.Value) []byte {
	open, end := byte('['), byte(']')
	if v.IsTuple() {
		open, end = '(', ')'
	}
	dst = append(dst, open)
	for i, item := range v.Items() {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		if dst = r.appendRepr(dst, item); r.err != nil {
			return dst
		}
	}
	if v.IsTuple() && v.Len() == 1 {
		dst = append(dst, ',')
	}
	return append(dst, end)
}

func (r *run) appendDict(dst []byte, v value.Value) []byte {
	dst = append(dst, '{')
	for i := range v.Len() {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(r.appendRepr(dst, v.EntryKey(i)), ": "...)
		if dst = r.appendRepr(dst, v.EntryValue(i)); r.err != nil {
			return dst
		}
	}
	return append(dst, '}')
}

func (r *run) appendOther(dst []byte, v value.Value) []byte {
	switch x := v.Ext().(type) {
	case *namespace:
		return append(r.appendRepr(append(dst, "<Namespace "...), x.attrs), '>')
	case *macroValue:
		if x.code.name == "" {
			return append(dst, "<Macro anonymous>"...)
		}
		return append(appendQuoted(append(dst, "<Macro "...), []byte(x.code.name)), '>')
	case *rangeValue:
		dst = strconv.AppendInt(append(dst, "range("...), x.start, 10)
		dst = strconv.AppendInt(append(dst, ", "...), x.stop, 10)
		if x.step != 1 {
			dst = strconv.AppendInt(append(dst, ", "...), x.step, 10)
		}
		return append(dst, ')')
	case *dictView:
		return r.appendView(dst, x)
	case *loopState:
		dst = strconv.AppendInt(append(dst, "<LoopContext "...), int64(x.index0+1), 10)
		dst = strconv.AppendInt(append(dst, '/'), int64(x.total(r)), 10)
		return append(dst, '>')
	}
	r.unsupported("printing of what has an address")
	return dst
}

func (r *run) appendView(dst []byte, x *dictView) []byte {
	name := map[iteration]string{overKeys: "dict_keys", overValues: "dict_values", overItems: "dict_items"}[x.kind]
	dst = append(append(dst, name...), "(["...)
	for i := range x.dict.Len() {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		if dst = r.appendRepr(dst, r.element(x.dict, i, x.kind)); !r.spend(1) {
			return dst
		}
	}
	return append(dst, "])"...)
}

// appendQuoted writes a string as Python's repr does: in single quotes unless it has
// some and no double ones, with what cannot be printed escaped.
func appendQuoted(dst, s []byte) []byte {
	quote := byte('\'')
	if bytes.IndexByte(s, '\'') >= 0 && bytes.IndexByte(s, '"') < 0 {
		quote = '"'
	}
	dst = append(dst, quote)
	for len(s) > 0 {
		c := s[0]
		if c >= 0x20 && c < 0x7f {
			if c == quote || c == '\\' {
				dst = append(dst, '\\')
			}
			dst = append(dst, c)
			s = s[1:]
			continue
		}
		char, size := utf8.DecodeRune(s)
		if c >= utf8.RuneSelf && unicode.IsPrint(char) {
			dst = append(dst, s[:size]...)
		} else {
			dst = appendEscaped(dst, char)
		}
		s = s[size:]
	}
	return append(dst, quote)
}

func appendEscaped(dst []byte, r rune) []byte {
	switch {
	case r == '\n':
		return append(dst, `\n`...)
	case r == '\r':
		return append(dst, `\r`...)
	case r == '\t':
		return append(dst, `\t`...)
	case r < 0x100:
		return append(append(dst, `\x`...), pad(r, 2)...)
	case r < 0x10000:
		return append(append(dst, `\u`...), pad(r, 4)...)
	default:
		return append(append(dst, `\U`...), pad(r, 8)...)
	}
}

package jinja

import (
	"bytes"
	"unicode/utf8"

	"penstock/routing/chattemplate/value"
)

// window is s[start:end] as methods with such arguments mean it; ok is false when the
// start lies behind the end, where nothing is found, not even nothing.
func (r *run) window(s []byte, start, end value.Value) (part []byte, before int, ok bool) {
	if isMissing(start) && isMissing(end) {
		return s, 0, true
	}
	n := runeCount(r, s)
	from, ok := r.bound(start, 0, n)
	to, alsoOK := r.bound(end, n, n)
	if !ok || !alsoOK || from > to {
		return nil, 0, false
	}
	i := offset(s, from)
	return s[i : i+offset(s[i:], to-from)], from, true
}

// bound is an index into n characters, which counts from the end when negative.
func (r *run) bound(v value.Value, fallback, n int) (int, bool) {
	if isMissing(v) || v.Kind() == value.None {
		return fallback, true
	}
	i, ok := v.Int64()
	switch {
	case v.Kind() != value.Int && v.Kind() != value.Bool:
		r.raise("slice indices must be integers or None")
		return 0, false
	case !ok && negative(v):
		return 0, true
	case !ok:
		return n + 1, true
	case i < 0:
		return int(max(0, i+int64(n))), true
	}
	if fallback > 0 {
		return int(min(i, int64(n))), true
	}
	return int(min(i, int64(n)+1)), true
}

// findMethod is find, rfind, index and rindex.
func findMethod(last, must bool) methodFunc {
	return func(r *run, recv value.Value, a arguments) value.Value {
		var p [3]value.Value
		if !r.bindArgs("find", a, p[:], 1, "", "", "") {
			return value.Value{}
		}
		if p[0].Kind() != value.String {
			return r.raise("find takes a string, not %s", typeName(p[0]))
		}
		part, before, ok := r.window(recv.Bytes(), p[1], p[2])
		at := -1
		if ok && r.work(len(part)) {
			if last {
				at = bytes.LastIndex(part, p[0].Bytes())
			} else {
				at = bytes.Index(part, p[0].Bytes())
			}
		}
		if at < 0 {
			if must {
				return r.raise("substring not found")
			}
			return value.NewInt(-1)
		}
		return r.m.NewInt(int64(before + runeCount(r, part[:at])))
	}
}

func strCount(r *run, recv value.Value, a arguments) value.Value {
	var p [3]value.Value
	if !r.bindArgs("count", a, p[:], 1, "", "", "") {
		return value.Value{}
	}
	if p[0].Kind() != value.String {
		return r.raise("count takes a string, not %s", typeName(p[0]))
	}
	part, _, ok := r.window(recv.Bytes(), p[1], p[2])
	if !ok || !r.work(len(part)) {
		return value.NewInt(0)
	}
	return r.m.NewInt(int64(bytes.Count(part, p[0].Bytes())))
}

func strReplace(r *run, recv value.Value, a arguments) value.Value {
	var p [3]value.Value
	if !r.bindArgs("replace", a, p[:], 2, "", "", "") {
		return value.Value{}
	}
	if p[0].Kind() != value.String || p[1].Kind() != value.String {
		return r.raise("replace takes strings")
	}
	count := int64(-1)
	if !isMissing(p[2]) {
		n, ok := p[2].Int64()
		if p[2].Kind() != value.Int && p[2].Kind() != value.Bool || !ok {
			return r.raise("replace takes an int as count")
		}
		count = n
	}
	return r.replace(recv.Bytes(), p[0].Bytes(), p[1].Bytes(), count)
}

// replace replaces old by fresh, at most count times unless that is negative. What
// has nothing to replace is a view.
func (r *run) replace(s, old, fresh []byte, count int64) value.Value {
	if !r.work(len(s)) {
		return value.Value{}
	}
	found := int64(bytes.Count(s, old))
	if count >= 0 {
		found = min(found, count)
	}
	if found == 0 {
		return value.NewString(s)
	}
	t := r.text(len(s) + int(found)*(len(fresh)-len(old)))
	if t == nil {
		return value.NewString(nil)
	}
	n := 0
	for i := range found {
		at := 0
		if len(old) > 0 {
			at = bytes.Index(s, old)
		} else if i > 0 {
			_, at = utf8.DecodeRune(s)
		}
		n += copy(t[n:], s[:at])
		n += copy(t[n:], fresh)
		s = s[at+len(old):]
	}
	copy(t[n:], s)
	return value.NewString(t)
}

func strJoin(r *run, recv value.Value, a arguments) value.Value {
	var p [1]value.Value
	if !r.bindArgs("join", a, p[:], 1, "") {
		return value.Value{}
	}
	start := len(r.out)
	for i, v := range r.elements(p[0]) {
		if v.Kind() != value.String {
			return r.raise("join takes strings, not %s", typeName(v))
		}
		if i > 0 {
			r.out = append(r.out, recv.Bytes()...)
		}
		if r.out = append(r.out, v.Bytes()...); !r.spend(1) {
			break
		}
	}
	return r.capture(start)
}

// everyMethod tests that a string has characters, and that all of them are so.
func everyMethod(is func(rune) bool) methodFunc {
	all := everyMethodOrNone(is)
	return func(r *run, recv value.Value, a arguments) value.Value {
		v := all(r, recv, a)
		return value.NewBool(v.Truth() && len(recv.Bytes()) > 0)
	}
}

// everyMethodOrNone tests that all characters of a string are so.
func everyMethodOrNone(is func(rune) bool) methodFunc {
	return func(r *run, recv value.Value, a arguments) value.Value {
		if !r.bindArgs("method", a, nil, 0) || !r.work(len(recv.Bytes())) {
			return value.Value{}
		}
		return value.NewBool(bytes.IndexFunc(recv.Bytes(), func(c rune) bool { return !is(c) }) < 0)
	}
}

// caseMethod tests that a string has some characters of a case and none of the others.
func caseMethod(want, other func(rune) bool) methodFunc {
	return func(r *run, recv value.Value, a arguments) value.Value {
		if !r.bindArgs("method", a, nil, 0) || !r.work(len(recv.Bytes())) {
			return value.Value{}
		}
		s := recv.Bytes()
		return value.NewBool(bytes.IndexFunc(s, other) < 0 && bytes.IndexFunc(s, want) >= 0)
	}
}

func strIstitle(r *run, recv value.Value, a arguments) value.Value {
	if !r.bindArgs("istitle", a, nil, 0) || !r.work(len(recv.Bytes())) {
		return value.Value{}
	}
	cased, inside := false, false
	for _, c := range string(recv.Bytes()) {
		switch {
		case isUpper(c) || isTitle(c):
			if inside {
				return value.NewBool(false)
			}
			cased, inside = true, true
		case isLower(c):
			if !inside {
				return value.NewBool(false)
			}
		default:
			inside = false
		}
	}
	return value.NewBool(cased)
}

func strIsidentifier(r *run, recv value.Value, a arguments) value.Value {
	if !r.bindArgs("isidentifier", a, nil, 0) {
		return value.Value{}
	}
	s := string(recv.Bytes())
	return value.NewBool(s != "" && nameLength(s) == len(s))
}

// charAt is character i of s, Undefined outside.
func (r *run) charAt(s []byte, i int64) value.Value {
	if i < 0 && -i <= int64(len(s)) {
		at := len(s)
		for ; i < 0 && at > 0; i++ {
			_, size := utf8.DecodeLastRune(s[:at])
			if at -= size; i == -1 {
				return value.NewString(s[at : at+size])
			}
		}
	}
	if i < 0 || i >= int64(len(s)) || !r.work(int(i)) {
		return value.Value{}
	}
	at := offset(s, int(i))
	if at >= len(s) {
		return value.Value{}
	}
	_, size := utf8.DecodeRune(s[at:])
	return value.NewString(s[at : at+size])
}

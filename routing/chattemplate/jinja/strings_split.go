package jinja

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"penstock/routing/chattemplate/value"
)

// splitArgs are the arguments of split and rsplit; sep is nil for white space, and
// limit is -1 for none.
func (r *run) splitArgs(a arguments) (sep []byte, limit int64, ok bool) {
	var p [2]value.Value
	if !r.bindArgs("split", a, p[:], 0, "sep", "maxsplit") {
		return nil, 0, false
	}
	limit = -1
	if !isMissing(p[1]) {
		if limit, ok = p[1].Int64(); !ok {
			r.raise("maxsplit must be an int")
			return nil, 0, false
		}
	}
	switch {
	case isMissing(p[0]) || p[0].Kind() == value.None:
		return nil, limit, true
	case p[0].Kind() != value.String:
		r.raise("sep must be a string or None")
		return nil, 0, false
	case len(p[0].Bytes()) == 0:
		r.raise("empty separator")
		return nil, 0, false
	}
	return p[0].Bytes(), limit, true
}

// listOf makes a list of views.
func (r *run) listOf(parts [][]byte) value.Value {
	if !r.room(len(parts) * valueSize) {
		return value.Value{}
	}
	items := r.m.Values(len(parts))
	for i, part := range parts {
		items[i] = value.NewString(part)
	}
	return r.m.ListOf(items)
}

func strSplit(r *run, recv value.Value, a arguments) value.Value {
	sep, limit, ok := r.splitArgs(a)
	if !ok || !r.work(len(recv.Bytes())) {
		return value.Value{}
	}
	s := recv.Bytes()
	if sep == nil {
		return r.listOf(fields(s, limit))
	}
	n := bytes.Count(s, sep) + 1
	if limit >= 0 {
		n = int(min(int64(n), limit+1))
	}
	if !r.room(n * valueSize) {
		return value.Value{}
	}
	items := r.m.Values(n)
	for i := range n - 1 {
		at := bytes.Index(s, sep)
		items[i] = value.NewString(s[:at])
		s = s[at+len(sep):]
	}
	items[n-1] = value.NewString(s)
	return r.m.ListOf(items)
}

// fields splits at white space, at most limit times unless that is negative.
func fields(s []byte, limit int64) [][]byte {
	var parts [][]byte
	for {
		s = bytes.TrimLeftFunc(s, isSpace)
		if len(s) == 0 {
			return parts
		}
		end := bytes.IndexFunc(s, isSpace)
		if end < 0 || int64(len(parts)) == limit {
			return append(parts, s)
		}
		parts = append(parts, s[:end])
		s = s[end:]
	}
}

func strRsplit(r *run, recv value.Value, a arguments) value.Value {
	sep, limit, ok := r.splitArgs(a)
	if !ok || !r.work(len(recv.Bytes())) {
		return value.Value{}
	}
	s := recv.Bytes()
	var parts [][]byte
	for sep != nil {
		at := bytes.LastIndex(s, sep)
		if at < 0 || int64(len(parts)) == limit {
			parts = append(parts, s)
			break
		}
		parts = append(parts, s[at+len(sep):])
		s = s[:at]
	}
	if sep == nil {
		parts = fieldsFromEnd(s, limit)
	}
	slices.Reverse(parts)
	return r.listOf(parts)
}

// fieldsFromEnd is fields counted from the end, the last first.
func fieldsFromEnd(s []byte, limit int64) [][]byte {
	var parts [][]byte
	for {
		s = bytes.TrimRightFunc(s, isSpace)
		if len(s) == 0 {
			return parts
		}
		at := bytes.LastIndexFunc(s, isSpace)
		if at < 0 || int64(len(parts)) == limit {
			return append(parts, s)
		}
		_, size := utf8.DecodeRune(s[at:])
		parts = append(parts, s[at+size:])
		s = s[:at]
	}
}

func strSplitlines(r *run, recv value.Value, a arguments) value.Value {
	var p [1]value.Value
	if !r.bindArgs("splitlines", a, p[:], 0, "keepends") || !r.work(len(recv.Bytes())) {
		return value.Value{}
	}
	keep := !isMissing(p[0]) && r.truth(p[0])
	return r.listOf(splitLines(recv.Bytes(), keep))
}

// splitLines splits where Python's splitlines does.
func splitLines(s []byte, keep bool) [][]byte {
	var lines [][]byte
	for len(s) > 0 {
		at := bytes.IndexFunc(s, isLineEnd)
		if at < 0 {
			return append(lines, s)
		}
		c, size := utf8.DecodeRune(s[at:])
		if c == '\r' && at+1 < len(s) && s[at+1] == '\n' {
			size = 2
		}
		line := s[:at]
		if keep {
			line = s[:at+size]
		}
		lines = append(lines, line)
		s = s[at+size:]
	}
	return lines
}

func isLineEnd(c rune) bool {
	return c >= 0x0a && c <= 0x0d || c >= 0x1c && c <= 0x1e || c == 0x85 || c == 0x2028 || c == 0x2029
}

func strZfill(r *run, recv value.Value, a arguments) value.Value {
	var p [1]value.Value
	if !r.bindArgs("zfill", a, p[:], 1, "") {
		return value.Value{}
	}
	s := recv.Bytes()
	missing, ok := r.shortOf(s, p[0])
	if !ok || missing <= 0 {
		return recv
	}
	t := r.text(len(s) + missing)
	if t == nil {
		return recv
	}
	sign := 0
	if len(s) > 0 && (s[0] == '+' || s[0] == '-') {
		sign = 1
	}
	copy(t, s[:sign])
	for i := range missing {
		t[sign+i] = '0'
	}
	copy(t[sign+missing:], s[sign:])
	return value.NewString(t)
}

// shortOf is how many characters s lacks to a width.
func (r *run) shortOf(s []byte, width value.Value) (int, bool) {
	n, ok := width.Int64()
	if width.Kind() != value.Int && width.Kind() != value.Bool {
		r.raise("width must be an int")
		return 0, false
	}
	if !ok || n > int64(r.limits.Output) {
		if ok || !negative(width) {
			r.fail(ErrLimit, "memory")
		}
		return 0, false
	}
	return int(max(0, n)) - runeCount(r, s), true
}

// padMethod is center, ljust and rjust.
func padMethod(left, right bool) methodFunc {
	return func(r *run, recv value.Value, a arguments) value.Value {
		var p [2]value.Value
		if !r.bindArgs("padding", a, p[:], 1, "", "") {
			return value.Value{}
		}
		fill := []byte(" ")
		if !isMissing(p[1]) {
			if fill = p[1].Bytes(); p[1].Kind() != value.String || utf8.RuneCount(fill) != 1 {
				return r.raise("the fill character must be exactly one character long")
			}
		}
		lacks, ok := r.shortOf(recv.Bytes(), p[0])
		if !ok || lacks <= 0 {
			return recv
		}
		before := 0
		switch {
		case left && right:
			before = lacks/2 + lacks&(lacks+runeCount(r, recv.Bytes()))&1
		case left:
			before = lacks
		}
		return r.padded(recv.Bytes(), fill, before, lacks-before)
	}
}

func (r *run) padded(s, fill []byte, before, after int) value.Value {
	if !r.room((before+after)*len(fill) + len(s)) {
		return value.Value{}
	}
	t := r.m.Text((before+after)*len(fill) + len(s))
	n := 0
	for range before {
		n += copy(t[n:], fill)
	}
	n += copy(t[n:], s)
	for range after {
		n += copy(t[n:], fill)
	}
	return value.NewString(t)
}

package jinja

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"penstock/routing/chattemplate/value"
)

// methodFunc is a method of a value.
type methodFunc func(r *run, recv value.Value, a arguments) value.Value

// strMethods are the methods of strings.
var strMethods = map[string]methodFunc{
	"strip":        stripMethod(true, true),
	"lstrip":       stripMethod(true, false),
	"rstrip":       stripMethod(false, true),
	"split":        strSplit,
	"rsplit":       strRsplit,
	"splitlines":   strSplitlines,
	"partition":    partitionMethod(bytes.Index),
	"rpartition":   partitionMethod(bytes.LastIndex),
	"startswith":   affixMethod(bytes.HasPrefix),
	"endswith":     affixMethod(bytes.HasSuffix),
	"removeprefix": strRemoveprefix,
	"removesuffix": strRemovesuffix,
	"replace":      strReplace,
	"upper":        convertMethod(upper),
	"lower":        convertMethod(lower),
	"casefold":     strUnsupported("casefold"),
	"title":        convertMethod(title),
	"capitalize":   convertMethod(capitalize),
	"swapcase":     convertMethod(swapcase),
	"join":         strJoin,
	"find":         findMethod(false, false),
	"rfind":        findMethod(true, false),
	"index":        findMethod(false, true),
	"rindex":       findMethod(true, true),
	"count":        strCount,
	"isdigit":      everyMethod(isDigit),
	"isdecimal":    everyMethod(isDecimal),
	"isnumeric":    everyMethod(isNumeric),
	"isalpha":      everyMethod(unicode.IsLetter),
	"isalnum":      everyMethod(isAlnum),
	"isspace":      everyMethod(isSpace),
	"isascii":      everyMethodOrNone(isASCII),
	"isprintable":  everyMethodOrNone(unicode.IsPrint),
	"isupper":      caseMethod(isUpper, func(r rune) bool { return isLower(r) || isTitle(r) }),
	"islower":      caseMethod(isLower, func(r rune) bool { return isUpper(r) || isTitle(r) }),
	"istitle":      strIstitle,
	"isidentifier": strIsidentifier,
	"format":       strFormat,
	"format_map":   strFormatMap,
	"zfill":        strZfill,
	"center":       padMethod(true, true),
	"ljust":        padMethod(false, true),
	"rjust":        padMethod(true, false),
	"expandtabs":   strUnsupported("expandtabs"),
	"encode":       strUnsupported("encode"),
	"translate":    strUnsupported("translate"),
	"maketrans":    strUnsupported("maketrans"),
}

func strUnsupported(name string) methodFunc {
	return func(r *run, _ value.Value, _ arguments) value.Value { return r.unsupported("method %q", name) }
}

// strArgs binds arguments that must be strings, as far as they are given.
func (r *run) strArgs(what string, a arguments, into []value.Value, required int) bool {
	if !r.bindArgs(what, a, into, required, make([]string, len(into))...) {
		return false
	}
	for _, v := range into {
		if !isMissing(v) && v.Kind() != value.String {
			r.raise("%s takes a string, not %s", what, typeName(v))
			return false
		}
	}
	return true
}

func stripMethod(left, right bool) methodFunc {
	return func(r *run, recv value.Value, a arguments) value.Value {
		if len(a.pos) == 0 && len(a.names) == 0 {
			return value.NewString(trimSpace(recv.Bytes(), left, right))
		}
		var p [1]value.Value
		if !r.bindArgs("strip", a, p[:], 0, "") {
			return value.Value{}
		}
		return r.strip(recv.Bytes(), p[0], left, right)
	}
}

// strip cuts chars, or white space when they are None or missing.
func (r *run) strip(s []byte, chars value.Value, left, right bool) value.Value {
	switch {
	case isMissing(chars) || chars.Kind() == value.None:
		return value.NewString(trimSpace(s, left, right))
	case chars.Kind() != value.String:
		return r.raise("strip arg must be None or str")
	}
	set := chars.Bytes()
	in := func(c rune) bool { return bytes.ContainsRune(set, c) }
	before := len(s)
	if left {
		s = bytes.TrimLeftFunc(s, in)
	}
	if right {
		s = bytes.TrimRightFunc(s, in)
	}
	r.work((before - len(s)) * (1 + len(set)/16))
	return value.NewString(s)
}

// affixMethod is startswith and endswith.
func affixMethod(has func(s, affix []byte) bool) methodFunc {
	return func(r *run, recv value.Value, a arguments) value.Value {
		if len(a.pos) == 1 && len(a.names) == 0 && a.pos[0].Kind() == value.String {
			return value.NewBool(has(recv.Bytes(), a.pos[0].Bytes()))
		}
		var p [3]value.Value
		if !r.bindArgs("startswith", a, p[:], 1, "", "", "") {
			return value.Value{}
		}
		part, _, ok := r.window(recv.Bytes(), p[1], p[2])
		affixes := p[:1]
		if p[0].Kind() == value.List && p[0].IsTuple() {
			affixes = p[0].Items()
		}
		for _, affix := range affixes {
			if affix.Kind() != value.String {
				return r.raise("startswith takes str or a tuple of str, not %s", typeName(affix))
			}
			if ok && r.spend(1) && has(part, affix.Bytes()) {
				return value.NewBool(true)
			}
		}
		return value.NewBool(false)
	}
}

func strRemoveprefix(r *run, recv value.Value, a arguments) value.Value {
	var p [1]value.Value
	if !r.strArgs("removeprefix", a, p[:], 1) {
		return value.Value{}
	}
	return value.NewString(bytes.TrimPrefix(recv.Bytes(), p[0].Bytes()))
}

func strRemovesuffix(r *run, recv value.Value, a arguments) value.Value {
	var p [1]value.Value
	if !r.strArgs("removesuffix", a, p[:], 1) {
		return value.Value{}
	}
	return value.NewString(bytes.TrimSuffix(recv.Bytes(), p[0].Bytes()))
}

// partitionMethod is partition and rpartition.
func partitionMethod(index func(s, sep []byte) int) methodFunc {
	last := index([]byte("aa"), []byte("a")) > 0
	return func(r *run, recv value.Value, a arguments) value.Value {
		var p [1]value.Value
		if !r.strArgs("partition", a, p[:], 1) {
			return value.Value{}
		}
		s, sep := recv.Bytes(), p[0].Bytes()
		if len(sep) == 0 {
			return r.raise("empty separator")
		}
		if !r.room(3 * valueSize) {
			return value.Value{}
		}
		r.work(len(s))
		items, empty := r.m.Values(3), value.NewString(nil)
		switch at := index(s, sep); {
		case at >= 0:
			items[0], items[1], items[2] = value.NewString(s[:at]), p[0], value.NewString(s[at+len(sep):])
		case last:
			items[0], items[1], items[2] = empty, empty, recv
		default:
			items[0], items[1], items[2] = recv, empty, empty
		}
		return r.m.NewTuple(items)
	}
}

// convertMethod makes a method of a conversion.
func convertMethod(convert func(dst, s []byte) []byte) methodFunc {
	return func(r *run, recv value.Value, a arguments) value.Value {
		if !r.bindArgs("method", a, nil, 0) {
			return value.Value{}
		}
		return r.convert(recv.Bytes(), convert)
	}
}

// convert makes a String of what convert appends.
func (r *run) convert(s []byte, convert func(dst, s []byte) []byte) value.Value {
	if !r.work(len(s) * 8) {
		return value.Value{}
	}
	start := len(r.out)
	r.out = convert(r.out, s)
	return r.capture(start)
}

func upper(dst, s []byte) []byte {
	for len(s) > 0 {
		c, size := utf8.DecodeRune(s)
		dst = appendUpper(dst, c)
		s = s[size:]
	}
	return dst
}

func lower(dst, s []byte) []byte {
	for i := 0; i < len(s); {
		_, size := utf8.DecodeRune(s[i:])
		dst = appendLower(dst, s, i, size)
		i += size
	}
	return dst
}

func capitalize(dst, s []byte) []byte {
	if len(s) == 0 {
		return dst
	}
	c, size := utf8.DecodeRune(s)
	dst = appendTitle(dst, c)
	for i := size; i < len(s); {
		_, size := utf8.DecodeRune(s[i:])
		dst = appendLower(dst, s, i, size)
		i += size
	}
	return dst
}

func title(dst, s []byte) []byte {
	cased := false
	for i := 0; i < len(s); {
		c, size := utf8.DecodeRune(s[i:])
		if cased {
			dst = appendLower(dst, s, i, size)
		} else {
			dst = appendTitle(dst, c)
		}
		cased = isCased(c)
		i += size
	}
	return dst
}

func swapcase(dst, s []byte) []byte {
	for i := 0; i < len(s); {
		c, size := utf8.DecodeRune(s[i:])
		switch {
		case isUpper(c):
			dst = appendLower(dst, s, i, size)
		case isLower(c):
			dst = appendUpper(dst, c)
		default:
			dst = append(dst, s[i:i+size]...)
		}
		i += size
	}
	return dst
}

package enginesim

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// appendString appends s as a JSON string, escaping no more than JSON asks for.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				b = append(append(b, s[start:i]...), "\uFFFD"...)
				start = i + 1
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\t':
			b = append(b, `\t`...)
		default:
			b = append(b, `\u00`...)
			b = append(b, hex[c>>4], hex[c&15])
		}
		i++
		start = i
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

// appendNullable appends s, or null if it is empty.
func appendNullable(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	return appendString(b, s)
}

func appendIDs(b []byte, ids []uint32) []byte {
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, uint64(id), 10)
	}
	return append(b, ']')
}

// object is a JSON object in the making, its keys in the order they are added.
type object struct{ b []byte }

func newObject(b []byte) *object { return &object{append(b, '{')} }

func (o *object) key(k string) {
	if o.b[len(o.b)-1] != '{' {
		o.b = append(o.b, ',')
	}
	o.b = append(o.b, '"')
	o.b = append(o.b, k...)
	o.b = append(o.b, '"', ':')
}

func (o *object) str(k, v string) *object      { o.key(k); o.b = appendString(o.b, v); return o }
func (o *object) nullable(k, v string) *object { o.key(k); o.b = appendNullable(o.b, v); return o }
func (o *object) int(k string, v int) *object {
	o.key(k)
	o.b = strconv.AppendInt(o.b, int64(v), 10)
	return o
}
func (o *object) raw(k, v string) *object { o.key(k); o.b = append(o.b, v...); return o }
func (o *object) ids(k string, v []uint32) *object {
	o.key(k)
	o.b = appendIDs(o.b, v)
	return o
}

// nulls adds keys whose value is null.
func (o *object) nulls(keys ...string) *object {
	for _, k := range keys {
		o.raw(k, "null")
	}
	return o
}

// nested adds an object or array that fn writes.
func (o *object) nested(k string, fn func(b []byte) []byte) *object {
	o.key(k)
	o.b = fn(o.b)
	return o
}

func (o *object) end() []byte { return append(o.b, '}') }

// mustJSON encodes values that cannot fail: maps and structs built here.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return b
}

func (o *object) idsOrNull(k string, v []uint32) *object {
	if v == nil {
		return o.nulls(k)
	}
	return o.ids(k, v)
}

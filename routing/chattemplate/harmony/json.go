package harmony

import (
	"math"
	"slices"
	"strconv"

	"penstock/routing/chattemplate/value"
)

// json writes a value as serde_json displays it: compact, numbers in 64 bits.
func (t *typescript) json(v value.Value) {
	switch v.Kind() {
	case value.Bool:
		t.dst = strconv.AppendBool(t.dst, v.Truth())
	case value.Int, value.Float:
		t.number(v)
	case value.String:
		t.quoted(v.Bytes())
	case value.List:
		t.add("[")
		for i, item := range v.Items() {
			if i > 0 {
				t.add(",")
			}
			t.json(item)
		}
		t.add("]")
	case value.Dict:
		t.add("{")
		for i := range v.Len() {
			if i > 0 {
				t.add(",")
			}
			key, item := v.Entry(i)
			t.quoted(key)
			t.add(":")
			t.json(item)
		}
		t.add("}")
	default:
		t.add("null")
	}
}

// number writes integers of 64 bits, signed or not, as they are, and all else as a
// float.
func (t *typescript) number(v value.Value) {
	if v.Kind() == value.Int {
		if n, ok := v.Int64(); ok {
			t.dst = strconv.AppendInt(t.dst, n, 10)
			return
		}
		if n, err := strconv.ParseUint(string(v.Bytes()), 10, 64); err == nil {
			t.dst = strconv.AppendUint(t.dst, n, 10)
			return
		}
	}
	f := v.Float64()
	if math.IsInf(f, 0) || math.IsNaN(f) {
		t.err = ErrNumber
		return
	}
	t.dst = appendFloat(t.dst, f)
}

// appendFloat writes the shortest digits of f: with a point between 1e-5 and 1e16,
// else with an exponent.
func appendFloat(dst []byte, f float64) []byte {
	if a := math.Abs(f); f == 0 || a >= 1e-5 && a < 1e16 {
		start := len(dst)
		dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
		if slices.Contains(dst[start:], '.') {
			return dst
		}
		return append(dst, ".0"...)
	}
	digits := strconv.AppendFloat(nil, f, 'e', -1, 64)
	e := len(digits) - 1
	for digits[e] != 'e' {
		e--
	}
	exponent := digits[e+2:]
	for len(exponent) > 1 && exponent[0] == '0' {
		exponent = exponent[1:]
	}
	dst = append(dst, digits[:e+2]...)
	return append(dst, exponent...)
}

func (t *typescript) quoted(s []byte) {
	t.add(`"`)
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			t.dst = append(t.dst, '\\', c)
		case c >= ' ':
			t.dst = append(t.dst, c)
		default:
			t.control(c)
		}
	}
	t.add(`"`)
}

func (t *typescript) control(c byte) {
	const hex = "0123456789abcdef"
	switch c {
	case '\b':
		t.add(`\b`)
	case '\f':
		t.add(`\f`)
	case '\n':
		t.add(`\n`)
	case '\r':
		t.add(`\r`)
	case '\t':
		t.add(`\t`)
	default:
		t.dst = append(t.dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
	}
}

package chattemplate

import (
	"bytes"
	"strings"

	"penstock/routing/chattemplate/value"
)

// absent reports whether a field is missing or null.
func absent(v value.Value) bool { return v.Kind() == value.Undefined || v.Kind() == value.None }

// isText reports whether v is the string text.
func isText(v value.Value, text string) bool {
	return v.Kind() == value.String && string(v.Bytes()) == text
}

// laxBool reads a boolean as pydantic does unless told to be strict: 1, 1.0, "yes"
// and the like are true. A missing one is missing.
func laxBool(v value.Value, missing bool) (b, ok bool) {
	switch v.Kind() {
	case value.Undefined:
		return missing, true
	case value.Bool:
		return v.Truth(), true
	case value.Int, value.Float:
		f := v.Float64()
		return f == 1, f == 0 || f == 1
	case value.String:
		switch strings.ToLower(string(v.Bytes())) {
		case "0", "off", "f", "false", "n", "no":
			return false, true
		case "1", "on", "t", "true", "y", "yes":
			return true, true
		}
	default:
	}
	return false, false
}

// appendIDs appends a list of token ids; an element that is none, or negative, is
// refused.
func appendIDs(dst []uint32, list value.Value) ([]uint32, bool) {
	for _, v := range list.Items() {
		n, ok := v.Int64()
		if !ok || v.Kind() != value.Int || n < 0 || n > 1<<32-1 {
			return dst, false
		}
		dst = append(dst, uint32(n))
	}
	return dst, true
}

// pythonSpace are the characters that Python's str.strip removes.
const pythonSpace = "\t\n\v\f\r\x1c\x1d\x1e\x1f \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005" +
	"\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"

func pythonStrip(s []byte) []byte { return bytes.Trim(s, pythonSpace) }

func pythonRightStrip(s []byte) []byte { return bytes.TrimRight(s, pythonSpace) }

// controlInString reports whether a JSON string inside text holds a raw control
// character, which Python refuses and value.Memory lets through.
func controlInString(text []byte) bool {
	inside := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			inside = !inside
		case !inside:
		case c == '\\':
			i++
		case c < ' ':
			return true
		}
	}
	return false
}

package auth

import "bytes"

const scheme = "bearer"

// FromHeader finds the key in the values of Authorization (scheme Bearer, in
// any case) and x-api-key, where Anthropic's clients put it. Authorization
// wins when both hold one. The key is a part of its argument, not a copy; ok is
// false when there is none.
//
// A key has no blanks inside: "Bearer a b" holds none, rather than "a" or "a b",
// since another reader of the same header may cut it elsewhere.
func FromHeader(authorization, xAPIKey []byte) (key []byte, ok bool) {
	if key, ok = bearer(authorization); ok {
		return key, true
	}
	return token(xAPIKey)
}

func bearer(value []byte) ([]byte, bool) {
	value = bytes.Trim(value, " \t")
	if len(value) <= len(scheme) || !bytes.EqualFold(value[:len(scheme)], []byte(scheme)) {
		return nil, false
	}
	rest := value[len(scheme):]
	if rest[0] != ' ' && rest[0] != '\t' {
		return nil, false
	}
	return token(rest)
}

// token returns value without surrounding blanks, if it is one word of visible
// ASCII.
func token(value []byte) ([]byte, bool) {
	value = bytes.Trim(value, " \t")
	for _, c := range value {
		if c <= ' ' || c >= 0x7f {
			return nil, false
		}
	}
	return value, len(value) > 0
}

package keying

import (
	"bytes"
	"encoding/json"
)

// members walks over the top-level members of a JSON object that is known to be
// valid. It stops at the first byte that it does not expect.
type members struct {
	body []byte
	at   int
}

// member is one of them: its name, its raw value, and both together as they stand in
// the body.
type member struct {
	name, value, whole []byte
}

// newMembers begins at the object's first member.
func newMembers(body []byte) members {
	m := members{body: body}
	m.space()
	if m.peek() != '{' {
		m.at = len(body)
		return m
	}
	m.at++
	return m
}

// next returns the next member; ok is false after the last.
func (m *members) next() (out member, ok bool) {
	m.space()
	if m.peek() == ',' {
		m.at++
		m.space()
	}
	start := m.at
	if m.peek() != '"' || !m.text() {
		return member{}, false
	}
	out.name = nameOf(m.body[start:m.at])
	m.space()
	if m.peek() != ':' {
		return member{}, false
	}
	m.at++
	m.space()
	value := m.at
	if !m.skip() {
		return member{}, false
	}
	out.value, out.whole = m.body[value:m.at:m.at], m.body[start:m.at:m.at]
	return out, true
}

func (m *members) peek() byte {
	if m.at < len(m.body) {
		return m.body[m.at]
	}
	return 0
}

func (m *members) space() {
	for m.at < len(m.body) && (m.body[m.at] == ' ' || m.body[m.at] == '\n' || m.body[m.at] == '\t' || m.body[m.at] == '\r') {
		m.at++
	}
}

// nameOf is the name in a JSON string. It may be written with escapes, and is the same
// one to the engine then.
func nameOf(quoted []byte) []byte {
	plain := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(plain, '\\') < 0 {
		return plain
	}
	var name string
	if json.Unmarshal(quoted, &name) != nil {
		return plain
	}
	return []byte(name)
}

// text passes a string; the position is at its opening quote.
func (m *members) text() bool {
	start := m.at + 1
	for from := start; ; {
		n := bytes.IndexByte(m.body[from:], '"')
		if n < 0 {
			return false
		}
		from += n + 1
		escapes := 0 // backslashes before the quote: an odd one makes it part of the text
		for i := from - 2; i >= start && m.body[i] == '\\'; i-- {
			escapes++
		}
		if escapes%2 == 0 {
			m.at = from
			return true
		}
	}
}

// skip passes one value. Brackets outside of strings are counted, not matched: the
// body is valid.
func (m *members) skip() bool {
	depth, start := 0, m.at
	for m.at < len(m.body) {
		switch m.body[m.at] {
		case '"':
			if !m.text() {
				return false
			}
			if depth == 0 {
				return true
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return m.at > start // a number or word before the end of the object
			}
			if depth--; depth == 0 {
				m.at++
				return true
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return m.at > start
			}
		}
		m.at++
	}
	return false
}

// oneAnswer reports whether a request asks for one answer to its prompt as it is: the
// usage of others is counted in ways of the engine's own.
func oneAnswer(body []byte) bool {
	m := newMembers(body)
	for {
		one, ok := m.next()
		if !ok {
			return true
		}
		switch string(one.name) {
		case "n", "best_of":
			ok = string(one.value) == "1"
		case "echo", "use_beam_search":
			ok = string(one.value) == "false"
		case "truncate_prompt_tokens", "truncation", "mm_processor_kwargs", "prompt_embeds", "lora_path":
			ok = false
		}
		if !ok && string(one.value) != "null" {
			return false
		}
	}
}

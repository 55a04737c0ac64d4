package keying

// members walks over the top-level members of a JSON object that is known to be
// valid. It stops at the first byte that it does not expect.
type members struct {
	body []byte
	at   int
}

// member is one of them: its name as it is written, without quotes, its raw value,
// and both together as they stand in the body.
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
	out.name = m.body[start+1 : m.at-1]
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

// text passes a string; the position is at its opening quote.
func (m *members) text() bool {
	for i := m.at + 1; i < len(m.body); i++ {
		switch m.body[i] {
		case '\\':
			i++
		case '"':
			m.at = i + 1
			return true
		}
	}
	return false
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

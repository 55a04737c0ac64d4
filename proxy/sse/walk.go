package sse

import "bytes"

// walker reads JSON without checking it: it finds members and skips values. On
// anything it cannot follow it sets bad and all further calls return at once.
// It keeps no stack, so that depth costs nothing.
type walker struct {
	b   []byte
	i   int
	bad bool
}

func (w *walker) space() {
	for w.i < len(w.b) && w.b[w.i] <= ' ' {
		w.i++
	}
}

func (w *walker) peek() byte {
	if w.i < len(w.b) {
		return w.b[w.i]
	}
	return 0
}

func (w *walker) fail() { w.bad, w.i = true, len(w.b) }

// enter steps into an object or array. If the value is no such thing it is skipped.
func (w *walker) enter(opening byte) bool {
	w.space()
	if w.peek() != opening {
		w.skip()
		return false
	}
	w.i++
	return true
}

// key returns the next member's name in the object entered, or nil at its end.
// The member's value must then be read or skipped.
func (w *walker) key() []byte {
	if !w.more('}') {
		return nil
	}
	if w.peek() != '"' {
		w.fail()
		return nil
	}
	raw := w.text()
	w.space()
	if w.peek() != ':' {
		w.fail()
		return nil
	}
	w.i++
	w.space()
	return raw
}

// more moves to the next member or element; false at the end of the container.
func (w *walker) more(closing byte) bool {
	w.space()
	if w.peek() == ',' {
		w.i++
		w.space()
	}
	switch w.peek() {
	case closing:
		w.i++
		return false
	case 0:
		w.fail()
		return false
	}
	return !w.bad
}

// text skips a string and returns what is between its quotes, never nil.
func (w *walker) text() []byte {
	start := w.i + 1
	for i := start; ; {
		n := bytes.IndexByte(w.b[i:], '"')
		if n < 0 {
			w.fail()
			return w.b[len(w.b):]
		}
		i += n
		slashes := 0
		for i-slashes > start && w.b[i-slashes-1] == '\\' {
			slashes++
		}
		i++
		if slashes%2 == 0 {
			w.i = i
			return w.b[start : i-1]
		}
	}
}

// skip passes a value of any type and returns it raw.
func (w *walker) skip() []byte {
	w.space()
	start := w.i
	switch c := w.peek(); c {
	case '"':
		w.text()
	case '{', '[':
		w.container()
	default:
		for w.i < len(w.b) && !delimiter(w.b[w.i]) {
			w.i++
		}
		if w.i == start {
			w.fail()
		}
	}
	if w.bad {
		return nil
	}
	return w.b[start:w.i]
}

func delimiter(c byte) bool {
	return c <= ' ' || c == ',' || c == '}' || c == ']' || c == ':' || c == '"'
}

// container passes an object or array by counting brackets outside strings.
func (w *walker) container() {
	depth := 0
	for w.i < len(w.b) {
		switch w.b[w.i] {
		case '"':
			w.text()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				w.i++
				return
			}
		}
		w.i++
	}
	w.fail()
}

// empty reports whether a raw value carries nothing: null, false, "", [] or {}.
func empty(raw []byte) bool {
	if len(raw) == 0 {
		return true
	}
	switch raw[0] {
	case 'n', 'f':
		return true
	case '"':
		return len(raw) == 2
	case '[', '{':
		return len(bytes.TrimSpace(raw[1:len(raw)-1])) == 0
	}
	return false
}

func isNull(raw []byte) bool { return len(raw) == 0 || raw[0] == 'n' }

// unquote returns the content of a raw string, nil for another type.
func unquote(raw []byte) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		return nil
	}
	return raw[1 : len(raw)-1]
}

// count reads a non-negative integer below 10^18.
func count(raw []byte) (int64, bool) {
	if len(raw) == 0 || len(raw) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range raw {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

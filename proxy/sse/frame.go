package sse

import "bytes"

// framer cuts a sequence of chunks into events. For each chunk: begin, then
// trailer and next in turn until next finds no more.
type framer struct {
	limit int
	tail  []byte // first bytes of the unfinished event, at most limit

	size      int  // bytes of the unfinished event so far
	lines     int  // lines of it that have ended
	lineStart bool // the last byte ended a line
	cr        bool // the last byte was CR; a LF right after it belongs to it

	ends ends // in the chunk

	doneLines int  // lines of the event that ended last, the blank one left out
	truncated bool // that event is longer than limit; next returned its first bytes only
}

func (f *framer) reset(limit int) {
	tail := f.tail[:0]
	if cap(tail) > keepTail {
		tail = nil
	}
	*f = framer{limit: limit, tail: tail, lineStart: true}
}

// begin prepares for a new chunk.
func (f *framer) begin() { f.ends = unsearched }

// trailer returns 1 if the byte at pos is the LF of a CRLF whose CR already
// ended an event, else 0.
func (f *framer) trailer(b []byte, pos int) int {
	if !f.cr || f.size > 0 || pos >= len(b) {
		return 0
	}
	f.cr = false
	if b[pos] == '\n' {
		return 1
	}
	return 0
}

// next returns the event that ends first at or after pos, and the offset behind
// it. The event lies in b, or in memory of f until the next call. If no event
// ends in b, it keeps what is needed of the rest.
func (f *framer) next(b []byte, pos int) (event []byte, end int, ok bool) {
	end, ok = f.find(b, pos)
	if !ok {
		f.hold(b[pos:])
		return nil, pos, false
	}
	return f.take(b[pos:end]), end, true
}

// find returns the offset behind the blank line that comes first at or after pos.
func (f *framer) find(b []byte, pos int) (end int, ok bool) {
	for i := pos; i < len(b); {
		c := b[i]
		if f.cr {
			f.cr = false
			if c == '\n' {
				i++
				continue
			}
		}
		if f.lineStart && (c == '\n' || c == '\r') {
			f.cr = c == '\r'
			f.doneLines, f.lines = f.lines, 0
			return i + 1, true
		}
		i = f.ends.next(b, i)
		f.lineStart = i < len(b)
		if f.lineStart {
			f.lines++
			f.cr = b[i] == '\r'
			i++
		}
	}
	return pos, false
}

// take ends the event with part and returns all of it, or its first bytes.
func (f *framer) take(part []byte) []byte {
	event := part
	f.truncated = f.size+len(part) > f.limit
	if f.size > 0 {
		f.hold(part)
		event = f.tail
		f.tail = f.tail[:0]
	} else if f.truncated {
		event = part[:f.limit]
	}
	f.size = 0
	return event
}

func (f *framer) hold(part []byte) {
	f.size += len(part)
	f.tail = append(f.tail, part[:min(len(part), f.limit-len(f.tail))]...)
}

// over reports whether the unfinished event is already too long.
func (f *framer) over() bool { return f.size > f.limit }

// parser takes events apart.
type parser struct {
	join []byte // payload of an event with several data lines
	bom  bool   // a byte order mark may still come
}

// message is the content of an event.
type message struct {
	name    []byte // value of the event field; nil if absent
	payload []byte // data lines joined; nil if there is none
	hasData bool
	blank   bool // nothing at all
}

var (
	byteOrderMark = []byte("\xef\xbb\xbf")
	dataField     = []byte("data:")
)

// parse reads an event that f has just returned.
func (p *parser) parse(event []byte, f *framer) message {
	if p.bom {
		p.bom = false
		event = bytes.TrimPrefix(event, byteOrderMark)
	}
	if f.doneLines == 1 && !f.truncated && bytes.HasPrefix(event, dataField) {
		// The usual case: one line of data and a blank line.
		event = event[len(dataField) : len(event)-1]
		return message{payload: trimSpace(trimLineEnd(event)), hasData: true}
	}
	return p.fields(event)
}

// fields reads an event line by line.
func (p *parser) fields(event []byte) message {
	m := message{blank: true}
	at, n := unsearched, 0
	for i := 0; i < len(event); {
		end := at.next(event, i)
		line := event[i:end]
		i = end + 1 // past a CR; the LF of a CRLF makes one more empty line
		if len(line) == 0 {
			continue
		}
		m.blank = false
		name, value := line, line[len(line):]
		if c := bytes.IndexByte(line, ':'); c >= 0 { //nolint:modernize // Cut gets there through Index, a call more for each line
			name, value = line[:c], trimSpace(line[c+1:])
		}
		switch string(name) {
		case "event":
			m.name = value
		case "data":
			n++
			m.hasData = true
			m.payload = p.add(n, m.payload, value)
		}
	}
	return m
}

// add returns payload with its n-th data line.
func (p *parser) add(n int, payload, value []byte) []byte {
	if n == 1 {
		return value
	}
	if n == 2 {
		p.join = append(p.join[:0], payload...)
	}
	p.join = append(p.join, '\n')
	p.join = append(p.join, value...)
	return p.join
}

// trimSpace removes the one space that may follow a colon.
func trimSpace(b []byte) []byte {
	if len(b) > 0 && b[0] == ' ' {
		return b[1:]
	}
	return b
}

func trimLineEnd(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\n' {
		b = b[:n-1]
		if n := len(b); n > 0 && b[n-1] == '\r' {
			b = b[:n-1]
		}
		return b
	}
	return bytes.TrimSuffix(b, []byte{'\r'})
}

// ends remembers the next LF and CR in a slice, so that a walk over its lines
// searches it once for each.
type ends struct{ lf, cr int }

var unsearched = ends{-1, -1}

// next returns the offset of the first line end at or after i, or len(b).
func (e *ends) next(b []byte, i int) int {
	if e.lf < i {
		e.lf = indexFrom(b, i, '\n')
	}
	if e.cr < i {
		e.cr = indexFrom(b, i, '\r')
	}
	return min(e.lf, e.cr)
}

func indexFrom(b []byte, i int, c byte) int {
	if n := bytes.IndexByte(b[i:], c); n >= 0 {
		return i + n
	}
	return len(b)
}

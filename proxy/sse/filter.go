package sse

// UsageFilter removes the usage-only event (`choices: []` with usage) from a
// chat, completions or generate stream, for the case that the gateway asked for
// it and the client did not. All other bytes pass unchanged and in order. It
// holds back at most one unfinished event, up to its limit; a longer event is no
// usage event and passes as it comes. It must be Reset before use.
type UsageFilter struct {
	Limit int // as Tracker.Limit

	framer  framer
	parser  parser
	pattern pattern
	dropped bool // the last event was removed; so goes the LF of its last CRLF
	removed int
}

// Reset prepares for a new stream.
func (u *UsageFilter) Reset() {
	limit := u.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	u.framer.reset(limit)
	u.parser.bom = true
	u.pattern.reset()
	u.dropped, u.removed = false, 0
}

// Removed counts the events taken out.
func (u *UsageFilter) Removed() int { return u.removed }

// AtBoundary reports whether what was forwarded so far ends between two events.
func (u *UsageFilter) AtBoundary() bool { return !u.framer.over() }

// Append appends to dst what may be forwarded after the next bytes of the stream.
func (u *UsageFilter) Append(dst, chunk []byte) []byte {
	f := &u.framer
	f.begin()
	for pos := 0; ; {
		if f.trailer(chunk, pos) == 1 {
			if !u.dropped {
				dst = append(dst, '\n')
			}
			pos++
		}
		wasOver, held := f.over(), len(f.tail)
		event, end, ok := f.next(chunk, pos)
		switch {
		case !ok && !f.over():
			return dst
		case ok && !f.truncated && u.usageOnly(event):
			u.dropped = true
			u.removed++
			pos = end
			continue
		case !ok:
			end = len(chunk)
		}
		if !wasOver {
			dst = append(dst, f.tail[:held]...) // still in place, even if the event has just ended
		}
		dst = append(dst, chunk[pos:end]...)
		if !ok {
			return dst
		}
		u.dropped = false
		pos = end
	}
}

// Flush appends what is held back of an unfinished event, at the end of a stream.
func (u *UsageFilter) Flush(dst []byte) []byte {
	if !u.framer.over() {
		dst = append(dst, u.framer.tail...)
	}
	u.framer.reset(u.framer.limit)
	return dst
}

func (u *UsageFilter) usageOnly(event []byte) bool {
	m := u.parser.parse(event, &u.framer)
	if !m.hasData || u.pattern.match(m.payload) {
		return false
	}
	f, ok := chunk(m.payload)
	if ok && f.plain() {
		u.pattern.learn(m.payload, &f)
	}
	return ok && f.choices == 0 && f.usage && !f.failed && !f.content
}

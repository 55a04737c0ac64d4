package sse

import "bytes"

// DefaultLimit is the length up to which events are inspected, in bytes.
const DefaultLimit = 64 << 10

// keepTail is the buffer that a reset Tracker or UsageFilter keeps. Thousands of
// open streams hold one each; a rare long event must not pin its size.
const keepTail = 8 << 10

// Tracker follows one stream. It must be Reset before use and may be reused; it
// is not safe for concurrent use. Warm, it does not allocate, except to grow its
// buffer for an event of unusual length that spans chunks.
type Tracker struct {
	// Limit replaces DefaultLimit when positive; Reset reads it. The final
	// event of the responses API repeats the whole answer: for its usage, the
	// limit must be above that.
	Limit int

	api     API
	framer  framer
	parser  parser
	pattern pattern
	tally   tally
	state   State
}

// State is what a stream has said so far.
type State struct {
	Events        int // events with data, [DONE] included
	ContentEvents int // of these, those that carry output
	Comments      int // blocks without data: comments, heartbeats
	Skipped       int // events over the limit, counted as content unless their type says otherwise
	Done          bool
	Failed        bool
	FailureStatus int  // HTTP status that the error amounts to; 0 unless Failed
	FinishReason  bool // a finish or stop reason was seen
	Aborted       bool // the engine dropped the request: finish_reason "abort", response.cancelled
	Usage         Usage
}

// Boundary is what one chunk contained.
type Boundary struct {
	End      int // offset just after the last complete event in the chunk; 0 if none ends in it
	Events   int // as in State, for this chunk
	Content  int
	Comments int
}

// Reset prepares for a new stream.
func (t *Tracker) Reset(api API) {
	limit := t.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	t.api = api
	t.framer.reset(limit)
	t.parser.bom = true
	t.pattern.reset()
	t.tally, t.state = tally{}, State{}
}

// Feed takes the next bytes of the stream. It keeps no reference to chunk.
//
// Text may be injected at Boundary.End, and at the end of the chunk if AtBoundary.
// An event that ends in CR is complete even if the LF of a CRLF is still to come:
// that LF is then one more blank line, which means nothing.
func (t *Tracker) Feed(chunk []byte) Boundary {
	var at Boundary
	t.framer.begin()
	for pos := 0; ; {
		if t.framer.trailer(chunk, pos) == 1 {
			pos++
			at.End = pos
		}
		event, end, ok := t.framer.next(chunk, pos)
		if !ok {
			return at
		}
		pos, at.End = end, end
		t.event(event, &at)
	}
}

// State returns what is known by now.
func (t *Tracker) State() State {
	s := t.state
	s.Usage = t.tally.usage()
	return s
}

// AtBoundary reports whether the stream stands between two events.
func (t *Tracker) AtBoundary() bool { return t.framer.size == 0 }

func (t *Tracker) event(event []byte, at *Boundary) {
	m := t.parser.parse(event, &t.framer)
	switch {
	case m.hasData:
	case m.blank:
		return
	default:
		t.state.Comments++
		at.Comments++
		return
	}
	t.state.Events++
	at.Events++
	if t.message(&m) {
		t.state.ContentEvents++
		at.Content++
	}
}

var (
	doneMark  = []byte("[DONE]")
	errorHead = []byte(`{"error"`)
)

// message updates the state and reports whether the event carries output.
func (t *Tracker) message(m *message) bool {
	if m.name == nil && !t.framer.truncated && t.pattern.match(m.payload) {
		return true // learned from chunks only
	}
	if bytes.Equal(bytes.TrimSpace(m.payload), doneMark) {
		t.state.Done = t.state.Done || t.api.endsWithDone()
		return false
	}
	var f facts
	whole := !t.framer.truncated
	switch t.api {
	case APIChat, APICompletions, APIGenerate:
		var ok bool
		f, ok = chunk(m.payload)
		f.failed = f.failed || string(m.name) == "error"
		switch {
		case f.failed:
			f.content = false
		case !ok:
			f.content = true // not to be understood, so not to be called empty
		case whole && f.plain():
			t.pattern.learn(m.payload, &f)
		}
	case APIResponses, APIMessages:
		f = typed(t.api, m.name, m.payload)
	case APIOther:
		f.failed = string(m.name) == "error" || bytes.HasPrefix(m.payload, errorHead)
		f.content = !f.failed
	}
	if !whole {
		t.state.Skipped++
		f.content = f.content || !f.failed && !f.done
	}
	t.apply(&f, m.payload)
	return f.content
}

func (t *Tracker) apply(f *facts, payload []byte) {
	s := &t.state
	s.Done = s.Done || f.done
	s.FinishReason = s.FinishReason || f.finished
	s.Aborted = s.Aborted || f.aborted
	if f.failed && !s.Failed {
		s.Failed = true
		s.FailureStatus, _ = ErrorIn(payload)
		if s.FailureStatus == 0 {
			s.FailureStatus = defaultStatus
		}
	}
	t.tally.merge(&f.tally)
}

// merge replaces the counts that from has.
func (t *tally) merge(from *tally) {
	t.prompt.set(from.prompt)
	t.completion.set(from.completion)
	t.cached.set(from.cached)
	t.cacheRead.set(from.cacheRead)
	t.cacheMade.set(from.cacheMade)
}

func (t *tokens) set(from tokens) {
	if from.known {
		*t = from
	}
}

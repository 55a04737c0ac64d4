package deepseek

import (
	"bytes"

	"penstock/routing/chattemplate/value"
)

// AppendV4 appends the prompt of a conversation for DeepSeek V4.
func (e *Encoder) AppendV4(dst []byte, conversation value.Value, o *Options) ([]byte, error) {
	if conversation.Len() == 0 {
		return dst, ErrRefused
	}
	e.merge(conversation.Items(), o.Tools)
	e.sortResults()
	w := v4{Encoder: e, messages: e.messages, thinking: o.Thinking, drop: !o.KeepThinking}
	for i := range w.messages {
		w.drop = w.drop && !w.messages[i].tools.Truth()
	}
	if w.thinking && w.drop {
		w.messages = dropThinking(w.messages, system, user, tool, latestReminder)
	}
	w.last = lastUser(w.messages)
	dst = append(dst, bos...)
	if w.thinking {
		switch o.Effort {
		case "high":
			dst = append(dst, effortHigh...)
		case "max":
			dst = append(dst, effortMax...)
		}
	}
	var err error
	for i := range w.messages {
		if dst, err = w.message(dst, i); err != nil {
			return dst, err
		}
		if dst, err = w.transition(dst, i); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// merge makes messages of users out of tool results, and one message of neighbouring
// ones. The request's tools go to the first system message, be it a new one.
func (e *Encoder) merge(items []value.Value, tools value.Value) {
	e.messages, e.blocks = e.messages[:0], e.blocks[:0]
	given := tools.Kind() == value.List && tools.Len() > 0
	if given && !hasRole(items, system) {
		e.messages = append(e.messages, message{role: system, tools: tools})
		given = false
	}
	for _, m := range items {
		r := roleOf(m)
		if r == tool {
			e.add(block{content: m.Get("content"), result: true, id: m.Get("tool_call_id").Bytes()}, m)
			continue
		}
		if r == user {
			e.add(block{content: m.Get("content")}, m)
			continue
		}
		next := message{role: r, from: m, tools: m.Get("tools"), reasoning: m.Get("reasoning"), task: m.Get("task")}
		if r == system && given {
			next.tools, given = tools, false
		}
		e.messages = append(e.messages, next)
	}
}

func hasRole(items []value.Value, r role) bool {
	for _, m := range items {
		if roleOf(m) == r {
			return true
		}
	}
	return false
}

// add adds a block to the user's message before it, or a new one. A user's text does
// not join a message with a task.
func (e *Encoder) add(b block, from value.Value) {
	e.blocks = append(e.blocks, b)
	if n := len(e.messages); n > 0 {
		last := &e.messages[n-1]
		if last.role == user && (b.result || last.task.Kind() != value.String) {
			last.blocks[1]++
			return
		}
	}
	m := message{role: user, from: from, blocks: [2]int{len(e.blocks) - 1, len(e.blocks)}}
	if !b.result {
		m.task = from.Get("task")
	}
	e.messages = append(e.messages, m)
}

// sortResults puts the results among each message's blocks into the order of the calls
// of the last assistant that had any.
func (e *Encoder) sortResults() {
	var calls value.Value
	for i := range e.messages {
		m := &e.messages[i]
		if c := m.from.Get("tool_calls"); m.role == assistant && c.Len() > 0 {
			calls = c
		}
		if m.role == user && calls.Len() > 0 {
			e.sort(e.blocks[m.blocks[0]:m.blocks[1]], calls)
		}
	}
}

// sort is stable; results of unknown calls go with those of the first.
func (e *Encoder) sort(blocks []block, calls value.Value) {
	e.sorted = e.sorted[:0]
	for _, b := range blocks {
		if !b.result {
			continue
		}
		b.order = callOrder(b.id, calls)
		at := len(e.sorted)
		e.sorted = append(e.sorted, b)
		for at > 0 && e.sorted[at-1].order > b.order {
			e.sorted[at] = e.sorted[at-1]
			at--
		}
		e.sorted[at] = b
	}
	next := 0
	for i := range blocks {
		if blocks[i].result {
			blocks[i] = e.sorted[next]
			next++
		}
	}
}

func callOrder(id []byte, calls value.Value) int {
	for i := calls.Len() - 1; i >= 0; i-- {
		if known := calls.Index(i).Get("id").Bytes(); len(known) > 0 && bytes.Equal(known, id) {
			return i
		}
	}
	return 0
}

// v4 writes messages of V4.
type v4 struct {
	*Encoder
	messages []message
	last     int // of a user
	thinking bool
	drop     bool // reasoning before the last user's message
}

func (w *v4) message(dst []byte, i int) ([]byte, error) {
	m := &w.messages[i]
	if m.role == user {
		return w.user(append(dst, userTurn...), m)
	}
	content, err := w.flat(m.from.Get("content"))
	if err != nil {
		return dst, err
	}
	switch m.role {
	case system:
		return w.tools(append(dst, content...), m), nil
	case developer:
		if len(content) == 0 {
			return dst, ErrRefused
		}
		return w.tools(append(append(dst, userTurn...), content...), m), nil
	case latestReminder:
		return append(append(dst, "<｜latest_reminder｜>"...), content...), nil
	case assistant:
		return w.assistant(dst, i, content)
	default:
		return dst, ErrRefused
	}
}

func (w *v4) tools(dst []byte, m *message) []byte {
	if !m.tools.Truth() {
		return dst
	}
	dst = append(append(dst, "\n\n"...), tools4...)
	return append(w.appendSchemas(dst, m.tools), tools4End...)
}

func (w *v4) user(dst []byte, m *message) ([]byte, error) {
	for i, b := range w.blocks[m.blocks[0]:m.blocks[1]] {
		if i > 0 {
			dst = append(dst, "\n\n"...)
		}
		if !b.result {
			content, err := w.flat(b.content)
			if err != nil {
				return dst, err
			}
			dst = append(dst, content...)
			continue
		}
		dst = append(dst, "<tool_result>"...)
		var err error
		if dst, err = appendResult(dst, b.content); err != nil {
			return dst, err
		}
		dst = append(dst, "</tool_result>"...)
	}
	return dst, nil
}

// appendResult appends what a tool said; parts that are no text are named.
func appendResult(dst []byte, content value.Value) ([]byte, error) {
	if content.Kind() != value.List {
		t, err := text(content)
		return append(dst, t...), err
	}
	for i, part := range content.Items() {
		if i > 0 {
			dst = append(dst, "\n\n"...)
		}
		if kind := part.Get("type").Bytes(); string(kind) == "text" {
			dst = append(dst, part.Get("text").Bytes()...)
		} else {
			dst = append(append(append(dst, "[Unsupported "...), kind...), ']')
		}
	}
	return dst, nil
}

// flat is the text of a content. Joined texts live in Memory.
func (w *v4) flat(content value.Value) ([]byte, error) {
	if content.Kind() != value.List {
		return text(content)
	}
	size := 0
	for _, part := range content.Items() {
		if string(part.Get("type").Bytes()) != "text" {
			return nil, ErrRefused
		}
		size += len(part.Get("text").Bytes()) + 2
	}
	if content.Len() == 1 {
		return content.Index(0).Get("text").Bytes(), nil
	}
	joined := w.Memory.Text(size)[:0]
	for i, part := range content.Items() {
		if i > 0 {
			joined = append(joined, "\n\n"...)
		}
		joined = append(joined, part.Get("text").Bytes()...)
	}
	return joined, nil
}

func (w *v4) assistant(dst []byte, i int, content []byte) ([]byte, error) {
	m := &w.messages[i]
	task := i > 0 && w.messages[i-1].task.Kind() == value.String // this is its output
	if w.thinking && !task && (!w.drop || i > w.last) {
		reasoning, err := text(m.reasoning)
		if err != nil {
			return dst, err
		}
		dst = append(append(dst, reasoning...), thinkEnd...)
	}
	dst = append(dst, content...)
	if calls := m.from.Get("tool_calls"); calls.Len() > 0 {
		dst = w.appendCalls(dst, calls, "tool_calls")
	}
	return append(dst, eos...), nil
}

// transition writes what opens an answer behind a message.
func (w *v4) transition(dst []byte, i int) ([]byte, error) {
	m := &w.messages[i]
	ends := i == len(w.messages)-1
	answered := !ends && w.messages[i+1].role == assistant
	if !ends && !answered && w.messages[i+1].role != latestReminder {
		return dst, nil
	}
	switch {
	case m.task.Kind() == value.String:
		return w.task(dst, m.task.Bytes())
	case m.role == user || m.role == developer || m.role == system && (ends || answered):
		dst = append(dst, answerTurn...)
		return append(dst, thought(w.thinking && (!w.drop || i >= w.last))...), nil
	default:
		return dst, nil
	}
}

func (w *v4) task(dst, task []byte) ([]byte, error) {
	switch string(task) {
	case "action":
		dst = append(append(dst, answerTurn...), thought(w.thinking)...)
	case "query", "authority", "domain", "title", "read_url":
	default:
		return dst, ErrRefused
	}
	return append(append(append(dst, "<｜"...), task...), "｜>"...), nil
}

package sse

import "bytes"

// facts is what one event says.
type facts struct {
	content  bool // carries output
	finished bool // a finish or stop reason
	aborted  bool // the reason is "abort"
	done     bool // ends the stream
	failed   bool // is an error
	usage    bool // has a usage object
	choices  int  // elements of choices; -1 when there is no such member
	tally    tally

	textStart, textEnd int // a string that holds output, without quotes; textEnd 0: none
}

// plain reports whether the event does nothing but carry output.
func (f *facts) plain() bool {
	return f.content && !f.finished && !f.done && !f.failed && !f.usage
}

// chunk reads an event of chat, completions or generate.
func chunk(payload []byte) (f facts, ok bool) {
	f.choices = -1
	w := walker{b: payload}
	if !w.enter('{') {
		return f, false
	}
	for key := w.key(); key != nil; key = w.key() {
		switch string(key) {
		case "choices":
			f.readChoices(&w)
		case "usage":
			f.usage = f.tally.read(&w) || f.usage
		case "text", "output_ids":
			f.content = !empty(w.skip()) || f.content
		case "meta_info":
			f.readMetaInfo(&w)
		case "error":
			f.failed = !isNull(w.skip()) || f.failed
		case "object", "type":
			f.failed = string(w.skip()) == `"error"` || f.failed
		default:
			w.skip()
		}
	}
	if f.failed {
		f.content = false
	}
	return f, !w.bad
}

func (f *facts) readChoices(w *walker) {
	if !w.enter('[') {
		return
	}
	for f.choices = 0; w.more(']'); f.choices++ {
		if !w.enter('{') {
			continue
		}
		for key := w.key(); key != nil; key = w.key() {
			switch string(key) {
			case "delta":
				f.readDelta(w)
			case "text", "token_ids":
				f.output(w, w.skip())
			case "finish_reason":
				f.reason(w.skip())
			default:
				w.skip()
			}
		}
	}
}

// readDelta takes any member but the role for output: content, reasoning,
// reasoning_content, tool_calls, refusal, audio and what else may come.
func (f *facts) readDelta(w *walker) {
	if !w.enter('{') {
		return
	}
	for key := w.key(); key != nil; key = w.key() {
		if raw := w.skip(); string(key) != "role" {
			f.output(w, raw)
		}
	}
}

func (f *facts) output(w *walker, raw []byte) {
	if empty(raw) {
		return
	}
	f.content = true
	if raw[0] == '"' {
		f.textStart, f.textEnd = w.i-len(raw)+1, w.i-1
	}
}

func (f *facts) reason(raw []byte) {
	if isNull(raw) {
		return
	}
	f.finished = true
	f.aborted = f.aborted || string(raw) == `"abort"`
}

// readMetaInfo reads SGLang's counts and its finish_reason, an object with a type.
func (f *facts) readMetaInfo(w *walker) {
	if !w.enter('{') {
		return
	}
	for key := w.key(); key != nil; key = w.key() {
		if string(key) != "finish_reason" {
			f.tally.member(key, w)
			continue
		}
		if w.peek() != '{' {
			f.reason(w.skip())
			continue
		}
		f.finished = true
		w.enter('{')
		for key := w.key(); key != nil; key = w.key() {
			if raw := w.skip(); string(key) == "type" && string(raw) == `"abort"` {
				f.aborted = true
			}
		}
	}
}

// typed reads an event of responses or messages. The type is the event field's,
// else the payload's.
func typed(api API, name, payload []byte) facts {
	f := facts{choices: -1}
	if name == nil {
		name = typeOf(payload)
	}
	if api == APIMessages {
		switch string(name) {
		case "content_block_delta":
			f.content = true
		case "message_start", "message_delta":
			f.readUsage(payload)
		case "message_stop":
			f.done = true
		case "error":
			f.failed = true
		}
		return f
	}
	switch string(name) {
	case "response.completed", "response.incomplete":
		f.done, f.finished = true, true
		f.readUsage(payload)
	case "response.cancelled":
		f.done, f.aborted = true, true
		f.readUsage(payload)
	case "response.failed":
		f.done, f.failed = true, true
		f.readUsage(payload)
	case "error":
		f.failed = true
	default:
		f.content = bytes.HasSuffix(name, []byte(".delta"))
	}
	return f
}

// typeOf returns the type member of a payload, which may be cut short.
func typeOf(payload []byte) []byte {
	w := walker{b: payload}
	if !w.enter('{') {
		return nil
	}
	for key := w.key(); key != nil; key = w.key() {
		raw := w.skip()
		if string(key) == "type" {
			return unquote(raw)
		}
	}
	return nil
}

// readUsage finds usage at the top level and in response or message, and
// Anthropic's stop reason.
func (f *facts) readUsage(payload []byte) {
	w := walker{b: payload}
	if !w.enter('{') {
		return
	}
	for key := w.key(); key != nil; key = w.key() {
		switch string(key) {
		case "usage":
			f.usage = f.tally.read(&w) || f.usage
		case "response", "message", "delta":
			if !w.enter('{') {
				continue
			}
			for key := w.key(); key != nil; key = w.key() {
				switch string(key) {
				case "usage":
					f.usage = f.tally.read(&w) || f.usage
				case "stop_reason":
					f.reason(w.skip())
				default:
					w.skip()
				}
			}
		default:
			w.skip()
		}
	}
}

// pattern remembers the last plain event as what stands before and behind its
// text. An event that differs from it in a text only is plain too,
// as long as the text is the inside of one string: the parts around pin down the
// structure. In a stream from one engine that
// is almost every event, and costs two comparisons in place of a walk.
type pattern struct {
	around []byte // both parts
	split  int
}

const maxPattern = 2 << 10

func (p *pattern) reset() { p.around, p.split = p.around[:0], 0 }

func (p *pattern) learn(payload []byte, f *facts) {
	if f.textEnd == 0 || len(payload)-(f.textEnd-f.textStart) > maxPattern {
		return
	}
	p.around = append(p.around[:0], payload[:f.textStart]...)
	p.split = len(p.around)
	p.around = append(p.around, payload[f.textEnd:]...)
}

func (p *pattern) match(payload []byte) bool {
	if p.split == 0 || len(payload) <= len(p.around) {
		return false
	}
	if !bytes.HasPrefix(payload, p.around[:p.split]) || !bytes.HasSuffix(payload, p.around[p.split:]) {
		return false
	}
	text := payload[p.split : len(payload)-(len(p.around)-p.split)]
	return insideString(text)
}

// insideString reports whether text can stand between two quotes: each quote in
// it is escaped, and it does not end within an escape.
func insideString(text []byte) bool {
	if bytes.IndexByte(text, '\\') < 0 {
		return bytes.IndexByte(text, '"') < 0
	}
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			return false
		case '\\':
			i++
			if i == len(text) {
				return false
			}
		}
	}
	return true
}

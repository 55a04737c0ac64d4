package chattemplate

import (
	"bytes"

	"penstock/routing/chattemplate/value"
)

// Marks stand where the engine's text is not known. They begin with characters for
// private use, which placeholders do not.
const (
	mark      = "\uf8d1\uf8d2"
	otherMark = "\uf8d3\uf8d4"
)

// beforeMedia renders a chat with images, audio or video up to the first of them:
// their placeholders expand in the engine. What the template prints there is found by
// comparing renderings. In one all media are texts, so that what it shares with the
// real one is before all placeholders, even where a template prints images first; and
// a template that looks ahead for images differs early.
func (w *Worker) beforeMedia(t *template, c *chat, vars, messages value.Value, parts bool) Reason {
	marked, reason := w.apply(w.spare[0][:0], t, c, vars, w.withMarks(messages, mark))
	w.spare[0] = marked
	if reason != "" {
		return ReasonMultimodal
	}
	truth := messages
	if !parts { // the engine's text has a placeholder that we do not know
		truth = w.withMarks(messages, otherMark)
	}
	if w.text, reason = w.apply(w.text[:0], t, c, vars, truth); reason != "" {
		return ReasonMultimodal
	}
	end := sharedPrefix(marked, w.text)
	if parts {
		end += w.textBefore(t, c, vars, messages, end)
	}
	if end = runeStart(w.text, end); end > 0 {
		w.partial = true
		w.addText(w.text[:end], c.addSpecial)
	}
	return ReasonMultimodal
}

// withMarks is the conversation with each message that has media made of one text,
// the mark.
func (w *Worker) withMarks(messages value.Value, mark string) value.Value {
	out := w.mem.Clone(messages)
	for i, m := range w.media {
		if i > 0 && w.media[i-1].message == m.message {
			continue
		}
		message := w.mem.Clone(messages.Index(m.message))
		content := value.NewString([]byte(mark))
		if message.Get("content").Kind() == value.List {
			content = w.mem.NewList(1)
			w.mem.Add(content, w.textPart(mark))
		}
		w.mem.Set(message, "content", content)
		out.Items()[m.message] = message
	}
	return out
}

func (w *Worker) textPart(text string) value.Value {
	part := w.mem.NewDict(2)
	w.mem.Set(part, "type", value.NewString([]byte("text")))
	w.mem.Set(part, "text", value.NewString([]byte(text)))
	return part
}

// textBefore is the length of the first text before the first medium, when it is
// printed at the place given: there a mark instead of that text shows up.
func (w *Worker) textBefore(t *template, c *chat, vars, messages value.Value, at int) int {
	first := w.media[0]
	parts := messages.Index(first.message).Get("content")
	if first.part == 0 || parts.Kind() != value.List {
		return 0
	}
	text := textOf(parts.Index(0))
	if !bytes.HasPrefix(w.text[at:], text) {
		return 0
	}
	changed := w.mem.Clone(parts)
	changed.Items()[0] = w.textPart(mark)
	message := w.mem.Clone(messages.Index(first.message))
	w.mem.Set(message, "content", changed)
	list := w.mem.Clone(messages)
	list.Items()[first.message] = message
	rendered, reason := w.apply(w.spare[1][:0], t, c, vars, list)
	w.spare[1] = rendered
	if reason != "" || len(rendered) < at || !bytes.HasPrefix(rendered[at:], []byte(mark)) ||
		!bytes.Equal(rendered[:at], w.text[:at]) {
		return 0
	}
	return len(text)
}

func sharedPrefix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// runeStart moves back to the start of a character.
func runeStart(text []byte, at int) int {
	for at > 0 && at < len(text) && text[at]&0xc0 == 0x80 {
		at--
	}
	return at
}

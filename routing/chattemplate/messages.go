package chattemplate

import (
	"bytes"

	"penstock/routing/chattemplate/value"
)

// billingHeader starts a line of Claude Code's system prompts that vLLM drops: it
// changes with every request.
const billingHeader = "x-anthropic-billing-header"

// conversation makes the messages that vLLM hands to a template: parse_chat_messages
// of its renderers/chat_utils.py. Messages that need no change stay as they are,
// and so does their list when none of them does.
func (w *Worker) conversation(messages value.Value, parts bool) (value.Value, Reason) {
	first := 0 // that changes
	for !parts && first < messages.Len() && unchanged(messages.Index(first)) {
		first++
	}
	if first == messages.Len() {
		return messages, ""
	}
	out := w.mem.NewList(messages.Len())
	for i, m := range messages.Items() {
		if i < first || i > first && !parts && unchanged(m) {
			w.mem.Add(out, m)
			continue
		}
		p := projection{Worker: w, message: i, parts: parts}
		projected, reason := p.project(m)
		if reason != "" {
			return out, reason
		}
		w.mem.Add(out, projected)
	}
	return out, ""
}

// unchanged reports whether a message already is what vLLM would make of it: role and
// text content, in that order.
func unchanged(m value.Value) bool {
	if m.Kind() != value.Dict || m.Len() != 2 {
		return false
	}
	first, role := m.Entry(0)
	second, content := m.Entry(1)
	if string(first) != "role" || string(second) != "content" ||
		role.Kind() != value.String || content.Kind() != value.String {
		return false
	}
	switch string(role.Bytes()) {
	case "developer":
		return false
	case "system":
		return !bytes.HasPrefix(content.Bytes(), []byte(billingHeader))
	default:
		return true
	}
}

// projection is the work on one message.
type projection struct {
	*Worker
	message int
	parts   bool // contents are lists of parts, not text
	role    string
}

func (p *projection) project(m value.Value) (value.Value, Reason) {
	role := m.Get("role")
	if role.Kind() != value.String || !validName(m) {
		return m, ReasonBadRequest
	}
	p.role = roleName(role.Bytes())
	content, reason := p.content(m)
	if reason != "" {
		return m, reason
	}
	out := p.mem.NewDict(8)
	p.mem.Set(out, "role", role)
	p.mem.Set(out, "content", content)
	switch p.role {
	case "assistant":
		if reason := p.assistant(out, m); reason != "" {
			return m, reason
		}
	case "tool":
		if id := m.Get("tool_call_id"); id.Kind() != value.Undefined {
			p.mem.Set(out, "tool_call_id", id)
		}
	}
	for _, key := range [...]string{"name", "task"} {
		if v := m.Get(key); v.Kind() == value.String {
			p.mem.Set(out, key, v)
		}
	}
	if p.role == "developer" {
		tools, reason := p.developerTools(m.Get("tools"))
		if reason != "" {
			return m, reason
		}
		p.mem.Set(out, "tools", tools)
	}
	return out, ""
}

// roleName is the text of a role; the usual ones are not copied.
func roleName(role []byte) string {
	switch string(role) {
	case "user":
		return "user"
	case "assistant":
		return "assistant"
	case "system":
		return "system"
	case "tool":
		return "tool"
	case "developer":
		return "developer"
	default:
		return string(role)
	}
}

// validName reports whether the name of a message is text, where that is asked for.
func validName(m value.Value) bool {
	switch m.Get("name").Kind() {
	case value.Undefined, value.String:
		return true
	default:
		return isText(m.Get("role"), "tool") && m.Get("tool_call_id").Kind() == value.String
	}
}

// content is the content of a message in the format of the template.
func (p *projection) content(m value.Value) (value.Value, Reason) {
	content := m.Get("content")
	switch content.Kind() {
	case value.Undefined:
		return p.join(nil)
	case value.None:
		if p.role != "assistant" && p.role != "function" {
			return content, ReasonBadRequest
		}
		return p.join(nil)
	case value.String:
		if p.role == "system" || p.parts {
			return p.join([]value.Value{content})
		}
		return content, ""
	case value.List:
		return p.join(content.Items())
	default:
		return content, ReasonBadRequest
	}
}

// join puts parts together as the format wants it.
func (p *projection) join(items []value.Value) (value.Value, Reason) {
	list := p.mem.NewList(len(items))
	structured := false // something besides text
	for _, item := range items {
		part, kind := p.part(item)
		switch kind {
		case partSkipped:
			continue
		case partRefused:
			return list, ReasonBadRequest
		case partUnknown:
			return list, ReasonField
		case partMedium:
			structured = true
			p.Worker.media = append(p.Worker.media, medium{p.message, list.Len()})
		case partReference:
			structured = true
		case partText:
		}
		p.mem.Add(list, part)
	}
	switch {
	case !p.parts:
		return p.joinText(list), ""
	case p.role == "tool" && !structured:
		return p.joinText(list), ""
	default:
		return list, ""
	}
}

// joinText joins the texts of parts, or strings, with newlines. Empty strings among
// strings are no lines.
func (p *projection) joinText(list value.Value) value.Value {
	size := 0
	for _, item := range list.Items() {
		size += len(textOf(item)) + 1
	}
	joined := p.mem.Text(size)[:0]
	first := true
	for _, item := range list.Items() {
		t := textOf(item)
		if item.Kind() != value.Dict && len(t) == 0 {
			continue
		}
		if !first {
			joined = append(joined, '\n')
		}
		joined, first = append(joined, t...), false
	}
	return value.NewString(joined)
}

// textOf is the text of a part or of a string.
func textOf(v value.Value) []byte {
	if v.Kind() == value.Dict {
		v = v.Get("text")
	}
	if v.Kind() != value.String {
		return nil
	}
	return v.Bytes()
}

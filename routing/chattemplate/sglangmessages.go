package chattemplate

import (
	"bytes"
	"strings"

	"penstock/routing/chattemplate/value"
)

// sglangMessages makes the messages that SGLang hands to a template.
func (w *Worker) sglangMessages(messages value.Value, parts bool) (value.Value, Reason) {
	out := w.mem.NewList(messages.Len())
	for i, m := range messages.Items() {
		if !parts && unchangedBySGLang(m) {
			w.mem.Add(out, m)
			continue
		}
		projected, reason := w.sglangMessage(i, m, parts)
		if reason != "" {
			return out, reason
		}
		w.mem.Add(out, projected)
	}
	return out, ""
}

// unchangedBySGLang reports whether a message already is what SGLang makes of it.
func unchangedBySGLang(m value.Value) bool {
	if !unchanged(m) {
		return false
	}
	_, role := m.Entry(0)
	switch string(role.Bytes()) {
	case "user", "assistant", "system", "tool":
		return true
	default:
		return false
	}
}

// sglangMessage is the dump of a message: known fields that are not null, in the order
// of the model; a user's has role and content only.
func (w *Worker) sglangMessage(i int, m value.Value, parts bool) (value.Value, Reason) {
	role := m.Get("role")
	lower := strings.ToLower(roleName(role.Bytes()))
	if m.Get("prefix").Truth() || !absent(m.Get("phase")) {
		return m, ReasonField
	}
	switch lower {
	case "system", "assistant", "tool", "function", "developer":
		role = w.mem.CopyString([]byte(lower))
	case "user":
		if string(role.Bytes()) != lower {
			return m, ReasonBadRequest
		}
	case "latest_reminder", "root":
		return m, ReasonField
	default:
		return m, ReasonBadRequest
	}
	content, reason := w.sglangContent(i, lower, m.Get("content"), parts)
	if reason != "" {
		return m, reason
	}
	out := w.mem.NewDict(8)
	w.mem.Set(out, "role", role)
	listed := m.Get("content").Kind() == value.List && parts
	if !listed {
		w.mem.Set(out, "content", content)
	}
	if lower != "user" {
		if reason := w.sglangRest(out, m, lower); reason != "" {
			return m, reason
		}
	}
	if listed { // a list is taken out and put back behind the others
		w.mem.Set(out, "content", content)
	}
	return out, ""
}

// sglangRest adds what messages that are no user's have besides role and content.
func (w *Worker) sglangRest(out, m value.Value, role string) Reason {
	for _, key := range [...]string{"tool_call_id", "name", "reasoning_content"} {
		switch v := m.Get(key); v.Kind() {
		case value.Undefined, value.None:
		case value.String:
			w.mem.Set(out, key, v)
		default:
			return ReasonBadRequest
		}
	}
	calls := m.Get("tool_calls")
	if absent(calls) {
		return ""
	}
	if calls.Kind() != value.List {
		return ReasonBadRequest
	}
	list := w.mem.NewList(calls.Len())
	for _, c := range calls.Items() {
		call, reason := w.sglangCall(c, role)
		if reason != "" {
			return reason
		}
		w.mem.Add(list, call)
	}
	w.mem.Set(out, "tool_calls", list)
	return ""
}

// sglangCall is the dump of a tool call, nulls and all; of an assistant its arguments
// are parsed.
func (w *Worker) sglangCall(c value.Value, role string) (value.Value, Reason) {
	f, kind := c.Get("function"), c.Get("type")
	if kind.Kind() == value.Undefined {
		kind = value.NewString([]byte("function"))
	}
	id, index, name, arguments := orNone(c.Get("id")), orNone(c.Get("index")), orNone(f.Get("name")), orNone(f.Get("arguments"))
	if f.Kind() != value.Dict || !isText(kind, "function") || !absent(id) && id.Kind() != value.String ||
		!absent(index) && index.Kind() != value.Int || !absent(name) && name.Kind() != value.String {
		return c, ReasonBadRequest
	}
	switch arguments.Kind() {
	case value.None, value.Dict:
	case value.String:
		if role != "assistant" {
			break
		}
		parsed, reason := w.sglangArguments(arguments.Bytes())
		if reason != "" {
			return c, reason
		}
		arguments = parsed
	default:
		return c, ReasonBadRequest
	}
	function := w.mem.NewDict(2)
	w.mem.Set(function, "name", name)
	w.mem.Set(function, "arguments", arguments)
	out := w.mem.NewDict(4)
	w.mem.Set(out, "id", id)
	w.mem.Set(out, "index", index)
	w.mem.Set(out, "type", kind)
	w.mem.Set(out, "function", function)
	return out, ""
}

// sglangArguments parses arguments as orjson does, which refuses what it cannot read.
func (w *Worker) sglangArguments(text []byte) (value.Value, Reason) {
	v, err := w.mem.Parse(text)
	switch {
	case err != nil || v.Kind() != value.Dict || controlInString(text):
		return v, ReasonBadRequest
	case bytes.Contains(text, []byte("NaN")) || bytes.Contains(text, []byte("Infinity")) || digitRun(text) > 18:
		return v, ReasonField // orjson reads such numbers in its own way
	default:
		return v, ""
	}
}

// digitRun is the length of the longest run of digits.
func digitRun(text []byte) int {
	longest, run := 0, 0
	for _, c := range text {
		if c < '0' || c > '9' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// sglangContent is the content of a message: text parts joined by spaces, or a list.
func (w *Worker) sglangContent(i int, role string, content value.Value, parts bool) (value.Value, Reason) {
	switch content.Kind() {
	case value.String:
		return content, ""
	case value.Undefined, value.None:
		if role == "user" {
			return content, ReasonBadRequest
		}
		return value.NewString(nil), ""
	case value.List:
	default:
		return content, ReasonBadRequest
	}
	list, texts := w.mem.NewList(content.Len()), true
	for _, item := range content.Items() {
		kind, text := item.Get("type"), item.Get("text")
		switch string(kind.Bytes()) {
		case "text":
			if text.Kind() != value.String {
				return content, ReasonBadRequest
			}
			w.mem.Add(list, w.partWithText(text))
		case "image_url", "video_url", "audio_url", "input_audio":
			w.media = append(w.media, medium{i, list.Len()})
			part := w.mem.NewDict(1)
			w.mem.Set(part, "type", value.NewString([]byte(modality(kind.Bytes()))))
			w.mem.Add(list, part)
			texts = false
		case "tool_reference", "thinking", "reasoning":
			return content, ReasonField
		default:
			return content, ReasonBadRequest
		}
	}
	if role == "tool" && parts && w.r.version.before(sglangDeferring()) {
		return content, ReasonField
	}
	if !parts || role == "tool" && texts {
		return value.NewString(w.joined(list, " ")), ""
	}
	return list, ""
}

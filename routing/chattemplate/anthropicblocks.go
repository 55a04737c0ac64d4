package chattemplate

import "penstock/routing/chattemplate/value"

// anthropicMessage adds the messages that one of Anthropic's becomes.
func (w *Worker) anthropicMessage(out, m value.Value) Reason {
	content := m.Get("content")
	switch role := m.Get("role"); string(role.Bytes()) {
	case "system":
		if w.r.mergeSystem {
			return ""
		}
		text, reason := w.systemText(content)
		if len(text) > 0 {
			w.mem.Add(out, w.message("system", value.NewString(text)))
		}
		return reason
	case "user", "assistant":
	default:
		return ReasonBadRequest
	}
	switch content.Kind() {
	case value.String:
		w.mem.Add(out, w.message(string(m.Get("role").Bytes()), content))
		return ""
	case value.List:
		return w.anthropicBlocks(out, m.Get("role"), content)
	default:
		return ReasonBadRequest
	}
}

// blocks collects what the blocks of a message say.
type blocks struct{ parts, calls, thoughts value.Value }

func (w *Worker) anthropicBlocks(out, role, content value.Value) Reason {
	b := blocks{parts: w.mem.NewList(content.Len()), calls: w.mem.NewList(0), thoughts: w.mem.NewList(0)}
	for _, block := range content.Items() {
		if reason := w.anthropicBlock(out, role, block, &b); reason != "" {
			return reason
		}
	}
	message := w.mem.NewDict(4)
	w.mem.Set(message, "role", role)
	if b.thoughts.Len() > 0 {
		w.mem.Set(message, "reasoning", value.NewString(w.joined(b.thoughts, "")))
	}
	if b.calls.Len() > 0 {
		w.mem.Set(message, "tool_calls", b.calls)
	}
	switch {
	case b.parts.Len() == 1 && isText(b.parts.Index(0).Get("type"), "text"):
		w.mem.Set(message, "content", b.parts.Index(0).Get("text"))
	case b.parts.Len() > 0:
		w.mem.Set(message, "content", b.parts)
	case isText(role, "user"):
		return ""
	}
	w.mem.Add(out, message)
	return ""
}

func (w *Worker) anthropicBlock(out, role, block value.Value, b *blocks) Reason {
	text, thought := block.Get("text"), block.Get("thinking")
	if !absent(text) && text.Kind() != value.String || !absent(thought) && thought.Kind() != value.String {
		return ReasonBadRequest
	}
	switch kind := block.Get("type"); string(kind.Bytes()) {
	case "text":
		if len(text.Bytes()) > 0 {
			w.mem.Add(b.parts, w.partWithText(text))
		}
		return ""
	case "image":
		if block.Get("source").Truth() {
			w.mem.Add(b.parts, w.imagePart())
		}
		return ""
	case "thinking":
		if !absent(thought) {
			w.mem.Add(b.thoughts, thought)
		}
		return ""
	case "redacted_thinking", "tool_reference":
		return ""
	case "tool_use":
		return w.toolUse(b.calls, block)
	case "tool_result":
		if !isText(role, "user") {
			return ReasonField // the engine prints it as Python would
		}
		return w.toolResult(out, block)
	case "tool_addition", "tool_removal":
		return ReasonField
	default:
		return ReasonBadRequest
	}
}

func (w *Worker) partWithText(text value.Value) value.Value {
	part := w.mem.NewDict(2)
	w.mem.Set(part, "type", value.NewString([]byte("text")))
	w.mem.Set(part, "text", text)
	return part
}

// imagePart stands for an image; which one does not matter.
func (w *Worker) imagePart() value.Value {
	part := w.mem.NewDict(2)
	w.mem.Set(part, "type", value.NewString([]byte("image_url")))
	w.mem.Set(part, "image_url", w.mem.NewDict(0))
	return part
}

// toolUse adds a call. Its arguments become text as Python's json.dumps writes it.
func (w *Worker) toolUse(calls, block value.Value) Reason {
	id, name, input := block.Get("id"), block.Get("name"), block.Get("input")
	switch {
	case !absent(id) && id.Kind() != value.String, !absent(name) && name.Kind() != value.String,
		!absent(input) && input.Kind() != value.Dict:
		return ReasonBadRequest
	case len(id.Bytes()) == 0:
		return ReasonField // the engine invents one
	case absent(name):
		name = value.NewString(nil)
	}
	if absent(input) {
		input = w.mem.NewDict(0)
	}
	style := value.Style{Item: []byte(", "), Key: []byte(": "), EnsureASCII: value.ASCII}
	var err error
	if w.spare[1], err = input.AppendStyled(w.spare[1][:0], &style); err != nil {
		return ReasonLimit
	}
	function := w.mem.NewDict(2)
	w.mem.Set(function, "name", name)
	w.mem.Set(function, "arguments", w.mem.CopyString(w.spare[1]))
	call := w.mem.NewDict(3)
	w.mem.Set(call, "id", id)
	w.mem.Set(call, "type", value.NewString([]byte("function")))
	w.mem.Set(call, "function", function)
	w.mem.Add(calls, call)
	return ""
}

// toolResult adds what a tool said as a message, images as a user's, and references
// to tools as one more.
func (w *Worker) toolResult(out, block value.Value) Reason {
	id, content := block.Get("tool_use_id"), block.Get("content")
	if !absent(id) && id.Kind() != value.String {
		return ReasonBadRequest
	}
	if absent(id) {
		id = value.NewString(nil)
	}
	text := content
	images, references := w.mem.NewList(0), w.mem.NewList(0)
	switch content.Kind() {
	case value.String:
	case value.Undefined, value.None:
		text = value.NewString(nil)
	case value.List:
		texts := w.mem.NewList(content.Len())
		for _, item := range content.Items() {
			if reason := w.resultItem(item, texts, images, references); reason != "" {
				return reason
			}
		}
		text = value.NewString(w.joined(texts, "\n"))
	default:
		return ReasonBadRequest
	}
	w.mem.Add(out, w.toolMessage(id, text))
	if images.Len() > 0 {
		w.mem.Add(out, w.message("user", images))
	}
	if references.Len() > 0 {
		w.mem.Add(out, w.toolMessage(id, references))
	}
	return ""
}

func (w *Worker) toolMessage(id, content value.Value) value.Value {
	m := w.mem.NewDict(3)
	w.mem.Set(m, "role", value.NewString([]byte("tool")))
	w.mem.Set(m, "tool_call_id", id)
	w.mem.Set(m, "content", content)
	return m
}

func (w *Worker) resultItem(item, texts, images, references value.Value) Reason {
	if item.Kind() != value.Dict {
		return ReasonBadRequest
	}
	switch kind := item.Get("type"); string(kind.Bytes()) {
	case "text":
		text := item.Get("text")
		if text.Kind() == value.Undefined {
			text = value.NewString(nil)
		}
		if text.Kind() != value.String {
			return ReasonField
		}
		w.mem.Add(texts, text)
	case "image":
		w.mem.Add(images, w.imagePart())
	case "tool_reference":
		name := item.Get("tool_name")
		if !name.Truth() {
			name = item.Get("name")
		}
		if !name.Truth() {
			return ""
		}
		if name.Kind() != value.String {
			return ReasonField
		}
		part := w.mem.NewDict(2)
		w.mem.Set(part, "type", value.NewString([]byte("tool_reference")))
		w.mem.Set(part, "name", name)
		w.mem.Add(references, part)
	}
	return ""
}

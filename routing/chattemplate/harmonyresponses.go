package chattemplate

import (
	"penstock/routing/chattemplate/harmony"
	"penstock/routing/chattemplate/value"
)

// harmonyResponses follows _render_responses_with_harmony of vLLM's OnlineRenderer and
// openai/responses/harmony.py.
func (w *Worker) harmonyResponses(body, effort value.Value) Reason {
	tools, reason := w.harmonyTools(body)
	if reason != "" {
		return reason
	}
	input := body.Get("input")
	items := input.Items()
	instructions, instructed := body.Get("instructions").Bytes(), !absent(body.Get("instructions"))
	if !instructed && len(items) > 0 && isInstruction(items[0]) {
		if instructions, instructed, reason = w.flatInput(items[0].Get("content")); reason != "" {
			return reason
		}
		items = items[1:]
	}
	if reason := w.preamble(instructions, instructed, effort, tools); reason != "" {
		return reason
	}
	w.calls = w.calls[:0]
	switch input.Kind() {
	case value.String:
		w.messages = append(w.messages, harmony.Message{Role: harmony.User, Text: input.Bytes()})
	case value.List:
		for _, item := range items {
			if reason := w.harmonyItem(item); reason != "" {
				return reason
			}
		}
	default:
		return ReasonBadRequest
	}
	w.finishHarmony()
	return ""
}

// harmonyTools are the functions among the tools; others have descriptions that only
// the engine knows.
func (w *Worker) harmonyTools(body value.Value) (value.Value, Reason) {
	for _, t := range body.Get("tools").Items() {
		if !isText(t.Get("type"), "function") {
			return t, ReasonField
		}
	}
	tools := body.Get("tools")
	if tools.Kind() == value.Undefined {
		return value.NewNone(), ""
	}
	out := w.mem.NewList(tools.Len())
	for _, t := range tools.Items() {
		f, reason := w.vllmFunction(t, value.NewNone())
		if reason != "" {
			return out, reason
		}
		w.mem.Add(out, w.functionTool(f))
	}
	return out, ""
}

// harmonyItem adds the message of one item.
func (w *Worker) harmonyItem(item value.Value) Reason {
	switch kind := item.Get("type"); string(kind.Bytes()) {
	case "", "message":
		return w.harmonyMessageItem(item)
	case "function_call":
		id, name, arguments := item.Get("call_id"), item.Get("name"), item.Get("arguments")
		if id.Kind() != value.String || name.Kind() != value.String || arguments.Kind() != value.String {
			return ReasonBadRequest
		}
		w.calls = append(w.calls, call{id.Bytes(), name.Bytes()})
		w.messages = append(w.messages, harmony.Message{
			Role: harmony.Assistant, Channel: harmony.Commentary, Call: true, Function: name.Bytes(), Text: arguments.Bytes(),
		})
		return safeName(name.Bytes())
	case "function_call_output":
		name, found := w.called(item.Get("call_id").Bytes())
		if output := item.Get("output"); !found || output.Kind() != value.String {
			return ReasonBadRequest
		}
		w.messages = append(w.messages, harmony.Message{Role: harmony.Tool, Function: name, Text: item.Get("output").Bytes()})
		return ""
	case "reasoning":
		return w.harmonyReasoning(item)
	default:
		return ReasonBadRequest
	}
}

func (w *Worker) harmonyReasoning(item value.Value) Reason {
	content := item.Get("content")
	if item.Get("summary").Kind() != value.List {
		return ReasonBadRequest
	}
	if content.Len() == 0 {
		return ""
	}
	for _, part := range content.Items() {
		if part.Get("text").Kind() != value.String {
			return ReasonBadRequest
		}
	}
	w.messages = append(w.messages, harmony.Message{
		Role: harmony.Assistant, Channel: harmony.Analysis, Text: w.joined(content, "\n"),
	})
	return ""
}

func (w *Worker) harmonyMessageItem(item value.Value) Reason {
	content := item.Get("content")
	m := harmony.Message{}
	switch string(item.Get("role").Bytes()) {
	case "system", "developer":
		text, _, reason := w.flatInput(content)
		switch {
		case reason != "" || len(text) == 0:
			return reason
		case w.r.profile.HarmonySystemInstructions && isText(item.Get("role"), "system"):
			return ReasonField
		default:
			return w.developer(text, true, value.NewNone())
		}
	case "user":
		m.Role = harmony.User
	case "assistant":
		m.Role, m.Channel = harmony.Assistant, harmony.Final
	default:
		return ReasonBadRequest
	}
	switch content.Kind() {
	case value.String:
		m.Text = content.Bytes()
	case value.List:
		for i, part := range content.Items() {
			text := part.Get("text")
			if part.Kind() != value.Dict || text.Kind() != value.String {
				return ReasonField // vLLM makes an empty text of it, if it takes it
			}
			if i == 0 {
				m.Text = text.Bytes()
			} else {
				m.More = append(m.More, text.Bytes())
			}
		}
	default:
		return ReasonBadRequest
	}
	w.messages = append(w.messages, m)
	return ""
}

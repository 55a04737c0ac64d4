package chattemplate

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"penstock/routing/chattemplate/harmony"
	"penstock/routing/chattemplate/value"
)

// harmonyChat renders for gpt-oss: _make_request_with_harmony of vLLM's OnlineRenderer
// and openai/parser/harmony_utils.py. Templates and their kwargs do not matter.
func (w *Worker) harmonyChat(c *chat) Reason {
	messages := c.messages.Items()
	var instructions []byte
	instructed := false
	if len(messages) > 0 && isInstruction(messages[0]) {
		var reason Reason
		if instructions, instructed, reason = w.flatInput(messages[0].Get("content")); reason != "" {
			return reason
		}
		messages = messages[1:]
	}
	if reason := w.preamble(instructions, instructed, c.effort, c.tools); reason != "" {
		return reason
	}
	w.calls = w.calls[:0]
	for _, m := range messages {
		if reason := w.noteCalls(m); reason != "" {
			return reason
		}
	}
	for _, m := range messages {
		if reason := w.harmonyMessage(m); reason != "" {
			return reason
		}
	}
	w.finishHarmony()
	return ""
}

func isInstruction(m value.Value) bool {
	return isText(m.Get("role"), "system") || isText(m.Get("role"), "developer")
}

// preamble adds the system message, and a developer's with instructions and tools.
func (w *Worker) preamble(instructions []byte, instructed bool, effort, tools value.Value) Reason {
	w.messages = w.messages[:0]
	p := harmony.Preamble{Date: w.r.profile.HarmonyDate, Functions: tools.Len() > 0}
	if p.Date == "" {
		p.Date = w.now.Format(time.DateOnly)
	}
	if !absent(effort) {
		switch p.Effort = string(effort.Bytes()); p.Effort {
		case "low", "medium", "high":
		default:
			return ReasonBadRequest
		}
	}
	if w.r.profile.HarmonySystemInstructions {
		p.Instructions, p.Instructed = instructions, instructed
		instructions, instructed = nil, false
	}
	text := harmony.AppendSystem(w.mem.Text(512 + len(p.Instructions))[:0], &p)
	w.messages = append(w.messages, harmony.Message{Role: harmony.System, Text: text})
	if len(instructions) == 0 && tools.Len() == 0 {
		return ""
	}
	return w.developer(instructions, instructed, tools)
}

// developer adds a developer's message.
func (w *Worker) developer(instructions []byte, instructed bool, tools value.Value) Reason {
	w.functions = w.functions[:0]
	for _, t := range tools.Items() {
		f := t.Get("function")
		if !isText(t.Get("type"), "function") {
			return ReasonField
		}
		w.functions = append(w.functions, harmony.Function{
			Name: f.Get("name").Bytes(), Description: f.Get("description").Bytes(), Parameters: f.Get("parameters"),
		})
	}
	text, err := harmony.AppendDeveloper(w.spare[0][:0], instructions, harmony.Presence(instructed), w.functions)
	w.spare[0] = text
	switch {
	case errors.Is(err, harmony.ErrLimit):
		return ReasonLimit
	case err != nil:
		return ReasonBadRequest
	}
	w.messages = append(w.messages, harmony.Message{Role: harmony.Developer, Text: w.mem.CopyString(text).Bytes()})
	return ""
}

// call is the function of a call by its id.
type call struct{ id, name []byte }

// noteCalls keeps the calls of a message, for the results that come later.
func (w *Worker) noteCalls(m value.Value) Reason {
	calls := m.Get("tool_calls")
	if isText(m.Get("role"), "assistant") && absent(calls) {
		return ""
	}
	if calls.Kind() == value.None || calls.Kind() != value.Undefined && calls.Kind() != value.List {
		return ReasonBadRequest
	}
	for _, c := range calls.Items() {
		f := c.Get("function")
		if isText(c.Get("type"), "custom") {
			return ReasonField
		}
		if c.Get("id").Kind() != value.String || !isText(c.Get("type"), "function") ||
			f.Get("name").Kind() != value.String || f.Get("arguments").Kind() != value.String {
			return ReasonBadRequest
		}
		w.calls = append(w.calls, call{c.Get("id").Bytes(), f.Get("name").Bytes()})
	}
	return ""
}

// called is the function that was called under an id, the last one of that id.
func (w *Worker) called(id []byte) (name []byte, found bool) {
	for _, c := range slices.Backward(w.calls) {
		if bytes.Equal(c.id, id) {
			return c.name, true
		}
	}
	return nil, false
}

// harmonyMessage adds the messages that one of a chat becomes.
func (w *Worker) harmonyMessage(m value.Value) Reason {
	role := m.Get("role")
	if role.Kind() != value.String || !validName(m) {
		return ReasonBadRequest
	}
	switch string(role.Bytes()) {
	case "assistant":
		return w.harmonyAssistant(m)
	case "tool":
		text, _, reason := w.flatInput(m.Get("content"))
		name, _ := w.called(m.Get("tool_call_id").Bytes())
		w.messages = append(w.messages, harmony.Message{Role: harmony.Tool, Function: name, Text: text})
		return firstReason(reason, safeName(name))
	case "system", "developer":
		text, found, reason := w.flatInput(m.Get("content"))
		switch {
		case !found || reason != "":
			return reason
		case w.r.profile.HarmonySystemInstructions && isText(role, "system"):
			return ReasonField
		default:
			return w.developer(text, true, value.NewNone())
		}
	case "user":
		if m.Get("content").Kind() == value.None {
			return ReasonBadRequest
		}
		first, more, reason := w.contents(m.Get("content"))
		w.messages = append(w.messages, harmony.Message{Role: harmony.User, Text: first, More: more})
		return reason
	default:
		return ReasonBadRequest
	}
}

func firstReason(reasons ...Reason) Reason {
	for _, r := range reasons {
		if r != "" {
			return r
		}
	}
	return ""
}

// harmonyAssistant adds what an assistant thought, said and called.
func (w *Worker) harmonyAssistant(m value.Value) Reason {
	reasoning := m.Get("reasoning")
	if absent(reasoning) {
		reasoning = m.Get("reasoning_content")
	}
	if !absent(reasoning) && reasoning.Kind() != value.String {
		return ReasonField
	}
	thought := harmony.Message{Role: harmony.Assistant, Channel: harmony.Analysis, Text: reasoning.Bytes()}
	calls := m.Get("tool_calls")
	if calls.Len() > 0 {
		text, _, reason := w.flatInput(m.Get("content"))
		w.say(harmony.Message{Role: harmony.Assistant, Channel: harmony.Commentary, Text: text})
		w.say(thought)
		for _, c := range calls.Items() {
			f := c.Get("function")
			w.messages = append(w.messages, harmony.Message{
				Role: harmony.Assistant, Channel: harmony.Commentary, Call: true,
				Function: f.Get("name").Bytes(), Text: f.Get("arguments").Bytes(),
			})
			reason = firstReason(reason, safeName(f.Get("name").Bytes()))
		}
		return reason
	}
	w.say(thought)
	first, more, reason := w.contents(m.Get("content"))
	if len(first) > 0 {
		w.messages = append(w.messages, harmony.Message{Role: harmony.Assistant, Channel: harmony.Final, Text: first, More: more})
	}
	return reason
}

// say adds a message that has a text.
func (w *Worker) say(m harmony.Message) {
	if len(m.Text) > 0 {
		w.messages = append(w.messages, m)
	}
}

// safeName refuses names of functions that do not stand on their own in a header.
func safeName(name []byte) Reason {
	for _, c := range name {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-', c == '.':
		default:
			return ReasonField
		}
	}
	return ""
}

// flatInput is vLLM's flatten_input_text_content: all texts in one, found telling
// whether there is any.
func (w *Worker) flatInput(content value.Value) (text []byte, found bool, reason Reason) {
	switch content.Kind() {
	case value.String:
		return content.Bytes(), true, ""
	case value.Undefined, value.None:
		return nil, false, ""
	case value.List:
	default:
		return nil, false, ReasonBadRequest
	}
	list := w.mem.NewList(content.Len())
	for _, part := range content.Items() {
		t := part
		if part.Kind() == value.Dict {
			if t = part.Get("text"); absent(t) {
				continue
			}
		}
		if t.Kind() != value.String {
			return nil, false, ReasonBadRequest
		}
		w.mem.Add(list, t)
	}
	return w.joined(list, ""), list.Len() > 0, ""
}

// contents are the contents of a user's or an assistant's message, each for itself.
func (w *Worker) contents(content value.Value) (first []byte, more [][]byte, reason Reason) {
	switch content.Kind() {
	case value.String:
		return content.Bytes(), nil, ""
	case value.Undefined, value.None:
		return nil, nil, ""
	case value.List:
	default:
		return nil, nil, ReasonBadRequest
	}
	for i, part := range content.Items() {
		t := part.Get("text")
		switch kind := part.Get("type"); string(kind.Bytes()) {
		case "text", "refusal", "thinking":
		default:
			return nil, nil, ReasonBadRequest
		}
		if t.Kind() != value.String && t.Kind() != value.Undefined {
			return nil, nil, ReasonBadRequest
		}
		if i == 0 {
			first = t.Bytes()
		} else {
			more = append(more, t.Bytes())
		}
	}
	return first, more, ""
}

// finishHarmony writes the messages and takes the text apart.
func (w *Worker) finishHarmony() {
	e := &w.harmony
	e.Reset()
	e.Conversation(w.messages)
	start := 0
	for i, plain := range e.Plain {
		end := len(e.Text)
		if i < len(e.Cuts) {
			end = e.Cuts[i]
		}
		if end > start {
			w.parts = append(w.parts, Part{Text: e.Text[start:end], PlainText: plain})
		}
		start = end
	}
}

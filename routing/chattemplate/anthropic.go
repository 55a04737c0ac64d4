package chattemplate

import (
	"bytes"

	"penstock/routing/chattemplate/value"
)

// vllmAnthropic follows vLLM's anthropic/serving.py: the request becomes one of chat
// completions.
func (w *Worker) vllmAnthropic(body value.Value) Reason {
	messages, kwargs := body.Get("messages"), body.Get("chat_template_kwargs")
	if messages.Kind() != value.List || !absent(kwargs) && kwargs.Kind() != value.Dict {
		return ReasonBadRequest
	}
	if reason := w.readSalt(body); reason != "" {
		return reason
	}
	c := chat{kwargs: kwargs, generation: true, messages: w.mem.NewList(2 + messages.Len())}
	if reason := w.anthropicSystem(c.messages, body.Get("system"), messages); reason != "" {
		return reason
	}
	for _, m := range messages.Items() {
		if reason := w.anthropicMessage(c.messages, m); reason != "" {
			return reason
		}
	}
	var reason Reason
	if c.tools, reason = w.anthropicTools(body); reason != "" {
		return reason
	}
	if c.effort, reason = w.anthropicEffort(body); reason != "" {
		return reason
	}
	w.readThinking(&c)
	if reused, reason := w.reusedIDs(body, c.messages); reused || reason != "" {
		return reason
	}
	if w.r.encoder == encodeHarmony {
		return w.harmonyChat(&c)
	}
	if reason := w.kwargsTemplate(kwargs); reason != "" {
		return reason
	}
	return w.renderChat(&c)
}

// anthropicEffort is the reasoning effort that output_config and thinking ask for.
func (w *Worker) anthropicEffort(body value.Value) (value.Value, Reason) {
	effort, thinking := body.Get("output_config").Get("effort"), body.Get("thinking")
	if !validEffort(effort) || isText(effort, "none") || isText(effort, "minimal") {
		return effort, ReasonBadRequest
	}
	if absent(thinking) {
		return effort, ""
	}
	switch kind := thinking.Get("type"); string(kind.Bytes()) {
	case "enabled", "adaptive":
		return effort, ""
	case "disabled":
		return value.NewString([]byte(w.r.disabledEffort)), ""
	default:
		return effort, ReasonBadRequest
	}
}

// anthropicTools gives tools the form of chat completions.
func (w *Worker) anthropicTools(body value.Value) (value.Value, Reason) {
	tools := body.Get("tools")
	if absent(tools) {
		return value.NewNone(), ""
	}
	if tools.Kind() != value.List {
		return tools, ReasonBadRequest
	}
	out := w.mem.NewList(tools.Len())
	for _, t := range tools.Items() {
		schema := t.Get("input_schema")
		if schema.Kind() != value.Dict {
			return tools, ReasonBadRequest
		}
		if !schema.Has("type") {
			schema = w.mem.Clone(schema)
			w.mem.Set(schema, "type", value.NewString([]byte("object")))
		}
		f := w.mem.NewDict(5)
		for _, key := range [...]string{"name", "description", "strict", "defer_loading"} {
			if v := t.Get(key); v.Kind() != value.Undefined {
				w.mem.Set(f, key, v)
			}
		}
		w.mem.Set(f, "parameters", schema)
		projected, reason := w.vllmFunction(f, value.NewNone())
		if reason != "" {
			return tools, reason
		}
		w.mem.Add(out, w.functionTool(projected))
	}
	if w.r.profile.ExcludeToolsWhenNone && isText(body.Get("tool_choice").Get("type"), "none") {
		return value.NewNone(), ""
	}
	return out, ""
}

// anthropicSystem adds the system prompt, with system messages from between the turns
// where the template wants them first.
func (w *Worker) anthropicSystem(out, system, messages value.Value) Reason {
	texts := w.mem.NewList(4)
	switch system.Kind() {
	case value.Undefined, value.None:
	case value.String:
		if len(system.Bytes()) > 0 {
			w.mem.Add(texts, system)
		}
	case value.List:
		if reason := w.systemTexts(texts, system); reason != "" {
			return reason
		}
	default:
		return ReasonBadRequest
	}
	if w.r.mergeSystem {
		for _, m := range messages.Items() {
			if !isText(m.Get("role"), "system") {
				continue
			}
			text, reason := w.systemText(m.Get("content"))
			if reason != "" {
				return reason
			}
			if len(text) > 0 {
				w.mem.Add(texts, value.NewString(text))
			}
		}
	}
	if texts.Len() > 0 {
		w.mem.Add(out, w.message("system", value.NewString(w.joined(texts, ""))))
	}
	return ""
}

// systemText is the text of a system message, "" when there is none.
func (w *Worker) systemText(content value.Value) ([]byte, Reason) {
	switch content.Kind() {
	case value.String:
		if bytes.HasPrefix(content.Bytes(), []byte(billingHeader)) {
			return nil, ""
		}
		return content.Bytes(), ""
	case value.List:
		texts := w.mem.NewList(content.Len())
		reason := w.systemTexts(texts, content)
		return w.joined(texts, ""), reason
	default:
		return nil, ReasonBadRequest
	}
}

// systemTexts adds the texts of blocks that are no billing headers.
func (w *Worker) systemTexts(out, blocks value.Value) Reason {
	for _, b := range blocks.Items() {
		kind, text := b.Get("type"), b.Get("text")
		switch string(kind.Bytes()) {
		case "text":
		case "image", "tool_use", "tool_result", "tool_reference", "thinking", "redacted_thinking":
			continue
		case "tool_addition", "tool_removal":
			return ReasonField
		default:
			return ReasonBadRequest
		}
		if !absent(text) && text.Kind() != value.String {
			return ReasonBadRequest
		}
		if len(text.Bytes()) > 0 && !bytes.HasPrefix(text.Bytes(), []byte(billingHeader)) {
			w.mem.Add(out, text)
		}
	}
	return ""
}

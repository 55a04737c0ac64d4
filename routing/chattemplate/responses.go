package chattemplate

import "penstock/routing/chattemplate/value"

// vllmResponses follows vLLM's ResponsesRequest and OnlineRenderer.render_responses.
func (w *Worker) vllmResponses(body value.Value) Reason {
	if reason := w.responsesFields(body); reason != "" {
		return reason
	}
	effort := body.Get("reasoning").Get("effort")
	if !validEffort(effort) {
		return ReasonBadRequest
	}
	kwargs := body.Get("chat_template_kwargs")
	if reason := w.kwargsTemplate(kwargs); reason != "" {
		return reason
	}
	if w.r.encoder == encodeHarmony {
		return w.harmonyResponses(body, effort)
	}
	c := chat{kwargs: kwargs, effort: effort, generation: true, addSpecial: true}
	var reason Reason
	if c.tools, reason = w.responsesTools(body); reason != "" {
		return reason
	}
	if c.messages, reason = w.responsesMessages(body); reason != "" {
		return reason
	}
	if continues(body.Get("input")) {
		c.continueFinal, c.generation = true, false
	}
	w.readThinking(&c)
	if reused, reason := w.reusedIDs(body, c.messages); reused || reason != "" {
		return reason
	}
	w.keepCalls = true
	return w.renderChat(&c)
}

// responsesFields refuses what cannot be known from the body alone.
func (w *Worker) responsesFields(body value.Value) Reason {
	if !absent(body.Get("previous_response_id")) {
		return ReasonStoredState
	}
	if !absent(body.Get("prompt")) {
		return ReasonBadRequest
	}
	if !absent(body.Get("previous_input_messages")) {
		return ReasonField
	}
	if t := body.Get("truncation"); t.Kind() != value.Undefined && !isText(t, "disabled") {
		return ReasonTruncated
	}
	kwargs, instructions := body.Get("chat_template_kwargs"), body.Get("instructions")
	if !absent(kwargs) && kwargs.Kind() != value.Dict || !absent(instructions) && instructions.Kind() != value.String {
		return ReasonBadRequest
	}
	return w.readSalt(body)
}

// responsesTools gives tools the form of chat completions. Those that are no functions
// the model never sees.
func (w *Worker) responsesTools(body value.Value) (value.Value, Reason) {
	tools := body.Get("tools")
	if tools.Kind() == value.Undefined || tools.Kind() == value.List && tools.Len() == 0 {
		return value.NewNone(), ""
	}
	if tools.Kind() != value.List {
		return tools, ReasonBadRequest
	}
	out := w.mem.NewList(tools.Len())
	for _, t := range tools.Items() {
		switch kind := t.Get("type"); string(kind.Bytes()) {
		case "function":
			f, reason := w.vllmFunction(t, value.NewNone())
			if reason != "" {
				return out, reason
			}
			w.mem.Add(out, w.functionTool(f))
		case "", "custom", "namespace":
			return out, ReasonField
		}
	}
	if w.r.profile.ExcludeToolsWhenNone && isText(body.Get("tool_choice"), "none") {
		return value.NewNone(), ""
	}
	return out, ""
}

func (w *Worker) functionTool(f value.Value) value.Value {
	out := w.mem.NewDict(2)
	w.mem.Set(out, "type", value.NewString([]byte("function")))
	w.mem.Set(out, "function", f)
	return out
}

// continues reports whether the last item is to be continued.
func continues(input value.Value) bool {
	if input.Kind() != value.List || input.Len() == 0 {
		return false
	}
	last := input.Index(input.Len() - 1)
	if kind := last.Get("type"); kind.Kind() != value.Undefined && !isText(kind, "message") && !isText(kind, "reasoning") {
		return false
	}
	return isText(last.Get("status"), "in_progress") || isText(last.Get("status"), "incomplete")
}

// responsesMessages are the messages of a chat that instructions and input make.
func (w *Worker) responsesMessages(body value.Value) (value.Value, Reason) {
	input := body.Get("input")
	out := w.mem.NewList(1 + input.Len())
	if instructions := body.Get("instructions"); len(instructions.Bytes()) > 0 {
		w.mem.Add(out, w.message("system", instructions))
	}
	switch input.Kind() {
	case value.String:
		w.mem.Add(out, w.message("user", input))
		return out, ""
	case value.List:
	default:
		return out, ReasonBadRequest
	}
	items := w.mem.NewList(input.Len())
	for _, item := range input.Items() {
		if reason := w.responsesItem(items, item); reason != "" {
			return out, reason
		}
	}
	for _, m := range items.Items() {
		w.mem.Add(out, m)
	}
	return out, ""
}

// message is a message of a chat.
func (w *Worker) message(role string, content value.Value) value.Value {
	m := w.mem.NewDict(2)
	w.mem.Set(m, "role", value.NewString([]byte(role)))
	w.mem.Set(m, "content", content)
	return m
}

// responsesItem adds an item to the messages. What an assistant thought, said and
// called comes in several items, of which each joins the message before it while that
// lacks it.
func (w *Worker) responsesItem(out, item value.Value) Reason {
	switch kind := item.Get("type"); string(kind.Bytes()) {
	case "function_call":
		return w.callItem(out, item)
	case "function_call_output":
		m := w.message("tool", item.Get("output"))
		w.mem.Set(m, "tool_call_id", item.Get("call_id"))
		if k := item.Get("output").Kind(); item.Get("call_id").Kind() != value.String || k != value.String && k != value.List {
			return ReasonBadRequest
		}
		w.mem.Add(out, m)
		return ""
	case "reasoning":
		return w.reasoningItem(out, item)
	case "", "message":
		return w.messageItem(out, item)
	case "custom_tool_call", "custom_tool_call_output":
		return ReasonField
	default:
		return ReasonBadRequest
	}
}

// assistantBefore is the message before, when it is an assistant's.
func assistantBefore(out value.Value) (value.Value, bool) {
	if out.Len() == 0 {
		return out, false
	}
	last := out.Index(out.Len() - 1)
	return last, isText(last.Get("role"), "assistant")
}

// join adds a field to the assistant's message before, or a new one with it.
func (w *Worker) join(out value.Value, key string, v value.Value) {
	if last, ok := assistantBefore(out); ok && absent(last.Get(key)) {
		w.mem.Set(last, key, v)
		return
	}
	m := w.mem.NewDict(4)
	w.mem.Set(m, "role", value.NewString([]byte("assistant")))
	w.mem.Set(m, key, v)
	w.mem.Add(out, m)
}

func (w *Worker) callItem(out, item value.Value) Reason {
	id, name, arguments := item.Get("call_id"), item.Get("name"), item.Get("arguments")
	if id.Kind() != value.String || name.Kind() != value.String || arguments.Kind() != value.String {
		return ReasonBadRequest
	}
	if n := item.Get("namespace"); !absent(n) && n.Truth() {
		return ReasonField
	}
	function := w.mem.NewDict(2)
	w.mem.Set(function, "name", name)
	w.mem.Set(function, "arguments", arguments)
	call := w.mem.NewDict(3)
	w.mem.Set(call, "id", id)
	w.mem.Set(call, "function", function)
	w.mem.Set(call, "type", value.NewString([]byte("function")))
	if last, ok := assistantBefore(out); ok && last.Get("tool_calls").Kind() == value.List {
		w.mem.Add(last.Get("tool_calls"), call)
		return ""
	}
	list := w.mem.NewList(2)
	w.mem.Add(list, call)
	w.join(out, "tool_calls", list)
	return ""
}

// reasoningItem takes the first content, or else the first summary.
func (w *Worker) reasoningItem(out, item value.Value) Reason {
	if e := item.Get("encrypted_content"); !absent(e) && e.Truth() || item.Get("summary").Kind() != value.List {
		return ReasonBadRequest
	}
	text := value.NewString(nil)
	for _, key := range [...]string{"content", "summary"} {
		if list := item.Get(key); list.Kind() == value.List && list.Len() > 0 {
			text = list.Index(0).Get("text")
			break
		}
	}
	if text.Kind() != value.String {
		return ReasonBadRequest
	}
	w.join(out, "reasoning", text)
	return ""
}

// messageItem adds a message. Of an assistant's parts only the first counts.
func (w *Worker) messageItem(out, item value.Value) Reason {
	role, content := item.Get("role"), item.Get("content")
	if role.Kind() != value.String || content.Kind() != value.String && content.Kind() != value.List {
		return ReasonBadRequest
	}
	if !isText(role, "assistant") {
		w.mem.Add(out, item)
		return ""
	}
	if content.Kind() == value.List {
		if content.Len() == 0 {
			return ReasonBadRequest
		}
		if content = content.Index(0).Get("text"); content.Kind() != value.String {
			return ReasonBadRequest
		}
	}
	w.join(out, "content", content)
	return ""
}

package chattemplate

import (
	"slices"

	"penstock/routing/chattemplate/jinja"
	"penstock/routing/chattemplate/value"
)

// renderChat renders a chat through the encoder of the model: preprocess_chat of
// vLLM's OnlineRenderer.
func (w *Worker) renderChat(c *chat) Reason {
	if c.messages.Len() == 0 {
		return ReasonBadRequest
	}
	switch w.r.encoder {
	case encodeOther:
		return ReasonEncoder
	case encodeDeepSeekV32, encodeDeepSeekV4:
		return w.deepseekChat(c)
	default:
		return w.templateChat(c)
	}
}

// templateChat is vLLM's HfRenderer.
func (w *Worker) templateChat(c *chat) Reason {
	t := w.r.templates.choose(c.tools.Kind() != value.None)
	if reason := w.usable(t); reason != "" {
		return reason
	}
	parts := w.format(t) == jinja.FormatParts
	messages, reason := w.conversation(c.messages, parts)
	if reason != "" {
		return reason
	}
	vars, reason := w.variables(c)
	if reason != "" {
		return reason
	}
	if !t.developer && !messages.Same(c.messages) {
		merged := w.withoutDevelopers(messages)
		if len(w.media) > 0 && !merged.Same(messages) {
			return ReasonMultimodal // the media lie elsewhere now
		}
		messages = merged
	}
	if len(w.media) > 0 {
		return w.beforeMedia(t, c, vars, messages, parts)
	}
	w.text, reason = w.apply(w.text[:0], t, c, vars, messages)
	if reason != "" {
		return reason
	}
	w.addText(w.text, c.addSpecial)
	return w.beforeClock(t, c, vars, messages)
}

// usable reports why a template cannot be used, "" when it can.
func (w *Worker) usable(t *template) Reason {
	switch {
	case t == nil:
		return ReasonNoTemplate
	case t.err != nil:
		return ReasonTemplate
	case slices.ContainsFunc(w.r.unknown, t.compiled.Uses):
		return ReasonSpecialTokens
	default:
		return ""
	}
}

// format is the format of contents for a template.
func (w *Worker) format(t *template) jinja.Format {
	switch w.r.profile.ContentFormat {
	case ContentString:
		return jinja.FormatString
	case ContentParts:
		return jinja.FormatParts
	default:
		return t.format
	}
}

// variables are what the template sees, but for the messages.
func (w *Worker) variables(c *chat) (value.Value, Reason) {
	vars := w.mem.NewDict(24)
	for _, v := range w.r.special {
		w.mem.Set(vars, v.name, v.val)
	}
	w.mem.Set(vars, "tools", orNone(c.tools))
	w.mem.Set(vars, "documents", value.NewNone())
	if reason := w.addKwargs(vars, w.r.kwargs, func(value.Value) bool { return true }); reason != "" {
		return vars, reason
	}
	if reason := w.addKwargs(vars, c.kwargs, saysSomething); reason != "" {
		return vars, reason
	}
	if !absent(c.documents) {
		w.mem.Set(vars, "documents", c.documents)
	}
	if !absent(c.effort) {
		w.mem.Set(vars, "reasoning_effort", c.effort)
	}
	if c.enableThinking.Kind() != value.Undefined {
		w.mem.Set(vars, "enable_thinking", c.enableThinking)
	}
	w.mem.Set(vars, "add_generation_prompt", value.NewBool(c.generation))
	return vars, ""
}

// saysSomething reports whether a request's kwarg goes before the engine's own: in
// vLLM's merge_kwargs null and "auto" do not.
func saysSomething(v value.Value) bool { return v.Kind() != value.None && !isText(v, "auto") }

// addKwargs adds those entries of a Dict of template kwargs that are wanted.
func (w *Worker) addKwargs(vars, kwargs value.Value, wanted func(value.Value) bool) Reason {
	for i := range kwargs.Len() {
		key, v := kwargs.Entry(i)
		if !wanted(v) {
			continue
		}
		switch string(key) {
		case "messages", "conversation", "conversations", "model_config", "tokenizer":
			return ReasonBadRequest // given twice
		case "tools", "tokenize", "chat_template", "return_dict", "padding", "truncation", "max_length",
			"return_tensors", "return_assistant_tokens_mask", "tokenizer_kwargs":
			return ReasonField // arguments of apply_chat_template, not of the template
		case "range", "dict", "lipsum", "cycler", "joiner", "namespace",
			"add_generation_prompt", "continue_final_message":
			continue // the template has its own
		case "documents":
			if !validDocuments(v) { // a Dict each
				return ReasonBadRequest
			}
		}
		w.mem.SetValue(vars, kwargs.EntryKey(i), v)
	}
	return ""
}

// apply renders messages, with the last of them left open if that is asked for.
func (w *Worker) apply(dst []byte, t *template, c *chat, vars, messages value.Value) ([]byte, Reason) {
	if !c.continueFinal {
		return w.execute(dst, t, vars, messages)
	}
	if c.generation || !t.content {
		return dst, ReasonBadRequest
	}
	final, tagged, ok := w.tagFinal(messages)
	if !ok {
		return dst, ReasonBadRequest
	}
	dst, reason := w.execute(dst, t, vars, tagged)
	if reason != "" {
		return dst, reason
	}
	return cutFinal(dst, final)
}

func (w *Worker) execute(dst []byte, t *template, vars, messages value.Value) ([]byte, Reason) {
	w.mem.Set(vars, "messages", messages)
	out, err := w.env.Render(dst, t.compiled, vars)
	if err != nil {
		return dst, renderReason(err)
	}
	return out, ""
}

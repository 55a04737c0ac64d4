package chattemplate

import (
	"bytes"

	"penstock/routing/chattemplate/value"
)

// Releases of SGLang between which prompts differ; read in 0.5.6, 0.5.10, 0.5.14,
// 0.5.18, 0.5.20, 0.5.22 and 0.5.23.
func sglangFirst() version     { return version{0, 5, 6} }  // that is known
func sglangUnsure() version    { return version{0, 5, 11} } // tools of this one are not known,
func sglangDeferring() version { return version{0, 5, 14} } // of this one they are
func sglangEffort() version    { return version{0, 5, 18} } // reasoning efforts switch thinking
func sglangNative() version    { return version{0, 5, 22} } // DeepSeek V3.2's encoder is known
func sglangOrdered() version   { return version{0, 5, 23} } // tools keep the client's key order

// sglang renders as SGLang does.
func (w *Worker) sglang(kind Kind, body value.Value) Reason {
	if w.r.version.before(sglangFirst()) {
		return ReasonEngine
	}
	if reason := w.sglangCommon(body); reason != "" {
		return reason
	}
	switch kind {
	case KindChat:
		return w.sglangChat(body)
	case KindCompletions:
		return w.sglangCompletion(body)
	case KindGenerate:
		return w.sglangGenerate(body)
	case KindResponses, KindMessages:
		return ReasonEngine
	default:
		return ReasonKind
	}
}

// sglangCommon reads what decides in whose cache a prompt is looked up: the adapter,
// and salt and extra key.
func (w *Worker) sglangCommon(body value.Value) Reason {
	if !absent(body.Get("session_params")) {
		return ReasonStoredState
	}
	adapter := body.Get("lora_path")
	if _, name, found := bytes.Cut(body.Get("model").Bytes(), []byte(":")); found && len(name) > 0 {
		adapter = value.NewString(name)
	}
	switch adapter.Kind() {
	case value.Undefined, value.None:
	case value.String:
		w.prompt.Adapter = string(adapter.Bytes())
	default:
		return ReasonBatch // one for each prompt
	}
	for _, key := range [...]string{"cache_salt", "extra_key"} {
		switch v := body.Get(key); v.Kind() {
		case value.Undefined, value.None:
		case value.String:
			w.prompt.Salt = append(append(w.prompt.Salt, v.Bytes()...), 0)
		default:
			return ReasonBatch
		}
	}
	return ""
}

// sglangCompletion adds the tokenizer's special tokens to text, as all of SGLang does
// outside of templates.
func (w *Worker) sglangCompletion(body value.Value) Reason {
	if s := body.Get("suffix"); !absent(s) && s.Truth() {
		return ReasonField
	}
	return w.firstPrompt(body.Get("prompt"), true)
}

// sglangGenerate follows the native /generate.
func (w *Worker) sglangGenerate(body value.Value) Reason {
	for _, key := range [...]string{"image_data", "video_data", "audio_data", "input_embeds"} {
		if !absent(body.Get(key)) {
			return ReasonMultimodal
		}
	}
	text, ids := body.Get("text"), body.Get("input_ids")
	switch {
	case absent(text) == absent(ids):
		return ReasonBadRequest
	case absent(text):
		if ids.Kind() != value.List {
			return ReasonBadRequest
		}
		return w.firstPrompt(ids, true)
	default:
		return w.firstPrompt(text, true)
	}
}

// sglangChat follows OpenAIServingChat of SGLang.
func (w *Worker) sglangChat(body value.Value) Reason {
	messages := body.Get("messages")
	if messages.Kind() != value.List || messages.Len() == 0 {
		return ReasonBadRequest
	}
	if ids := body.Get("input_ids"); !absent(ids) {
		if ids.Kind() != value.List {
			return ReasonBadRequest
		}
		return w.addIDs(ids)
	}
	next, ok := laxBool(body.Get("continue_final_message"), false)
	if !ok {
		return ReasonBadRequest
	}
	tools, reason := w.sglangChosenTools(body, messages)
	if reason != "" {
		return reason
	}
	switch w.r.encoder {
	case encodeTemplate:
	case encodeDeepSeekV32:
		return w.sglangDeepSeek(body, tools, messages, next)
	default:
		return ReasonEncoder
	}
	t := w.r.templates.choose(tools.Kind() != value.None)
	if reason := w.usable(t); reason != "" {
		return reason
	}
	vars, reason := w.sglangVariables(body, t)
	if reason != "" {
		return reason
	}
	parts := w.sglangParts(t)
	conversation, reason := w.sglangMessages(messages, parts)
	if reason != "" {
		return reason
	}
	conversation, prefix := w.lastAssistant(conversation, next)
	w.mem.Set(vars, "tools", tools)
	if len(w.media) > 0 {
		if !parts {
			return ReasonMultimodal
		}
		return w.beforeMedia(t, &chat{addSpecial: w.r.multimodal}, vars, conversation, parts)
	}
	return w.sglangRender(t, vars, tools, conversation, prefix)
}

// sglangRender renders, a second time with bare functions when the template raises.
// What a continued message has so far follows in a piece of its own.
func (w *Worker) sglangRender(t *template, vars, tools, messages value.Value, prefix []byte) Reason {
	text, reason := w.execute(w.text[:0], t, vars, messages)
	if reason == ReasonTemplateError {
		if tools.Kind() == value.List {
			bare := w.mem.NewList(tools.Len())
			for _, tool := range tools.Items() {
				w.mem.Add(bare, tool.Get("function"))
			}
			w.mem.Set(vars, "tools", bare)
		}
		text, reason = w.execute(w.text[:0], t, vars, messages)
	}
	if w.text = text; reason != "" {
		return reason
	}
	w.addText(w.text, w.r.multimodal)
	if reason := w.beforeClock(t, &chat{}, vars, messages); reason != "" {
		return reason
	}
	if len(prefix) > 0 {
		w.addText(prefix, false)
	}
	return ""
}

// lastAssistant takes the text of a last message that is an assistant's: it is
// continued, or else becomes a user's.
func (w *Worker) lastAssistant(messages value.Value, next bool) (rest value.Value, prefix []byte) {
	items := messages.Items()
	if len(items) == 0 {
		return messages, nil
	}
	last := items[len(items)-1]
	content := last.Get("content")
	if !isText(last.Get("role"), "assistant") || content.Kind() != value.String {
		return messages, nil
	}
	if next {
		rest = w.mem.NewList(len(items) - 1)
		for _, m := range items[:len(items)-1] {
			w.mem.Add(rest, m)
		}
		return rest, content.Bytes()
	}
	rest = w.mem.Clone(messages)
	rest.Items()[len(items)-1] = w.message("user", content)
	return rest, nil
}

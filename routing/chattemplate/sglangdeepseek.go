package chattemplate

import (
	"errors"

	"penstock/routing/chattemplate/deepseek"
	"penstock/routing/chattemplate/value"
)

// sglangDeepSeek renders with DeepSeek V3.2's encoder as SGLang does: a system message
// always comes first and has the tools, and the tokenizer adds its special tokens.
func (w *Worker) sglangDeepSeek(body, tools, messages value.Value, next bool) Reason {
	if w.r.version.before(sglangNative()) {
		return ReasonEncoder
	}
	if body.Get("tool_choice").Kind() == value.Dict {
		return ReasonField // all tools are shown, but only if the chosen one is there
	}
	vars, reason := w.sglangVariables(body, nil)
	if reason != "" {
		return reason
	}
	conversation, reason := w.sglangMessages(messages, false)
	if reason != "" {
		return reason
	}
	if len(w.media) > 0 {
		return ReasonMultimodal
	}
	conversation, prefix := w.lastAssistant(conversation, next)
	if conversation.Len() == 0 {
		return ReasonBadRequest
	}
	if first := conversation.Index(0); !isText(first.Get("role"), "system") {
		conversation = w.prepended(w.message("system", value.NewString(nil)), conversation)
	}
	if tools.Kind() == value.List {
		conversation = w.mem.Clone(conversation)
		first := w.mem.Clone(conversation.Index(0))
		w.mem.Set(first, "tools", tools)
		conversation.Items()[0] = first
	}
	w.deepseek.Memory = w.mem
	o := deepseek.Options{Tools: value.NewNone(), Thinking: vars.Get("thinking").Truth(), DropThinking: true}
	var err error
	w.text, err = w.deepseek.AppendV32(w.text[:0], conversation, &o)
	switch {
	case errors.Is(err, deepseek.ErrRefused):
		return ReasonBadRequest
	case err != nil:
		return ReasonField
	}
	w.addText(w.text, true)
	if len(prefix) > 0 {
		w.addText(prefix, false)
	}
	return ""
}

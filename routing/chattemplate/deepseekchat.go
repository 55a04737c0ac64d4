package chattemplate

import (
	"errors"

	"penstock/routing/chattemplate/deepseek"
	"penstock/routing/chattemplate/value"
)

// deepseekChat renders for the models whose renderer in vLLM is DeepSeek's encoder.
func (w *Worker) deepseekChat(c *chat) Reason {
	v4 := w.r.encoder == encodeDeepSeekV4
	messages, reason := w.conversation(c.messages, v4)
	if reason != "" {
		return reason
	}
	if len(w.media) > 0 {
		return ReasonMultimodal
	}
	vars, reason := w.variables(c)
	if reason != "" {
		return reason
	}
	w.deepseek.Memory = w.mem
	o := deepseek.Options{Tools: c.tools, Thinking: vars.Get("thinking").Truth() || vars.Get("enable_thinking").Truth()}
	var err error
	if v4 {
		deepseekV4(&o, vars)
		w.text, err = w.deepseek.AppendV4(w.text[:0], messages, &o)
	} else {
		w.text, err = w.deepseek.AppendV32(w.text[:0], messages, &o)
	}
	switch {
	case errors.Is(err, deepseek.ErrRefused):
		return ReasonBadRequest
	case err != nil:
		return ReasonField
	}
	w.addText(w.text, c.addSpecial)
	return ""
}

// deepseekV4 sets the options of V4, which thinks unless it is told not to.
func deepseekV4(o *deepseek.Options, vars value.Value) {
	if !vars.Has("thinking") && !vars.Has("enable_thinking") {
		o.Thinking = true
	}
	if v := vars.Get("drop_thinking"); v.Kind() != value.Undefined {
		o.KeepThinking = !v.Truth()
	}
	effort := vars.Get("reasoning_effort")
	if effort.Kind() != value.String {
		o.Effort = "high"
		return
	}
	switch string(effort.Bytes()) {
	case "none":
		o.Thinking = false
	case "max":
		o.Effort = "max"
	case "low", "minimal", "medium":
		o.Effort = "low"
	default:
		o.Effort = "high"
	}
}

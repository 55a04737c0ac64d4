package chattemplate

import "penstock/routing/chattemplate/value"

// vllmCompletion follows vLLM's CompletionRequest and prompt bodies of /tokenize.
func (w *Worker) vllmCompletion(body value.Value) Reason {
	if reason := w.commonFields(body); reason != "" {
		return reason
	}
	if embeds := body.Get("prompt_embeds"); !absent(embeds) && (embeds.Kind() != value.List || embeds.Len() > 0) {
		return ReasonMultimodal
	}
	addSpecial, ok := laxBool(body.Get("add_special_tokens"), true)
	if !ok {
		return ReasonBadRequest
	}
	prompt := body.Get("prompt")
	if suffix := body.Get("suffix"); !absent(suffix) {
		return w.infill(prompt, suffix, addSpecial)
	}
	return w.firstPrompt(prompt, addSpecial)
}

// infill is a completion between a prompt and a suffix, for the models whose
// renderer has it.
func (w *Worker) infill(prompt, suffix value.Value, addSpecial bool) Reason {
	if suffix.Kind() != value.String {
		return ReasonBadRequest
	}
	if w.r.encoder != encodeDeepSeekV4 {
		return ReasonField // mistral-common has one too
	}
	if prompt.Kind() != value.String {
		return ReasonBatch
	}
	w.text = append(w.text[:0], "<｜fim▁begin｜>"...)
	w.text = append(w.text, prompt.Bytes()...)
	w.text = append(w.text, "<｜fim▁hole｜>"...)
	w.text = append(w.text, suffix.Bytes()...)
	w.text = append(w.text, "<｜fim▁end｜>"...)
	w.addText(w.text, addSpecial)
	return ""
}

// firstPrompt adds the first of the prompts: text, texts, ids, or lists of ids.
func (w *Worker) firstPrompt(prompt value.Value, addSpecial bool) Reason {
	switch prompt.Kind() {
	case value.String:
		if len(prompt.Bytes()) == 0 {
			return ReasonBadRequest
		}
		w.addText(prompt.Bytes(), addSpecial)
		return ""
	case value.List:
	default:
		return ReasonBadRequest
	}
	if prompt.Len() == 0 {
		return ReasonBadRequest
	}
	first := prompt.Index(0)
	if first.Kind() == value.Int {
		return w.addIDs(prompt)
	}
	w.prompt.Prompts = prompt.Len()
	for _, p := range prompt.Items() {
		if p.Kind() != first.Kind() {
			return ReasonBadRequest
		}
	}
	switch first.Kind() {
	case value.String:
		w.addText(first.Bytes(), addSpecial)
		return ""
	case value.List:
		return w.addIDs(first)
	default:
		return ReasonBadRequest
	}
}

// vllmTokens follows vLLM's /inference/v1/generate.
func (w *Worker) vllmTokens(body value.Value) Reason {
	if reason := w.commonFields(body); reason != "" {
		return reason
	}
	if !absent(body.Get("features")) {
		return ReasonMultimodal
	}
	ids := body.Get("token_ids")
	if ids.Kind() != value.List {
		return ReasonBadRequest
	}
	return w.addIDs(ids)
}

package chattemplate

import (
	"penstock/routing/chattemplate/value"
)

// chat is a chat request after its API has been left behind.
type chat struct {
	messages value.Value // a List as the client wrote it
	tools    value.Value // a List as the template sees it, or None
	// kwargs are the request's template kwargs, a Dict or None; named ones go before.
	kwargs         value.Value
	documents      value.Value // a List, or None
	effort         value.Value // a String, or None
	continueFinal  bool
	generation     bool // add_generation_prompt
	addSpecial     bool // add_special_tokens
	enableThinking value.Value
}

// vllmChat follows vLLM 0.32's ChatCompletionRequest and OnlineRenderer.render_chat.
func (w *Worker) vllmChat(body value.Value) Reason {
	var c chat
	if reason := w.readChat(body, &c); reason != "" {
		return reason
	}
	if reused, reason := w.reusedIDs(body, c.messages); reused || reason != "" {
		return reason
	}
	if w.r.encoder == encodeHarmony {
		return w.harmonyChat(&c)
	}
	if reason := w.requestTemplate(body); reason != "" {
		return reason
	}
	return w.renderChat(&c)
}

// readChat reads the fields of a chat request that change its prompt.
func (w *Worker) readChat(body value.Value, c *chat) Reason {
	c.messages = body.Get("messages")
	if c.messages.Kind() != value.List {
		return ReasonBadRequest
	}
	if reason := w.commonFields(body); reason != "" {
		return reason
	}
	var ok [3]bool
	c.generation, ok[0] = laxBool(body.Get("add_generation_prompt"), true)
	c.continueFinal, ok[1] = laxBool(body.Get("continue_final_message"), false)
	c.addSpecial, ok[2] = laxBool(body.Get("add_special_tokens"), false)
	if !ok[0] || !ok[1] || !ok[2] {
		return ReasonBadRequest
	}
	c.kwargs, c.documents, c.effort = body.Get("chat_template_kwargs"), body.Get("documents"), body.Get("reasoning_effort")
	if !absent(c.kwargs) && c.kwargs.Kind() != value.Dict || !validDocuments(c.documents) || !validEffort(c.effort) {
		return ReasonBadRequest
	}
	tools := body.Get("tools")
	if tools.Kind() == value.List && tools.Len() == 0 {
		return ReasonBadRequest
	}
	projected, reason := w.vllmTools(tools)
	if reason != "" {
		return reason
	}
	c.tools = projected
	if w.r.profile.ExcludeToolsWhenNone && isText(body.Get("tool_choice"), "none") {
		c.tools = value.NewNone()
	}
	w.readThinking(c)
	return ""
}

// readThinking sets enable_thinking from the reasoning effort, unless the request
// says something itself.
func (w *Worker) readThinking(c *chat) {
	if !absent(c.effort) && !c.kwargs.Has("enable_thinking") {
		c.enableThinking = value.NewBool(!isText(c.effort, "none"))
	}
}

// commonFields reads what chats and completions share.
func (w *Worker) commonFields(body value.Value) Reason {
	if !absent(body.Get("truncate_prompt_tokens")) {
		return ReasonTruncated
	}
	return w.readSalt(body)
}

func (w *Worker) readSalt(body value.Value) Reason {
	salt := body.Get("cache_salt")
	if absent(salt) {
		return ""
	}
	if salt.Kind() != value.String || len(salt.Bytes()) == 0 {
		return ReasonBadRequest
	}
	w.prompt.Salt = salt.Bytes()
	return ""
}

func validDocuments(v value.Value) bool {
	if absent(v) {
		return true
	}
	if v.Kind() != value.List {
		return false
	}
	for _, d := range v.Items() {
		if d.Kind() != value.Dict {
			return false
		}
		for i := range d.Len() {
			if d.EntryValue(i).Kind() != value.String {
				return false
			}
		}
	}
	return true
}

func validEffort(v value.Value) bool {
	if absent(v) {
		return true
	}
	switch string(v.Bytes()) {
	case "none", "minimal", "low", "medium", "high", "xhigh", "max":
		return v.Kind() == value.String
	default:
		return false
	}
}

// requestTemplate refuses requests that bring a template: vLLM does too, unless told
// to trust them.
func (w *Worker) requestTemplate(body value.Value) Reason {
	own := body.Get("chat_template")
	switch {
	case absent(own):
		return w.kwargsTemplate(body.Get("chat_template_kwargs"))
	case !w.r.profile.TrustRequestTemplate || own.Kind() != value.String:
		return ReasonBadRequest
	case len(own.Bytes()) == 0: // is none
		return w.kwargsTemplate(body.Get("chat_template_kwargs"))
	default:
		return ReasonRequestTemplate
	}
}

// kwargsTemplate refuses a template among the kwargs.
func (w *Worker) kwargsTemplate(kwargs value.Value) Reason {
	switch {
	case absent(kwargs.Get("chat_template")):
		return ""
	case w.r.profile.TrustRequestTemplate:
		return ReasonRequestTemplate
	default:
		return ReasonBadRequest
	}
}

// reusedIDs takes ids that an earlier stage made, from kv_transfer_params; vLLM
// ignores them when it must render.
func (w *Worker) reusedIDs(body, messages value.Value) (reused bool, reason Reason) {
	ids := body.Get("kv_transfer_params").Get("prompt_token_ids")
	if absent(ids) {
		return false, ""
	}
	echo, ok := laxBool(body.Get("echo"), false)
	if !ok {
		return false, ReasonBadRequest
	}
	if echo || hasMedia(messages) {
		return false, ""
	}
	if ids.Kind() != value.List || ids.Len() == 0 {
		return false, ReasonBadRequest
	}
	return true, w.addIDs(ids)
}

// addIDs adds ids to the prompt.
func (w *Worker) addIDs(list value.Value) Reason {
	start := len(w.ids)
	var ok bool
	if w.ids, ok = appendIDs(w.ids, list); !ok {
		return ReasonBadRequest
	}
	w.parts = append(w.parts, Part{IDs: w.ids[start:]})
	return ""
}

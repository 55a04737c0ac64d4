package chattemplate

// Encoder names who makes the prompts of chats: "template", "harmony",
// "deepseek_v32", "deepseek_v4", or "other", one that is not built here.
func (r *Renderer) Encoder() string {
	switch r.encoder {
	case encodeTemplate:
		return "template"
	case encodeHarmony:
		return "harmony"
	case encodeDeepSeekV32:
		return "deepseek_v32"
	case encodeDeepSeekV4:
		return "deepseek_v4"
	case encodeOther:
	}
	return "other"
}

// Native reports whether chats are made by code instead of a template. Routes of an
// engine that know only templates then speak of other prompts than its chat API:
// vLLM's /tokenize does so for gpt-oss.
func (r *Renderer) Native() bool { return r.encoder != encodeTemplate }

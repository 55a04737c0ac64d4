package enginesim

import (
	"strconv"
	"strings"
)

// trtllmWire writes as trtllm-serve does. Its shapes are a reading of public
// code, not compared with a running server.
type trtllmWire struct{}

var _ wire = trtllmWire{}

func (trtllmWire) finishApart() bool { return false }

func (trtllmWire) errorBody(b []byte, _ string, e apiError) []byte {
	if e.kind == kindSchema {
		return newObject(b).str("error", e.message).end()
	}
	kind := "BadRequestError"
	switch e.kind {
	case kindNotFound:
		kind = "NotFoundError"
	case kindOverloaded, kindInternal:
		kind = "InternalServerError"
	case kindBadRequest, kindSchema:
	}
	return newObject(b).str("object", "error").str("message", e.message).str("type", kind).
		nullable("param", e.param).int("code", e.status).end()
}

func (w trtllmWire) errorEvent(b []byte, path string, e apiError) []byte {
	return appendEvent(b, func(b []byte) []byte {
		if e.kind == kindSchema {
			e.kind = kindBadRequest // events never carry the schema shape
		}
		return newObject(b).nested("error", func(b []byte) []byte { return w.errorBody(b, path, e) }).end()
	})
}

func (trtllmWire) usage(b []byte, u usage) []byte {
	b = appendUsage(append(b, '{'), u)
	b = append(b, `,"prompt_tokens_details":{"cached_tokens":`...)
	b = strconv.AppendInt(b, int64(u.cached), 10)
	return append(b, "}}"...)
}

func (w trtllmWire) chatBody(b []byte, h *head, cs []choice, u usage) []byte {
	return w.body(b, h, "chat.completion", cs, u, func(o *object, c *choice) {
		o.nested("message", func(b []byte) []byte {
			return newObject(b).str("role", "assistant").str("content", c.text).
				nulls("reasoning_content", "reasoning").raw("tool_calls", "[]").end()
		})
	})
}

func (w trtllmWire) completionBody(b []byte, h *head, cs []choice, u usage) []byte {
	return w.body(b, h, "text_completion", cs, u, func(o *object, c *choice) {
		o.str("text", c.text).nulls("token_ids")
	})
}

func (w trtllmWire) body(b []byte, h *head, kind string, cs []choice, u usage, text func(*object, *choice)) []byte {
	o := &object{appendHead(b, h, kind)}
	o.nested("choices", func(b []byte) []byte {
		b = append(b, '[')
		for i := range cs {
			if i > 0 {
				b = append(b, ',')
			}
			c := newObject(b).int("index", cs[i].index)
			text(c, &cs[i])
			b = c.nulls("logprobs", "context_logits").str("finish_reason", cs[i].finish).
				nullable("stop_reason", cs[i].stopped).nulls("disaggregated_params", "avg_decoded_tokens_per_iter").end()
		}
		return append(b, ']')
	})
	return o.nested("usage", func(b []byte) []byte { return w.usage(b, u) }).nulls("prompt_token_ids").end()
}

func (w trtllmWire) chatEvent(b []byte, h *head, d *delta) []byte {
	return w.event(b, h, "chat.completion.chunk", d, func(b []byte) []byte {
		if d.role {
			return append(b, `"delta":{"role":"assistant","content":"","reasoning_content":null,"reasoning":null,"tool_calls":[]}`...)
		}
		b = append(b, `"delta":{"role":null,"content":`...)
		b = appendString(b, d.text)
		return append(b, `,"reasoning_content":null,"reasoning":null,"tool_calls":[]}`...)
	})
}

func (w trtllmWire) completionEvent(b []byte, h *head, d *delta) []byte {
	return w.event(b, h, "text_completion", d, func(b []byte) []byte {
		b = append(b, `"text":`...)
		b = appendString(b, d.text)
		return append(b, `,"token_ids":null`...)
	})
}

func (w trtllmWire) event(b []byte, h *head, kind string, d *delta, text func([]byte) []byte) []byte {
	b = append(b, "data: "...)
	b = appendHead(b, h, kind)
	b = append(b, `,"choices":[`...)
	if !d.tail {
		b = append(b, `{"index":`...)
		b = strconv.AppendInt(b, int64(d.choice), 10)
		b = text(append(b, ','))
		b = append(b, `,"logprobs":null,"finish_reason":`...)
		b = appendNullable(b, d.finish)
		b = appendStopped(b, "stop_reason", d.stopped)
		b = append(b, `,"disaggregated_params":null}`...)
	}
	b = append(b, `],"usage":`...)
	if d.usage == nil {
		return append(b, "null}\n\n"...)
	}
	return append(w.usage(b, *d.usage), "}\n\n"...)
}

// trtllmFields are the fields that each route knows; any other is an error.
var trtllmFields = map[string][]string{
	"/v1/chat/completions": strings.Fields("messages " + trtllmCommon + ` logprobs top_logprobs max_completion_tokens
		tools tool_choice parallel_tool_calls reasoning_effort add_generation_prompt documents chat_template
		chat_template_kwargs mm_processor_kwargs media_io_kwargs prompt_token_ids conversation_params agent_hierarchy
		add_special_tokens echo include_reasoning continue_final_message`),
	"/v1/completions": strings.Fields("prompt " + trtllmCommon + ` logprobs echo suffix best_of
		add_special_tokens return_context_logits conversation_params`),
}

const trtllmCommon = `model stream stream_options max_tokens n seed stop temperature top_p top_k min_p
	frequency_penalty presence_penalty repetition_penalty logit_bias user use_beam_search length_penalty
	early_stopping stop_token_ids include_stop_str_in_output ignore_eos min_tokens skip_special_tokens
	spaces_between_special_tokens truncate_prompt_tokens top_p_min prompt_ignore_length detokenize
	response_format lora_request llm_params disaggregated_params cache_salt priority bad guided_decoding
	service_tier store metadata thinking_token_budget return_token_ids prompt_logprobs`

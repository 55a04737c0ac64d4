package enginesim

import (
	"net/http"
	"strconv"
	"strings"
)

// vllmWire writes as vLLM's Python frontend does.
type vllmWire struct{ cacheReport bool }

var _ wire = vllmWire{}

// fingerprint stands on the event that ends a stream.
const fingerprint = "penstock-sim"

func (vllmWire) finishApart() bool { return false }

func (vllmWire) errorBody(b []byte, path string, e apiError) []byte {
	if strings.HasPrefix(path, "/v1/messages") {
		return anthropicError(b, e)
	}
	kind := "BadRequestError"
	switch e.kind {
	case kindSchema:
		kind = "Bad Request"
	case kindNotFound:
		kind = "NotFoundError"
	case kindOverloaded:
		kind = "ServiceUnavailableError"
		if e.status == http.StatusTooManyRequests {
			kind = "TooManyRequestsError"
		}
	case kindInternal:
		kind = "InternalServerError"
	case kindBadRequest:
	}
	return newObject(b).nested("error", func(b []byte) []byte {
		return newObject(b).str("message", e.message).str("type", kind).nullable("param", e.param).int("code", e.status).end()
	}).end()
}

func (w vllmWire) errorEvent(b []byte, path string, e apiError) []byte {
	if strings.HasPrefix(path, "/v1/messages") {
		b = append(b, "event: error\n"...)
	}
	return appendEvent(b, func(b []byte) []byte { return w.errorBody(b, path, e) })
}

func (w vllmWire) usage(b []byte, u usage) []byte {
	b = appendUsage(append(b, '{'), u)
	if w.cacheReport {
		b = append(b, `,"prompt_tokens_details":{"cached_tokens":`...)
		b = strconv.AppendInt(b, int64(u.cached), 10)
		b = append(b, '}')
	}
	return append(b, '}')
}

// bodyUsage is usage in an answer in one piece, where nothing is left out.
func (w vllmWire) bodyUsage(b []byte, u usage) []byte {
	b = appendUsage(append(b, '{'), u)
	if w.cacheReport {
		b = append(b, `,"prompt_tokens_details":{"cached_tokens":`...)
		b = strconv.AppendInt(b, int64(u.cached), 10)
		b = append(b, `,"created_cache_tokens":null,"multimodal_tokens":null}`...)
	} else {
		b = append(b, `,"prompt_tokens_details":null`...)
	}
	return append(b, `,"completion_tokens_details":null}`...)
}

func (w vllmWire) chatBody(b []byte, h *head, cs []choice, u usage) []byte {
	o := &object{appendHead(b, h, "chat.completion")}
	o.nested("choices", func(b []byte) []byte {
		b = append(b, '[')
		for i := range cs {
			if i > 0 {
				b = append(b, ',')
			}
			b = vllmChatChoice(b, &cs[i])
		}
		return append(b, ']')
	})
	o.nulls("service_tier")
	o.str("system_fingerprint", fingerprint)
	o.nested("usage", func(b []byte) []byte { return w.bodyUsage(b, u) })
	o.nulls("prompt_logprobs")
	if h.promptIDs != nil {
		o.ids("prompt_token_ids", h.promptIDs)
	} else {
		o.nulls("prompt_token_ids")
	}
	return o.nulls("prompt_text", "kv_transfer_params", "ec_transfer_params", "metrics").end()
}

func vllmChatChoice(b []byte, c *choice) []byte {
	o := newObject(b).int("index", c.index).nested("message", func(b []byte) []byte {
		return newObject(b).str("role", "assistant").str("content", c.text).
			nulls("refusal", "annotations", "audio", "function_call", "reasoning").end()
	}).nulls("logprobs").str("finish_reason", c.finish).nullable("stop_reason", c.stopped)
	return o.idsOrNull("token_ids", c.ids).end()
}

func (w vllmWire) chatEvent(b []byte, h *head, d *delta) []byte {
	b = append(b, "data: "...)
	b = appendHead(b, h, "chat.completion.chunk")
	b = append(b, `,"choices":[`...)
	if !d.tail {
		b = append(b, `{"index":`...)
		b = strconv.AppendInt(b, int64(d.choice), 10)
		if d.role {
			b = append(b, `,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}`...)
		} else {
			b = append(b, `,"delta":{"content":`...)
			b = appendString(b, d.text)
			b = append(b, `},"logprobs":null,"finish_reason":`...)
			b = vllmFinish(b, d)
			b = vllmTokenIDs(b, h, d)
			b = append(b, '}')
		}
	}
	b = append(b, ']')
	if d.role {
		b = append(b, `,"prompt_token_ids":`...)
		if h.promptIDs != nil {
			b = appendIDs(b, h.promptIDs)
		} else {
			b = append(b, "null"...)
		}
		b = append(b, `,"prompt_text":null`...)
	}
	return append(w.eventEnd(b, d), "\n\n"...)
}

// vllmFinish writes the finish reason and, on the last event, the stop reason.
func vllmFinish(b []byte, d *delta) []byte {
	b = appendNullable(b, d.finish)
	if d.finish != "" {
		b = appendStopped(b, "stop_reason", d.stopped)
	}
	return b
}

func vllmTokenIDs(b []byte, h *head, d *delta) []byte {
	b = append(b, `,"token_ids":`...)
	if !h.wantIDs {
		return append(b, "null"...)
	}
	b = append(b, '[')
	b = strconv.AppendUint(b, uint64(d.id), 10)
	return append(b, ']')
}

func (w vllmWire) eventEnd(b []byte, d *delta) []byte {
	if d.usage != nil {
		b = append(b, `,"usage":`...)
		b = w.usage(b, *d.usage)
	}
	if d.final {
		b = append(b, `,"system_fingerprint":"`+fingerprint+`"`...)
	}
	return append(b, '}')
}

func (w vllmWire) completionBody(b []byte, h *head, cs []choice, u usage) []byte {
	o := &object{appendHead(b, h, "text_completion")}
	o.nested("choices", func(b []byte) []byte {
		b = append(b, '[')
		for i := range cs {
			if i > 0 {
				b = append(b, ',')
			}
			c := &cs[i]
			b = newObject(b).int("index", c.index).str("text", c.text).nulls("logprobs").
				str("finish_reason", c.finish).nullable("stop_reason", c.stopped).idsOrNull("token_ids", c.ids).
				nulls("prompt_logprobs").idsOrNull("prompt_token_ids", c.promptIDs).end()
		}
		return append(b, ']')
	})
	o.nulls("service_tier").str("system_fingerprint", fingerprint)
	o.nested("usage", func(b []byte) []byte { return w.bodyUsage(b, u) })
	return o.nulls("kv_transfer_params", "ec_transfer_params", "metrics").end()
}

func (w vllmWire) completionEvent(b []byte, h *head, d *delta) []byte {
	b = append(b, "data: "...)
	b = appendHead(b, h, "text_completion")
	b = append(b, `,"choices":[`...)
	if !d.tail {
		b = append(b, `{"index":`...)
		b = strconv.AppendInt(b, int64(d.choice), 10)
		b = append(b, `,"text":`...)
		b = appendString(b, d.text)
		b = append(b, `,"logprobs":null,"finish_reason":`...)
		b = appendNullable(b, d.finish)
		b = appendStopped(b, "stop_reason", d.stopped)
		b = append(b, `,"prompt_token_ids":`...)
		if d.first && h.promptIDs != nil {
			b = appendIDs(b, h.promptIDs)
		} else {
			b = append(b, "null"...)
		}
		b = vllmTokenIDs(b, h, d)
		b = append(b, '}')
	}
	return append(w.eventEnd(append(b, ']'), d), "\n\n"...)
}

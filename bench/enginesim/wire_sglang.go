package enginesim

import (
	"net/http"
	"strconv"
	"strings"
)

// sglangWire writes as SGLang does.
type sglangWire struct{ cacheReport bool }

var _ wire = sglangWire{}

func (sglangWire) finishApart() bool { return true }

func (w sglangWire) errorBody(b []byte, path string, e apiError) []byte {
	switch {
	case strings.HasPrefix(path, "/v1/messages"):
		return anthropicError(b, e)
	case strings.HasPrefix(path, "/v1/responses"):
		return newObject(b).nested("error", func(b []byte) []byte {
			return newObject(b).str("message", e.message).str("type", http.StatusText(e.status)).
				nullable("param", e.param).int("code", e.status).end()
		}).end()
	case path == "/generate":
		return newObject(b).nested("error", func(b []byte) []byte {
			return newObject(b).str("message", e.message).end()
		}).end()
	}
	return w.flat(b, e, w.kind(e))
}

func (sglangWire) kind(e apiError) string {
	switch e.kind {
	case kindSchema:
		return http.StatusText(e.status)
	case kindNotFound:
		return "NotFoundError"
	case kindOverloaded:
		return strconv.Itoa(e.status) // an HTTPException: its status as text
	case kindInternal:
		return "InternalServerError"
	case kindBadRequest:
	}
	return "BadRequestError"
}

func (sglangWire) flat(b []byte, e apiError, kind string) []byte {
	return newObject(b).str("object", "error").str("message", e.message).str("type", kind).
		nullable("param", e.param).int("code", e.status).end()
}

// errorEvent nests what errorBody has flat, and names the type by the status.
func (w sglangWire) errorEvent(b []byte, path string, e apiError) []byte {
	if strings.HasPrefix(path, "/v1/messages") {
		return appendEvent(append(b, "event: error\n"...), func(b []byte) []byte { return anthropicError(b, e) })
	}
	return appendEvent(b, func(b []byte) []byte {
		return newObject(b).nested("error", func(b []byte) []byte {
			if path == "/generate" {
				return newObject(b).str("message", e.message).str("type", "invalid_request_error").
					int("code", e.status).raw("retryable", "false").end()
			}
			return w.flat(b, e, statusName(e.status))
		}).end()
	})
}

func (w sglangWire) usage(b []byte, u usage) []byte {
	b = appendUsage(append(b, '{'), u)
	b = append(b, `,"prompt_tokens_details":`...)
	if w.cacheReport {
		b = append(b, `{"cached_tokens":`...)
		b = strconv.AppendInt(b, int64(u.cached), 10)
		b = append(b, '}')
	} else {
		b = append(b, "null"...)
	}
	return append(b, `,"reasoning_tokens":0,"completion_tokens_details":null}`...)
}

func (w sglangWire) chatBody(b []byte, h *head, cs []choice, u usage) []byte {
	o := &object{appendHead(b, h, "chat.completion")}
	o.nested("choices", func(b []byte) []byte {
		b = append(b, '[')
		for i := range cs {
			if i > 0 {
				b = append(b, ',')
			}
			c := &cs[i]
			o := newObject(b).int("index", c.index).nested("message", func(b []byte) []byte {
				return newObject(b).str("role", "assistant").str("content", c.text).nulls("reasoning_content").end()
			}).nulls("logprobs").str("finish_reason", c.finish).nullable("matched_stop", c.stopped)
			if c.ids != nil {
				o.ids("prompt_token_ids", c.promptIDs).ids("response_token_ids", c.ids)
			}
			b = o.end()
		}
		return append(b, ']')
	})
	return o.nested("usage", func(b []byte) []byte { return w.usage(b, u) }).raw("metadata", `{"weight_version":"default"}`).end()
}

func (w sglangWire) chatEvent(b []byte, h *head, d *delta) []byte {
	b = append(b, "data: "...)
	b = appendHead(b, h, "chat.completion.chunk")
	if d.tail { // from a model that keeps its nulls; the others come from one that does not
		b = append(b, `,"choices":[],"usage":`...)
		b = w.usage(b, *d.usage)
		return append(b, "}\n\n"...)
	}
	b = append(b, `,"choices":[{"index":`...)
	b = strconv.AppendInt(b, int64(d.choice), 10)
	b = append(b, `,"delta":{"reasoning_content":null`...)
	switch {
	case d.role:
		b = append(b, `,"role":"assistant","content":""`...)
	case !d.last:
		b = append(b, `,"content":`...)
		b = appendString(b, d.text)
	}
	b = append(b, `},"logprobs":null,"finish_reason":`...)
	b = appendNullable(b, d.finish)
	b = appendStopped(b, "matched_stop", d.stopped)
	b = append(b, "}]"...)
	if d.usage != nil {
		b = append(b, `,"usage":`...)
		b = w.usage(b, *d.usage)
	}
	return append(b, "}\n\n"...)
}

func (w sglangWire) completionBody(b []byte, h *head, cs []choice, u usage) []byte {
	o := &object{appendHead(b, h, "text_completion")}
	o.nested("choices", func(b []byte) []byte {
		b = append(b, '[')
		for i := range cs {
			if i > 0 {
				b = append(b, ',')
			}
			c := &cs[i]
			o := newObject(b).int("index", c.index).str("text", c.text).nulls("logprobs").
				str("finish_reason", c.finish).nullable("matched_stop", c.stopped)
			if c.ids != nil {
				o.ids("token_ids", c.ids).ids("prompt_token_ids", c.promptIDs)
			}
			b = o.end()
		}
		return append(b, ']')
	})
	return o.nested("usage", func(b []byte) []byte { return w.usage(b, u) }).raw("metadata", `{"weight_version":"default"}`).end()
}

func (w sglangWire) completionEvent(b []byte, h *head, d *delta) []byte {
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
		b = appendStopped(b, "matched_stop", d.stopped)
		b = append(b, '}')
	}
	b = append(b, `],"usage":`...)
	if d.usage == nil {
		return append(b, "null}\n\n"...)
	}
	return append(w.usage(b, *d.usage), "}\n\n"...)
}

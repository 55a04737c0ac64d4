package enginesim

import "net/http"

// serveRenderChat answers with the request that /inference/v1/generate would
// take for a chat: template and tokenizer applied, nothing generated.
func serveRenderChat(x *exchange) error {
	q, err := x.begin()
	if err != nil {
		return err
	}
	if q.Messages == nil {
		return schemaError("messages", "Field required")
	}
	if _, err := x.s.adapter(q); err != nil {
		return err
	}
	x.status(http.StatusOK, x.rendered(nil, q, "chatcmpl-", q.chatTokens()))
	return nil
}

// serveRenderCompletion answers with one such request per prompt.
func serveRenderCompletion(x *exchange) error {
	q, err := x.begin()
	if err != nil {
		return err
	}
	prompts, err := promptList("prompt", q.Prompt)
	if err != nil {
		return err
	}
	if _, err := x.s.adapter(q); err != nil {
		return err
	}
	b := []byte{'['}
	for i, p := range prompts {
		if i > 0 {
			b = append(b, ',')
		}
		b = x.rendered(b, q, "cmpl-", p)
	}
	x.status(http.StatusOK, append(b, ']'))
	return nil
}

func (x *exchange) rendered(b []byte, q *apiRequest, prefix string, ids []uint32) []byte {
	o := newObject(b).str("request_id", x.head(q, prefix).id).ids("token_ids", ids).nulls("features").
		nested("sampling_params", func(b []byte) []byte {
			o := newObject(b)
			if l := q.limits(); l.max != nil {
				o.int("max_tokens", *l.max)
			}
			return o.end()
		}).str("model", x.s.cfg.Model)
	if q.Stream {
		o.raw("stream", "true")
	} else {
		o.raw("stream", "false")
	}
	o.nulls("stream_options")
	if q.CacheSalt != nil {
		o.str("cache_salt", *q.CacheSalt)
	} else {
		o.nulls("cache_salt")
	}
	return o.int("priority", 0).nulls("kv_transfer_params").end()
}

package enginesim

import (
	"errors"
	"net/http"
	"strconv"

	"penstock/bench/enginesim/core"
	"penstock/bench/enginesim/tokens"
)

// serveTokensIn is vLLM's /inference/v1/generate: token ids in, token ids out.
func serveTokensIn(x *exchange) error {
	q, err := x.begin()
	if err != nil {
		return err
	}
	if q.SamplingParams == nil {
		return schemaError("sampling_params", "Field required")
	}
	if len(q.TokenIDs) == 0 {
		return schemaError("token_ids", "List should have at least 1 item")
	}
	id := x.info.RequestID
	if id == "" {
		id = q.RequestID
	}
	if id == "" {
		id = x.s.newID()
	}
	x.info.ID = "generate-tokens-" + id
	if err := x.submit(q, [][]uint32{q.TokenIDs}); err != nil {
		return err
	}
	if q.Stream {
		return x.streamTokens(q, id)
	}
	choices, u, err := x.collect()
	if err != nil {
		return err
	}
	o := newObject(nil).str("request_id", id).str("model", x.s.cfg.Model).int("created", int(x.info.Received.Unix()))
	o.nested("choices", func(b []byte) []byte {
		b = append(b, '[')
		for i := range choices {
			if i > 0 {
				b = append(b, ',')
			}
			c := &choices[i]
			b = newObject(b).int("index", i).nulls("logprobs").str("finish_reason", c.finish).
				nullable("stop_reason", c.stopped).ids("token_ids", c.ids).end()
		}
		return append(b, ']')
	})
	o.nested("usage", func(b []byte) []byte { return x.s.wire.usage(b, u) })
	x.status(http.StatusOK, o.nulls("prompt_logprobs", "kv_transfer_params").end())
	return nil
}

func (x *exchange) streamTokens(q *apiRequest, id string) error {
	x.startStream()
	made := 0
	for {
		pieces, ended, aborted, err := x.next()
		if err != nil {
			return err
		}
		for _, p := range pieces {
			made++
			a := &x.job.answers[p.choice]
			if err := x.tokenEvent(id, p.choice, []uint32{a.writer.ID(p.index)}, p.finish); err != nil {
				return x.endTokens(err, id)
			}
		}
		if aborted {
			return x.endTokens(errAborted, id)
		}
		if ended {
			break
		}
	}
	if q.StreamOptions != nil && q.StreamOptions.IncludeUsage {
		u := x.usage(made)
		x.buf = appendEvent(x.buf[:0], func(b []byte) []byte {
			return newObject(b).str("request_id", id).raw("choices", "[]").
				nested("usage", func(b []byte) []byte { return x.s.wire.usage(b, u) }).end()
		})
		if err := x.event(x.buf); err != nil {
			return err
		}
	}
	return x.terminator(doneEvent)
}

func (x *exchange) endTokens(err error, id string) error {
	if !errors.Is(err, errAborted) {
		return err
	}
	x.abort()
	if err := x.tokenEvent(id, 0, []uint32{}, core.FinishAbort); err != nil {
		return err
	}
	return x.terminator(doneEvent)
}

func (x *exchange) tokenEvent(id string, choice int, ids []uint32, finish core.Finish) error {
	x.buf = appendEvent(x.buf[:0], func(b []byte) []byte {
		return newObject(b).str("request_id", id).nested("choices", func(b []byte) []byte {
			c := newObject(append(b, '[')).int("index", choice).nulls("logprobs").nullable("finish_reason", finish.String())
			return append(c.ids("token_ids", ids).end(), ']')
		}).nulls("usage").end()
	})
	return x.event(x.buf)
}

// serveTokenize answers /tokenize for a prompt or for messages.
func serveTokenize(x *exchange) error {
	q, err := x.begin()
	if err != nil {
		return err
	}
	var ids []uint32
	if q.Messages != nil {
		ids = q.chatTokens()
	} else {
		lists, err := promptList("prompt", q.Prompt)
		if err != nil {
			return err
		}
		ids = lists[0]
	}
	o := newObject(nil)
	if x.s.cfg.Dialect == SGLang {
		x.status(http.StatusOK, o.ids("tokens", ids).int("count", len(ids)).int("max_model_len", x.s.cfg.Engine.MaxModelLen).end())
		return nil
	}
	x.status(http.StatusOK, o.int("count", len(ids)).int("max_model_len", x.s.cfg.Engine.MaxModelLen).
		ids("tokens", ids).nulls("token_strs").end())
	return nil
}

func serveDetokenize(x *exchange) error {
	q, err := x.begin()
	if err != nil {
		return err
	}
	key := "prompt"
	if x.s.cfg.Dialect == SGLang {
		key = "text"
	}
	x.status(http.StatusOK, newObject(nil).str(key, tokens.Decode(q.Tokens)).end())
	return nil
}

// serveGenerate is SGLang's native /generate. Streamed text is cumulative.
func serveGenerate(x *exchange) error {
	q, err := x.begin()
	if err != nil {
		return err
	}
	raw, param := q.Text, "text"
	if isNull(raw) {
		raw, param = q.InputIDs, "input_ids"
	}
	prompts, err := promptList(param, raw)
	if err != nil {
		return err
	}
	if q.SamplingParams == nil {
		q.SamplingParams = new(samplingParams)
	}
	if q.SamplingParams.MaxTokens == nil && q.SamplingParams.MaxNewTokens == nil {
		most := 128 // default of its sampling parameters
		q.SamplingParams.MaxNewTokens = &most
	}
	x.info.ID = q.RID
	if x.info.ID == "" {
		x.info.ID = x.s.newID()
	}
	if err := x.submit(q, prompts); err != nil {
		return err
	}
	if q.Stream {
		return x.streamGenerate()
	}
	choices, _, err := x.collect()
	if err != nil {
		return err
	}
	list := raw[0] == '[' && len(choices) > 1
	var b []byte
	if list {
		b = append(b, '[')
	}
	for i := range choices {
		if i > 0 {
			b = append(b, ',')
		}
		b = x.generated(b, i, choices[i].text, choices[i].ids, choices[i].finish)
	}
	if list {
		b = append(b, ']')
	}
	x.status(http.StatusOK, b)
	return nil
}

func (x *exchange) streamGenerate() error {
	x.startStream() // the native route does not wait for the first token
	texts := make([][]byte, len(x.job.answers))
	ids := make([][]uint32, len(x.job.answers))
	send := func(i int, finish string) error {
		x.buf = append(x.buf[:0], "data: "...)
		x.buf = append(x.generated(x.buf, i, string(texts[i]), ids[i], finish), "\n\n"...)
		return x.event(x.buf)
	}
	for {
		pieces, ended, aborted, err := x.next()
		if err != nil {
			return err
		}
		for _, p := range pieces {
			a := &x.job.answers[p.choice]
			texts[p.choice] = append(texts[p.choice], a.text(p.index)...)
			ids[p.choice] = append(ids[p.choice], a.writer.ID(p.index))
			if err := send(p.choice, p.finish.String()); errors.Is(err, errAborted) {
				x.abort()
				aborted = true
				break
			} else if err != nil {
				return err
			}
		}
		if aborted {
			if err := send(0, core.FinishAbort.String()); err != nil {
				return err
			}
			return x.terminator(doneEvent)
		}
		if ended {
			return x.terminator(doneEvent)
		}
	}
}

// generated appends one object of /generate.
func (x *exchange) generated(b []byte, i int, text string, ids []uint32, finish string) []byte {
	a := &x.job.answers[i]
	cached, _ := x.job.counts()
	return newObject(b).str("text", text).ids("output_ids", ids).nested("meta_info", func(b []byte) []byte {
		o := newObject(b).str("id", x.info.ID).nested("finish_reason", func(b []byte) []byte {
			switch finish {
			case "":
				return append(b, "null"...)
			case "length":
				b = append(b, `{"type":"length","length":`...)
				return append(strconv.AppendInt(b, int64(a.writer.Tokens()), 10), '}')
			case "abort":
				return append(b, `{"type":"abort","message":"Aborted"}`...)
			}
			o := newObject(b).str("type", "stop")
			if a.stopped != "" {
				return o.str("matched", a.stopped).end()
			}
			return o.int("matched", int(tokens.EOS)).end()
		})
		return o.int("prompt_tokens", len(a.prompt)).str("weight_version", "default").int("total_retractions", 0).
			int("completion_tokens", len(ids)).int("cached_tokens", min(cached, len(a.prompt))).end()
	}).end()
}

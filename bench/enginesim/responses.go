package enginesim

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"penstock/bench/enginesim/core"
)

// serveResponses is the Responses API: one message out, streamed or not, kept
// for later when stored.
func serveResponses(x *exchange) error {
	q, err := x.begin()
	if err != nil {
		return err
	}
	var past []chatMessage
	if q.PreviousResponseID != "" {
		old, ok := x.s.store.get(q.PreviousResponseID)
		if !ok {
			return responseNotFound(q.PreviousResponseID)
		}
		past = old.transcript()
	}
	turn, err := inputMessages(q.Input)
	if err != nil {
		return err
	}
	q.Messages = slices.Concat(past, turn)
	prompt := *q
	if q.Instructions != "" {
		prompt.Messages = append([]chatMessage{{Role: "system", Content: content{text: q.Instructions}}}, q.Messages...)
	}
	r := &response{
		id: "resp_" + x.s.newID(), item: "msg_" + x.s.newID(), created: x.s.cfg.Now().Unix(),
		model: q.Model, previous: q.PreviousResponseID, instructions: q.Instructions,
		background: q.Background, status: "in_progress", messages: q.Messages,
	}
	if r.model == "" {
		r.model = x.s.cfg.Model
	}
	x.info.ID = r.id
	store := x.s.cfg.StoreResponses && (q.Store == nil || *q.Store)
	if q.Background && (!store || q.Stream) {
		return schemaError("background", "background can only be used with a stored response that is not streamed.")
	}
	if err := x.submit(&prompt, [][]uint32{prompt.chatTokens()}); err != nil {
		return err
	}
	r.limit = x.job.answers[0].writer.Tokens()
	if store {
		x.s.store.put(r)
	}
	switch {
	case q.Background:
		return x.runBehind(r)
	case q.Stream:
		return (&responseStream{x: x, r: r}).run()
	}
	if err := x.fill(r); err != nil {
		return err
	}
	x.status(http.StatusOK, r.json(nil))
	return nil
}

// fill waits for the answer and fills r.
func (x *exchange) fill(r *response) error {
	choices, u, err := x.collect()
	if err != nil {
		r.finish("", "abort", usage{})
		return err
	}
	r.finish(choices[0].text, choices[0].finish, u)
	return nil
}

// runBehind answers "queued" and goes on without the client. The job moves to
// an exchange that nobody can leave but a cancel.
func (x *exchange) runBehind(r *response) error {
	cancelled := make(chan struct{})
	r.mu.Lock()
	r.status, r.cancel = "queued", cancelled
	r.mu.Unlock()
	body := r.json(nil)
	behind := &exchange{s: x.s, w: x.w, r: x.r, info: x.info, job: x.job, left: cancelled, fault: Fault{}}
	x.s.log.rename(x, behind)
	x.job = nil
	x.s.jobs.Go(func() {
		defer func() {
			behind.severed = true // a cancel acts at once, whatever a lost client would do
			behind.finish()
		}()
		_ = behind.fill(r)
	})
	x.status(http.StatusOK, body)
	return nil
}

func responseNotFound(id string) error {
	return apiError{status: http.StatusNotFound, kind: kindNotFound, param: "response_id", message: "Response with id '" + id + "' not found."}
}

func readResponse(x *exchange, id string) error {
	r, ok := x.s.store.get(id)
	if !ok {
		return responseNotFound(id)
	}
	x.status(http.StatusOK, r.json(nil))
	return nil
}

func cancelResponse(x *exchange, id string) error {
	r, ok := x.s.store.get(id)
	if !ok {
		return responseNotFound(id)
	}
	if !r.stop() {
		return badRequest("Cannot cancel a synchronous response.")
	}
	x.status(http.StatusOK, r.json(nil))
	return nil
}

// inputMessages reads the input of a request: text, or a list of messages.
func inputMessages(raw json.RawMessage) ([]chatMessage, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []chatMessage{{Role: "user", Content: content{text: text}}}, nil
	}
	var list []chatMessage
	if isNull(raw) || json.Unmarshal(raw, &list) != nil {
		return nil, schemaError("input", "Input should be a valid string or list of items")
	}
	return list, nil
}

// responseStream writes the events of one streamed response.
type responseStream struct {
	x    *exchange
	r    *response
	n    int // sequence number of the next event
	text strings.Builder
}

func (s *responseStream) send(kind string, fill func(o *object)) error {
	x := s.x
	x.buf = append(append(append(x.buf[:0], "event: "...), kind...), "\ndata: "...)
	o := newObject(x.buf).str("type", kind).int("sequence_number", s.n)
	s.n++
	fill(o)
	x.buf = append(o.end(), "\n\n"...)
	return x.event(x.buf)
}

func (s *responseStream) at(o *object) *object {
	return o.str("item_id", s.r.item).int("output_index", 0).int("content_index", 0)
}

func (s *responseStream) whole(kind string) error {
	return s.send(kind, func(o *object) { o.nested("response", s.r.json) })
}

func (s *responseStream) run() error {
	x := s.x
	if x.s.cfg.Dialect != SGLang {
		x.startStream()
	}
	if err := s.open(); err != nil {
		return s.giveUp(err)
	}
	finish := ""
	made := 0
	for finish == "" {
		pieces, _, aborted, err := x.next()
		if err != nil {
			return s.giveUp(err)
		}
		for _, p := range pieces {
			finish = p.finish.String()
			made++
			t := x.job.answers[0].text(p.index)
			s.text.WriteString(t)
			if t == "" {
				continue
			}
			err := s.send("response.output_text.delta", func(o *object) { s.at(o).str("delta", t).raw("logprobs", "[]") })
			if errors.Is(err, errAborted) {
				x.abort()
				aborted = true
				break
			}
			if err != nil {
				return s.giveUp(err)
			}
		}
		if aborted {
			finish = core.FinishAbort.String()
		}
	}
	s.r.finish(s.text.String(), finish, x.usage(made))
	return s.close()
}

func (s *responseStream) giveUp(err error) error {
	s.r.finish(s.text.String(), core.FinishAbort.String(), usage{})
	return err
}

func (s *responseStream) open() error {
	for _, kind := range []string{"response.created", "response.in_progress"} {
		if err := s.whole(kind); err != nil {
			return err
		}
	}
	err := s.send("response.output_item.added", func(o *object) {
		o.int("output_index", 0).nested("item", func(b []byte) []byte { return s.r.itemJSON(b, "in_progress", "", true) })
	})
	if err != nil {
		return err
	}
	return s.send("response.content_part.added", func(o *object) { s.at(o).nested("part", partJSON("")) })
}

func (s *responseStream) close() error {
	text := s.text.String()
	if err := s.send("response.output_text.done", func(o *object) { s.at(o).str("text", text).raw("logprobs", "[]") }); err != nil {
		return err
	}
	if err := s.send("response.content_part.done", func(o *object) { s.at(o).nested("part", partJSON(text)) }); err != nil {
		return err
	}
	err := s.send("response.output_item.done", func(o *object) {
		o.int("output_index", 0).nested("item", func(b []byte) []byte { return s.r.itemJSON(b, "completed", text, false) })
	})
	if err != nil {
		return err
	}
	last := "response.completed"
	if s.r.ended() == "incomplete" {
		last = "response.incomplete"
	}
	x := s.x
	o := newObject(append(append(append([]byte(nil), "event: "...), last...), "\ndata: "...)).
		str("type", last).int("sequence_number", s.n).nested("response", s.r.json)
	return x.terminator(append(o.end(), "\n\n"...))
}

func partJSON(text string) func(b []byte) []byte {
	return func(b []byte) []byte {
		return newObject(b).str("type", "output_text").str("text", text).raw("annotations", "[]").nulls("logprobs").end()
	}
}

// appendResponseUsage writes usage with the names of the Responses API.
func appendResponseUsage(b []byte, u usage) []byte {
	return newObject(b).int("input_tokens", u.prompt).nested("input_tokens_details", func(b []byte) []byte {
		b = append(b, `{"cached_tokens":`...)
		return append(strconv.AppendInt(b, int64(u.cached), 10), '}')
	}).int("output_tokens", u.completion).raw("output_tokens_details", `{"reasoning_tokens":0}`).
		int("total_tokens", u.prompt+u.completion).end()
}

// transcript is the conversation up to and with r, for the next turn.
func (r *response) transcript() []chatMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append(slices.Clone(r.messages), chatMessage{Role: "assistant", Content: content{text: r.text}})
}

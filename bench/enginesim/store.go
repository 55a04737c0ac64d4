package enginesim

import (
	"strconv"
	"sync"

	"penstock/bench/enginesim/core"
)

// response is one answer of the Responses API.
type response struct {
	id, item, model        string
	previous, instructions string
	created                int64
	background             bool
	limit                  int

	mu       sync.Mutex // guards what follows
	messages []chatMessage
	status   string
	text     string
	usage    *usage
	cancel   chan struct{} // not nil while it runs in the background
}

// finish records the end of the answer.
func (r *response) finish(text, finish string, u usage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancel = nil
	if r.status == "cancelled" {
		return
	}
	r.text = text
	switch finish {
	case core.FinishAbort.String():
		r.status = "cancelled"
		return
	case core.FinishLength.String():
		r.status = "incomplete"
	default:
		r.status = "completed"
	}
	r.usage = &u
}

// stop cancels a response that runs in the background.
func (r *response) stop() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.background {
		return false
	}
	if r.cancel != nil {
		close(r.cancel)
		r.cancel = nil
		r.status = "cancelled"
	}
	return true
}

func (r *response) ended() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// json appends the response object.
func (r *response) json(b []byte) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := newObject(b).str("id", r.id).int("created_at", int(r.created))
	if r.status == "incomplete" {
		o.raw("incomplete_details", `{"reason":"max_output_tokens"}`)
	} else {
		o.nulls("incomplete_details")
	}
	o.nullable("instructions", r.instructions).nulls("metadata").str("model", r.model).str("object", "response")
	o.nested("output", func(b []byte) []byte {
		b = append(b, '[')
		if r.status == "completed" || r.status == "incomplete" {
			b = r.itemJSON(b, "completed", r.text, false)
		}
		return append(b, ']')
	})
	o.raw("parallel_tool_calls", "true").raw("temperature", "1.0").str("tool_choice", "auto").raw("tools", "[]").
		raw("top_p", "1.0").raw("background", strconv.FormatBool(r.background)).int("max_output_tokens", r.limit).
		nulls("max_tool_calls").nullable("previous_response_id", r.previous).nulls("prompt", "reasoning").
		str("service_tier", "auto").str("status", r.status).nulls("text", "top_logprobs").str("truncation", "disabled")
	if r.usage == nil {
		o.nulls("usage")
	} else {
		o.nested("usage", func(b []byte) []byte { return appendResponseUsage(b, *r.usage) })
	}
	return o.nulls("user").end()
}

// itemJSON appends the one output item; empty leaves its content out.
func (r *response) itemJSON(b []byte, status, text string, empty bool) []byte {
	return newObject(b).str("id", r.item).nested("content", func(b []byte) []byte {
		b = append(b, '[')
		if !empty {
			b = partJSON(text)(b)
		}
		return append(b, ']')
	}).str("role", "assistant").str("status", status).str("type", "message").end()
}

// storeSize bounds the responses that are kept; the oldest go first.
const storeSize = 1024

// responseStore keeps responses in this process only, as the engines do.
type responseStore struct {
	mu    sync.Mutex // guards what follows
	byID  map[string]*response
	order []string
}

func (s *responseStore) init() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byID, s.order = make(map[string]*response), nil
}

func (s *responseStore) put(r *response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.order) >= storeSize {
		delete(s.byID, s.order[0])
		s.order = s.order[1:]
	}
	s.byID[r.id] = r
	s.order = append(s.order, r.id)
}

func (s *responseStore) get(id string) (*response, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.byID[id]
	return r, ok
}

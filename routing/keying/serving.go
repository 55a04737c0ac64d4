package keying

import (
	"errors"
	"runtime"
	"sync"
	"time"

	"penstock/configs"
	"penstock/routing/chattemplate"
	"penstock/routing/keys"
	"penstock/routing/tokenizer"
)

// serving is what Key works with: an immutable value behind a pointer.
type serving struct {
	cfg        configs.Tokenizer
	generation uint32
	stock      *stock
	exact      bool   // the tokenizer may be believed
	why        Reason // why not
}

// stock is the workers over one tokenizer and one template. It stays when only the
// settings around them change, and with it the workers' caches.
type stock struct {
	templates *templates // nil: not read, or cannot be used
	index     *index     // nil: no tokenizer, or cannot be used
	now       func() time.Time
	after     func(time.Duration) <-chan time.Time
	workers   sync.Pool
	seats     chan struct{} // one for each worker in use
}

// seatsPerCore bounds the workers in use: each has some MiB of caches, and more of
// them than cores only wait for each other.
const seatsPerCore = 2

func newStock(t *templates, i *index, now func() time.Time, after func(time.Duration) <-chan time.Time) *stock {
	seats := max(4, seatsPerCore*runtime.GOMAXPROCS(0))
	return &stock{templates: t, index: i, now: now, after: after, seats: make(chan struct{}, seats)}
}

// enter waits for a seat, until the deadline if there is one.
func (s *stock) enter(deadline time.Time) bool {
	select {
	case s.seats <- struct{}{}:
		return true
	default:
	}
	if deadline.IsZero() {
		s.seats <- struct{}{}
		return true
	}
	select {
	case s.seats <- struct{}{}:
		return true
	case <-s.after(deadline.Sub(s.now())):
		return false
	}
}

func (s *stock) leave() { <-s.seats }

// worker is the scratch memory of one request.
type worker struct {
	render   renderer // nil: prompts cannot be made
	key      keyer    // nil: prompts cannot be tokenized
	request  chattemplate.Request
	deadline time.Time // zero: none
	now      func() time.Time
	seal     sealMemory
}

func (s *stock) get() *worker {
	if w, ok := s.workers.Get().(*worker); ok {
		return w
	}
	w := &worker{now: s.now}
	if s.templates != nil {
		w.render = s.templates.worker()
	}
	if s.index != nil {
		w.key = s.index.worker(w.expired)
	}
	return w
}

// put takes a worker back. One whose user panicked is not given back.
func (s *stock) put(w *worker) {
	w.request, w.deadline = chattemplate.Request{}, time.Time{}
	s.workers.Put(w)
}

func (w *worker) expired() bool {
	return !w.deadline.IsZero() && !w.now().Before(w.deadline)
}

// exactly makes the keys from the pool's own tokenizer and says why it did not, or
// not to the prompt's end. The prompt, when there is one, holds until the worker's
// next use.
func (v *serving) exactly(w *worker, q *Request, r *Result) *chattemplate.Prompt {
	var p *chattemplate.Prompt
	adapter, salt := q.Adapter, q.Salt
	if w.render != nil {
		w.request = chattemplate.Request{Kind: q.Kind, Body: q.Body, Now: w.now()}
		p = w.render.Render(&w.request)
		salt = p.Salt
		if p.Adapter != "" {
			adapter = p.Adapter
		}
	}
	r.Namespace = keys.Namespace(q.Model, adapter, string(salt))
	switch {
	case p == nil:
		r.Reason = v.why
	case p.Status == chattemplate.Unknown:
		r.Reason = p.Reason
	case onlyIDs(p):
		keys.FromTokens(p.Parts[0].IDs, v.cfg.BlockSize, r.Namespace, &r.Keys)
		r.found(p)
	case !v.exact:
		r.Reason = v.why
	case w.expired():
		r.Reason = ReasonBudget
	default:
		r.tokenized(p, w.key.Key(p, r.Namespace, &r.Keys))
	}
	return p
}

// onlyIDs reports whether the client has done the tokenizing.
func onlyIDs(p *chattemplate.Prompt) bool {
	return len(p.Parts) == 1 && len(p.Parts[0].IDs) > 0
}

func (r *Result) tokenized(p *chattemplate.Prompt, err error) {
	switch {
	case err == nil:
		r.found(p)
		return
	case errors.Is(err, tokenizer.ErrExpired):
		r.Reason = ReasonBudget
	case errors.Is(err, tokenizer.ErrText):
		r.Reason = ReasonText
	default:
		r.Reason = ReasonFailed
	}
	r.Keys.Reset()
}

// found marks the result of a prompt that was keyed.
func (r *Result) found(p *chattemplate.Prompt) {
	r.Origin, r.Reason = OriginExact, ReasonOK
	if r.KnownTokens > 0 {
		r.Origin = OriginMemo
	}
	if p.Status != chattemplate.Exact {
		r.Reason = p.Reason
		return
	}
	r.Comparable = p.Prompts <= 1
}

// overText makes keys over the rendered prompt, or over the raw JSON of it.
func (v *serving) overText(q *Request, p *chattemplate.Prompt, r *Result) {
	text, namespace := q.Prompt, r.Namespace
	switch {
	case p != nil && p.Status != chattemplate.Unknown && len(p.Parts) > 0 && len(p.Parts[0].Text) > 0:
		text = p.Parts[0].Text
	case len(text) == 0:
		return
	case len(q.Tools) > 0:
		// Templates put the tools first, so that other tools are another prompt.
		namespace = mixTools(namespace, q.Tools)
	}
	keys.FromText(text, v.cfg.BlockSize, namespace, &r.Keys)
	r.Origin = OriginBytes
}

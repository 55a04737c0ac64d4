package keying

import (
	"errors"
	"runtime"
	"sync"
	"time"

	"penstock/configs"
	"penstock/routing/chattemplate"
	"penstock/routing/internal/gmac"
	"penstock/routing/keys"
	"penstock/routing/tokenizer"
)

// serving is what Key works with: an immutable value behind a pointer.
type serving struct {
	cfg        configs.Tokenizer
	generation uint32
	stock      *stock
	chats      chatRoutes
	zone       *time.Location // of the engines
	exact      bool           // the tokenizer may be believed
	why        Reason         // why not
}

// longestBudget stands in for a budget of 0: whatever happens, a prompt ends.
const longestBudget = 5 * time.Second

func (v *serving) budget() time.Duration {
	if b := v.cfg.Budget.D(); b > 0 {
		return b
	}
	return longestBudget
}

// renders reports whether anybody will use a rendering of such a request: the
// tokenizer, keys over text, or an engine. Ids in prompts are of use by themselves.
func (v *serving) renders(kind chattemplate.Kind) bool {
	chat := kind == chattemplate.KindChat || kind == chattemplate.KindMessages || kind == chattemplate.KindResponses
	return v.exact || !chat || v.cfg.TextKeys() || v.cfg.RemoteKeys()
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
	large     chan struct{} // one for each of them with a large body
}

// Bounds of the workers in use: each has some MiB of caches, and more of them than
// cores only wait for each other. A prompt may take a multiple of its body, so that
// few large ones are at work at once.
const (
	seatsPerCore = 2
	maxSeats     = 16
	largeSeats   = 4
	largeBody    = 1 << 20
)

// Working memory of one prompt: a multiple of its body, and what small ones need.
const (
	memoryPerByte = 4
	memoryBase    = 16 << 20
)

func newStock(t *templates, i *index, now func() time.Time, after func(time.Duration) <-chan time.Time) *stock {
	seats := min(seatsPerCore*runtime.GOMAXPROCS(0), maxSeats)
	return &stock{
		templates: t, index: i, now: now, after: after,
		seats: make(chan struct{}, seats), large: make(chan struct{}, min(seats, largeSeats)),
	}
}

// enter waits for a seat for a body of this size, until the deadline.
func (s *stock) enter(size int, deadline time.Time) bool {
	if size <= largeBody {
		return s.sit(s.seats, deadline)
	}
	// Always in this order: who has a seat waits for nothing.
	if !s.sit(s.large, deadline) {
		return false
	}
	if s.sit(s.seats, deadline) {
		return true
	}
	<-s.large
	return false
}

func (s *stock) sit(seats chan struct{}, deadline time.Time) bool {
	select {
	case seats <- struct{}{}:
		return true
	default:
	}
	select {
	case seats <- struct{}{}:
		return true
	case <-s.after(deadline.Sub(s.now())):
		return false
	}
}

func (s *stock) leave(size int) {
	<-s.seats
	if size > largeBody {
		<-s.large
	}
}

// worker is the scratch memory of one request.
type worker struct {
	render   renderer // nil: prompts cannot be made
	key      keyer    // nil: prompts cannot be tokenized
	request  chattemplate.Request
	deadline time.Time // zero: none
	now      func() time.Time
	seal     gmac.Scratch
}

func (s *stock) get() *worker {
	if w, ok := s.workers.Get().(*worker); ok {
		return w
	}
	w := &worker{now: s.now}
	if s.templates != nil {
		w.render = s.templates.worker(w.expired)
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
	if w.render != nil && v.renders(q.Kind) {
		w.request = chattemplate.Request{Kind: q.Kind, Body: q.Body, Now: w.now()}
		w.render.Bound(memoryPerByte*len(q.Body) + memoryBase)
		p = w.render.Render(&w.request)
		salt = p.Salt
		if p.Adapter != "" {
			adapter = p.Adapter
		}
	}
	r.Namespace = keys.Namespace(q.Model, adapter, string(salt))
	r.adapter = adapter != ""
	switch {
	case p == nil:
		r.Reason = v.why
	case p.Status == chattemplate.Unknown:
		r.Reason = p.Reason
	case onlyIDs(p):
		keys.FromTokens(p.Parts[0].IDs, v.cfg.BlockSize, r.Namespace, &r.Keys)
		r.found(p)
		r.Comparable = false // the client has counted
	case !v.exact:
		r.Reason = v.why
	case w.expired():
		r.Reason = ReasonBudget
	default:
		r.tokenized(p, w.key.Key(p, r.Namespace, &r.Keys))
		r.Comparable = r.Comparable && r.ordinary(q.Body, p)
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
	r.Comparable = true
}

// ordinary reports whether a request is for one answer to one prompt, by no adapter.
func (r *Result) ordinary(body []byte, p *chattemplate.Prompt) bool {
	return !r.adapter && (p == nil || p.Prompts <= 1) && oneAnswer(body)
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

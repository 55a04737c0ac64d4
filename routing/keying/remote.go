package keying

import (
	"slices"
	"sync"
	"time"

	"penstock/configs"
	"penstock/routing/chattemplate"
	"penstock/routing/keys"
)

// remote keeps what engines answered about prompts that we cannot tokenize, and the
// questions that are under way. A question is asked once, whoever waits for it.
type remote struct {
	sealer  sealer
	now     func() time.Time
	after   func(time.Duration) <-chan time.Time
	jobs    chan *job
	metrics *poolMetrics

	mu      sync.Mutex // guards all below
	answers map[fingerprint]*answer
	newest  *answer // of a list by use
	oldest  *answer
	bytes   int64
	limit   int64
	flights map[fingerprint]*job
	paused  time.Time // no question before
	failed  int       // in a row
}

// answer is what an engine said about one prompt.
type answer struct {
	of           fingerprint
	tokens       int
	blocks       []uint64
	newer, older *answer
}

// job is a question on its way.
type job struct {
	of        fingerprint
	questions []question
	namespace uint64
	blockSize int
	done      chan struct{} // closed when the answer is there, or none will come
}

// Bounds of the questions on their way.
const (
	maxJobs     = 16
	askers      = 4
	maxQuestion = 1 << 20 // bytes of a body; an engine takes tenths of a second for it
	answerBytes = 160     // of an answer beside its blocks: itself, its map entry, its rounding
)

func newRemote(g sealer, now func() time.Time, after func(time.Duration) <-chan time.Time, m *poolMetrics) *remote {
	return &remote{
		sealer: g, now: now, after: after, metrics: m, jobs: make(chan *job, maxJobs),
		answers: map[fingerprint]*answer{}, flights: map[fingerprint]*job{},
	}
}

// askable are the reasons for which an engine can tell what we cannot: they are about
// our knowledge, not about the request.
var askable = map[Reason]bool{
	ReasonAbsent: true, ReasonLoading: true, ReasonRefused: true, ReasonDegraded: true, ReasonUnproven: true, ReasonFailed: true,
	chattemplate.ReasonEncoder: true, chattemplate.ReasonNoTemplate: true, chattemplate.ReasonTemplate: true,
	chattemplate.ReasonSpecialTokens: true, chattemplate.ReasonRequestTemplate: true, chattemplate.ReasonField: true,
}

// find fills r from an answer to an equal prompt. Without one it has the engine
// asked, and returns the question if the pool's settings say that it is waited for.
func (m *remote) find(v *serving, w *worker, q *Request, p *chattemplate.Prompt, r *Result) *job {
	if len(q.Body) > maxQuestion {
		return nil
	}
	of := m.sealer.of(&w.seal, q, r.Namespace)
	if m.take(of, r) {
		m.metrics.asked(askHit)
		return nil
	}
	j := m.begin(of, v, q, p, r.Namespace)
	if v.cfg.Remote != configs.RemoteAlways {
		return nil
	}
	return j
}

// wait waits for the answer to a question, which then replaces what r has. No worker
// is held meanwhile.
func (m *remote) wait(j *job, v *serving, deadline time.Time, r *Result) {
	patience := v.cfg.RemoteTimeout.D()
	if !deadline.IsZero() {
		patience = min(patience, deadline.Sub(m.now()))
	}
	if patience > 0 {
		select {
		case <-j.done:
			m.take(j.of, r)
			return
		case <-m.after(patience):
		}
	}
	m.metrics.asked(askLate)
}

// take copies an answer, if there is one, and marks it used.
func (m *remote) take(of fingerprint, r *Result) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.answers[of]
	if a == nil {
		return false
	}
	m.unlink(a)
	m.link(a)
	r.Keys = keys.Keys{Tokens: a.tokens, KnownTokens: a.tokens, Blocks: append(r.Blocks[:0], a.blocks...)}
	r.Origin, r.Comparable = OriginEngine, true
	return true
}

// begin has an engine asked, or finds the question under way; nil when nobody will
// answer.
func (m *remote) begin(of fingerprint, v *serving, q *Request, p *chattemplate.Prompt, namespace uint64) *job {
	m.mu.Lock()
	defer m.mu.Unlock()
	if j := m.flights[of]; j != nil {
		m.metrics.asked(askJoined)
		return j
	}
	if m.now().Before(m.paused) {
		m.metrics.asked(askPaused)
		return nil
	}
	if len(m.flights) >= maxJobs {
		m.metrics.asked(askDropped)
		return nil
	}
	j := &job{of: of, questions: questionsOf(q, p), namespace: namespace, blockSize: v.cfg.BlockSize, done: make(chan struct{})}
	if len(j.questions) == 0 {
		m.metrics.asked(askUnsupported)
		return nil
	}
	m.flights[of] = j
	m.jobs <- j // has room: there are no more than its capacity
	return j
}

// settle ends a question, with the ids it got, nil for none.
func (m *remote) settle(j *job, ids []uint32) {
	var a *answer
	if len(ids) > 0 {
		var k keys.Keys
		keys.FromTokens(ids, j.blockSize, j.namespace, &k)
		a = &answer{of: j.of, tokens: len(ids), blocks: slices.Clip(k.Blocks)}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.flights, j.of)
	if a != nil && m.answers[j.of] == nil {
		m.answers[j.of] = a
		m.link(a)
		m.bytes += a.size()
		m.shrink()
	}
	close(j.done)
}

// Bounds of the breaker.
const (
	failuresInARow = 5
	firstPause     = 5 * time.Second
	longestPause   = 5 * time.Minute
	distrustPause  = 10 * time.Minute
)

// judge tells the breaker how asking went.
func (m *remote) judge(ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ok {
		m.failed = 0
		return
	}
	m.failed++
	if over := m.failed - failuresInARow; over >= 0 {
		m.pause(min(firstPause<<min(over, 10), longestPause))
	}
}

func (m *remote) pause(d time.Duration) {
	if until := m.now().Add(d); until.After(m.paused) {
		m.paused = until
	}
}

// distrust forgets all answers and asks nobody for a while.
func (m *remote) distrust() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget()
	m.pause(distrustPause)
}

// renew forgets all answers and asks again: the engines or the settings changed.
func (m *remote) renew() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget()
	m.paused, m.failed = time.Time{}, 0
}

func (m *remote) forget() {
	clear(m.answers)
	m.newest, m.oldest, m.bytes = nil, nil, 0
}

func (m *remote) resize(limit int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.limit = limit
	m.shrink()
}

func (m *remote) size() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bytes
}

func (m *remote) shrink() {
	for m.bytes > m.limit && m.oldest != nil {
		a := m.oldest
		m.unlink(a)
		delete(m.answers, a.of)
		m.bytes -= a.size()
	}
}

func (a *answer) size() int64 { return answerBytes + 8*int64(cap(a.blocks)) }

func (m *remote) link(a *answer) {
	a.older, a.newer = m.newest, nil
	if m.newest != nil {
		m.newest.newer = a
	}
	m.newest = a
	if m.oldest == nil {
		m.oldest = a
	}
}

func (m *remote) unlink(a *answer) {
	if a.newer != nil {
		a.newer.older = a.older
	} else {
		m.newest = a.older
	}
	if a.older != nil {
		a.older.newer = a.newer
	} else {
		m.oldest = a.newer
	}
}

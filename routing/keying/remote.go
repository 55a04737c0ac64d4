package keying

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"penstock/configs"
	"penstock/routing/chattemplate"
	"penstock/routing/internal/gmac"
	"penstock/routing/internal/lru"
	"penstock/routing/keys"
)

// remote keeps what engines answered about prompts that we cannot tokenize, and the
// questions that are under way. A question is asked once, whoever waits for it.
type remote struct {
	tags    gmac.Key
	now     func() time.Time
	after   func(time.Duration) <-chan time.Time
	jobs    chan *job
	metrics *poolMetrics
	// epoch is raised when all answers are forgotten: those to questions of before
	// are not wanted any more. It changes with mu held.
	epoch atomic.Uint32

	mu        sync.Mutex // guards all below
	answers   *lru.Cache[fingerprint, answer]
	flights   map[fingerprint]*job
	busy      int // questions begun and not settled, those of before too
	seen      sketch
	questions bucket
	bytes     bucket
	breaker   breaker
}

// answer is what an engine said about one prompt.
type answer struct {
	tokens int
	blocks []uint64
}

// job is a question on its way.
type job struct {
	of        fingerprint
	epoch     uint32
	ends      time.Time // the answer is of no use from then on; zero: never
	questions []question
	namespace uint64
	blockSize int
	done      chan struct{} // closed when the answer is there, or none will come
}

// Bounds of the questions on their way. An engine's tokenizing of a question takes
// CPU time from its serving, so that a pool whose every prompt would be asked about
// asks about some.
const (
	maxJobs          = 16
	askers           = 4
	maxQuestion      = 1 << 20 // bytes of a body; an engine takes tenths of a second for it
	questionsPerSec  = 10
	questionsAtOnce  = 20
	questionBytes    = 1 << 20 // a second
	questionBytesMax = 4 << 20 // at once
	answerBytes      = 160     // of an answer beside its blocks: itself, its map entry, its rounding
)

func newRemote(tags gmac.Key, now func() time.Time, after func(time.Duration) <-chan time.Time, m *poolMetrics) *remote {
	return &remote{
		tags: tags, now: now, after: after, metrics: m, jobs: make(chan *job, maxJobs),
		answers: lru.New[fingerprint, answer](0), flights: map[fingerprint]*job{},
		questions: bucket{rate: questionsPerSec, burst: questionsAtOnce},
		bytes:     bucket{rate: questionBytes, burst: questionBytesMax},
	}
}

// askable are the reasons for which an engine can tell what we cannot: they are about
// our knowledge, not about the request. Loading is none: it ends by itself, and until
// then nobody knows how the engine may be asked.
var askable = map[Reason]bool{
	ReasonAbsent: true, ReasonRefused: true, ReasonDegraded: true, ReasonUnproven: true, ReasonFailed: true,
	chattemplate.ReasonEncoder: true, chattemplate.ReasonNoTemplate: true, chattemplate.ReasonTemplate: true,
	chattemplate.ReasonSpecialTokens: true, chattemplate.ReasonRequestTemplate: true, chattemplate.ReasonField: true,
}

// find fills r from an answer to an equal prompt. Without one it has the engine
// asked, and returns the question if the pool's settings say that it is waited for.
func (m *remote) find(v *serving, w *worker, q *Request, p *chattemplate.Prompt, r *Result) *job {
	if len(q.Body) > maxQuestion {
		return nil
	}
	day, ends := calendar(w.now(), v.zone)
	if q.Kind == chattemplate.KindCompletions || q.Kind == chattemplate.KindGenerate {
		day, ends = 0, time.Time{} // the client's own text
	}
	of := fingerprintOf(m.tags, &w.seal, q, r.Namespace, day)
	r.plain = r.ordinary(q.Body, p)
	if m.take(of, r) {
		m.metrics.asked(askHit)
		return nil
	}
	j := m.begin(&job{of: of, ends: ends, namespace: r.Namespace, blockSize: v.cfg.BlockSize}, v, q, p, r.Reason)
	if v.cfg.Remote != configs.RemoteAlways {
		return nil
	}
	return j
}

// wait waits for the answer to a question, which then replaces what r has. No worker
// is held meanwhile.
func (m *remote) wait(j *job, v *serving, deadline time.Time, r *Result) {
	patience := v.cfg.RemoteTimeout.D()
	if v.cfg.Budget > 0 {
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
	a := m.answers.Get(of)
	if a == nil {
		return false
	}
	r.Keys = keys.Keys{Tokens: a.tokens, KnownTokens: a.tokens, Blocks: append(r.Blocks[:0], a.blocks...)}
	r.Origin, r.Comparable, r.epoch = OriginEngine, r.plain, m.epoch.Load()
	return true
}

// begin has an engine asked, or finds the question under way; nil when nobody will
// answer. The question is written without the lock: it may have a MiB.
func (m *remote) begin(j *job, v *serving, q *Request, p *chattemplate.Prompt, why Reason) *job {
	going, result := m.reserve(j, len(q.Body), v.cfg.Remote == configs.RemoteAlways)
	if going != j {
		m.metrics.asked(result)
		return going
	}
	sent := false
	defer func() {
		if !sent {
			m.settle(j, nil)
		}
	}()
	if j.questions = questionsOf(q, p, v.chats, !doubted[why]); len(j.questions) == 0 {
		m.metrics.asked(askUnsupported)
		return nil
	}
	sent = true
	m.jobs <- j // has room: there are no more than its capacity
	return j
}

// reserve takes a place for a question: it returns the job, or the one under way for
// an equal prompt, or nil. Unless it is waited for, a prompt that comes once is not
// asked about.
func (m *remote) reserve(j *job, size int, waited bool) (*job, string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	j.epoch = m.epoch.Load()
	other := m.flights[j.of]
	switch {
	case other != nil && other.epoch == j.epoch:
		return other, askJoined
	case m.breaker.open(now):
		return nil, askPaused
	case m.busy >= maxJobs:
		return nil, askDropped
	case !m.seen.again(j.of) && !waited:
		return nil, askOnce
	case !m.questions.has(1, now) || !m.bytes.has(float64(size), now):
		return nil, askLimited
	}
	m.questions.left--
	m.bytes.left -= float64(size)
	j.done = make(chan struct{})
	m.flights[j.of] = j
	m.busy++
	return j, ""
}

// settle ends a question, with the ids it got, nil for none.
func (m *remote) settle(j *job, ids []uint32) {
	var a answer
	if len(ids) > 0 {
		var k keys.Keys
		keys.FromTokens(ids, j.blockSize, j.namespace, &k)
		a = answer{tokens: len(ids), blocks: slices.Clip(k.Blocks)}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.busy--
	if m.flights[j.of] == j {
		delete(m.flights, j.of)
	}
	if a.tokens > 0 && j.epoch == m.epoch.Load() && (j.ends.IsZero() || m.now().Before(j.ends)) {
		m.answers.Put(j.of, a, answerBytes+8*int64(cap(a.blocks)))
	}
	close(j.done)
}

// judge tells the breaker how asking went.
func (m *remote) judge(of fingerprint, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.breaker.note(of, ok, m.now())
}

// distrustPause is how long nobody is asked after usage has contradicted answers.
const distrustPause = 10 * time.Minute

// distrust forgets all answers and asks nobody for a while.
func (m *remote) distrust() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget()
	m.breaker.pause(m.now().Add(distrustPause))
}

// renew forgets all answers and asks again: the engines or the settings changed.
func (m *remote) renew() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget()
	m.breaker = breaker{}
}

func (m *remote) forget() {
	m.answers.Clear()
	m.epoch.Add(1)
}

func (m *remote) resize(limit int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answers.Resize(limit)
}

func (m *remote) size() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.answers.Bytes()
}

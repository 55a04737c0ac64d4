package pools

import (
	"sync/atomic"
	"time"
)

// busyWindow is how long a replica that answered 429 or 503 without a
// Retry-After is avoided.
const busyWindow = time.Second

// Lease is one request's place on a replica. It is safe for concurrent use and
// must be ended exactly once; further ends do nothing. Leases are not reused,
// so a late call cannot touch another request's lease.
type Lease struct {
	set    *Set
	m      *member
	breach *breaker    // the breaker that let it through, nil none
	report func(error) // tells that breaker; nil when it need not know
	test   bool        // a test request of a half-open breaker

	prompt atomic.Int64 // tokens reserved for the prompt and not given back yet
	output atomic.Int64 // tokens reserved for the output and not given back yet
	state  atomic.Uint32
}

// The bits of Lease.state.
const (
	leasePrompted = 1 << iota
	leaseEnded
)

// AcquireMember reserves a place on a replica of a view. It fails with ErrGone,
// ErrFull or ErrTripped, and the caller chooses again.
func (s *Set) AcquireMember(mb Member, c Cost) (*Lease, error) {
	m := mb.m
	if !m.enter(mb.MaxConcurrency) {
		return nil, ErrFull
	}
	// Counted first and checked after: a drain marks first and counts after, so
	// one of the two always sees the other.
	if State(m.state.Load()) == StateDraining {
		s.leave(m)
		return nil, ErrGone
	}
	l := &Lease{set: s, m: m}
	if err := l.pass(m.breaker.Load()); err != nil {
		s.leave(m)
		return nil, err
	}
	l.prompt.Store(max(0, c.PromptTokens))
	l.output.Store(max(0, c.OutputTokens))
	m.tokens.Add(max(0, c.PromptTokens) + max(0, c.OutputTokens))
	return l, nil
}

// pass asks the breaker. When nothing else is left (see facts.ignoreTrips) the
// request goes anyway and the breaker is not told.
func (l *Lease) pass(b *breaker) error {
	if b == nil {
		return nil
	}
	report, err := b.two.Allow()
	if err != nil {
		l.set.follow(b)
		if l.set.view.Load().f.ignoreTrips {
			return nil
		}
		return ErrTripped
	}
	l.breach, l.report = b, report
	if !b.isClosed() {
		l.test = true
		b.testing.Add(1)
	}
	l.set.follow(b)
	return nil
}

// PromptDone gives back the prompt's tokens: the first event or the head of the
// answer came, so the prefill is over. A half-open breaker takes it as its
// proof, because a stream may run for half an hour more.
func (l *Lease) PromptDone() {
	if l.state.Or(leasePrompted)&(leasePrompted|leaseEnded) != 0 {
		return
	}
	l.m.tokens.Add(-l.prompt.Swap(0))
	if l.test {
		l.breach.testing.Add(-1)
		l.report(nil)
		l.set.follow(l.breach)
	}
}

// Progress gives back n output tokens that have been produced. Giving back more
// than was reserved does nothing.
func (l *Lease) Progress(n int64) {
	for n > 0 {
		have := l.output.Load()
		take := min(n, have)
		if take <= 0 {
			return
		}
		if l.output.CompareAndSwap(have, have-take) {
			l.m.tokens.Add(-take)
			return
		}
	}
}

// Settle makes n the output tokens still reserved, when that is fewer than now.
func (l *Lease) Settle(n int64) {
	if have := l.output.Load(); have > max(0, n) {
		l.Progress(have - max(0, n))
	}
}

// Replica names the replica and the life of it that the lease is on.
func (l *Lease) Replica() (ReplicaID, Epoch) { return l.m.id, l.m.epoch }

// Left is closed when the replica left the pool while the lease was out: its
// drain timeout is over.
func (l *Lease) Left() <-chan struct{} { return l.m.left }

// End gives everything back and tells the breaker. Only the first call counts.
func (l *Lease) End(o Outcome) { l.EndAfter(o, 0) }

// EndAfter is End for an answer that carried a Retry-After: after a
// backpressure outcome the replica is avoided for that long, within bounds.
func (l *Lease) EndAfter(o Outcome, retryAfter time.Duration) {
	before := l.state.Or(leaseEnded)
	if before&leaseEnded != 0 {
		return
	}
	l.m.tokens.Add(-l.prompt.Swap(0) - l.output.Swap(0))
	switch o {
	case OutcomeBackpressure:
		l.m.avoid(l.set.elapsed() + l.set.busyFor(retryAfter))
	case OutcomeFailed:
		// One failure does not trip the breaker, but a replica that fails fast
		// frees its load fast and would look the least loaded of all.
		l.m.failedUntil.Store(int64(l.set.elapsed() + failedWindow))
	case OutcomeOK:
		if l.m.failedUntil.Load() != 0 {
			l.m.failedUntil.Store(0)
		}
	case OutcomeClientGone, OutcomeNeutral:
	}
	l.tell(o, l.test && before&leasePrompted != 0)
	l.set.leave(l.m)
}

// failedWindow is how long others are preferred to a replica after a failure,
// unless it gives a good answer before.
const failedWindow = time.Second

// tell reports the outcome. told says that a test request has given its proof
// already; a failure after that counts as one more request.
func (l *Lease) tell(o Outcome, told bool) {
	if l.report == nil {
		return
	}
	if !told {
		if l.test {
			l.breach.testing.Add(-1)
		}
		l.report(o.verdict())
		if o == OutcomeOK && l.breach.isHeld() {
			l.breach.held.Store(false)
		}
	} else if o == OutcomeFailed {
		if report, err := l.breach.two.Allow(); err == nil {
			report(errFailure)
		}
	}
	l.set.follow(l.breach)
}

// leave counts a request out and lets a drain go on.
func (s *Set) leave(m *member) {
	if m.inFlight.Add(-1) == 0 && State(m.state.Load()) == StateDraining {
		s.drained(m)
	}
}

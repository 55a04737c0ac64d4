package routing

import "sync/atomic"

// RetryBudget bounds the retries that run at once to a share of the requests in
// flight, so that a fleet in trouble is not sent a multiple of its load. It is
// safe for concurrent use.
type RetryBudget struct {
	share   float64
	minimum int64
	out     atomic.Int64
}

// NewRetryBudget allows percent of the requests in flight, and minimum always.
func NewRetryBudget(percent float64, minimum int) *RetryBudget {
	return &RetryBudget{share: max(0, percent) / 100, minimum: int64(max(0, minimum))}
}

// Take asks for one retry; when it reports true, Done must follow when the
// request ends, not merely the attempt: short failing attempts would otherwise
// never be seen at once.
func (b *RetryBudget) Take(inFlight int64) bool {
	limit := max(b.minimum, int64(b.share*float64(inFlight)))
	for {
		n := b.out.Load()
		if n >= limit {
			return false
		}
		if b.out.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Done gives one retry back.
func (b *RetryBudget) Done() {
	if b.out.Add(-1) < 0 {
		panic("BUG: retry budget was given back more than taken")
	}
}

// InUse returns how many retries are out.
func (b *RetryBudget) InUse() int64 { return b.out.Load() }

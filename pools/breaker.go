package pools

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"penstock/configs"
)

// What the breaker is told in place of an outcome.
var (
	errFailure  = errors.New("pools: request failed")
	errExcluded = errors.New("pools: outcome says nothing about the replica")
)

// breaker is the circuit breaker of one replica. The library decides; the
// atomics mirror its state, so that a choice among many replicas takes no lock.
type breaker struct {
	two   *gobreaker.TwoStepCircuitBreaker[struct{}]
	limit int32 // test requests at once while half open

	closed    atomic.Bool
	openUntil atomic.Int64 // elapsed nanoseconds; meaningful while not closed
	testing   atomic.Int32 // test requests out
	held      atomic.Bool  // it would be open, but for the last-replica rule
	changed   atomic.Bool  // the state moved and no view shows it yet
}

// newBreaker returns nil when breakers are off. mayTrip is asked before the
// breaker opens; it runs under the library's mutex.
func newBreaker(cfg configs.Breaker, elapsed func() time.Duration, mayTrip func(*breaker) bool) *breaker {
	if cfg.Failures <= 0 {
		return nil
	}
	b := &breaker{limit: int32(max(1, cfg.HalfOpenRequests))}
	b.closed.Store(true)
	b.two = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests: uint32(b.limit),
		Timeout:     cfg.Open.D(),
		ReadyToTrip: func(c gobreaker.Counts) bool {
			if int64(c.ConsecutiveFailures) < int64(cfg.Failures) {
				return false
			}
			may := mayTrip(b)
			b.held.Store(!may)
			return may
		},
		IsExcluded: func(err error) bool { return errors.Is(err, errExcluded) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			switch to {
			case gobreaker.StateOpen:
				b.openUntil.Store(int64(elapsed() + cfg.Open.D()))
				b.closed.Store(false)
			case gobreaker.StateClosed:
				b.closed.Store(true)
			case gobreaker.StateHalfOpen:
			}
			b.changed.Store(true)
		},
	})
	return b
}

// isClosed reports whether requests pass freely; so does a breaker that is off.
func (b *breaker) isClosed() bool { return b == nil || b.closed.Load() }

// isHeld reports whether the replica fails and serves on because it is the last.
func (b *breaker) isHeld() bool { return b != nil && b.held.Load() }

// testable reports whether an open breaker would let a test request through.
func (b *breaker) testable(now time.Duration) bool {
	return b.isClosed() || (int64(now) > b.openUntil.Load() && b.testing.Load() < b.limit)
}

// label is the state for metrics and the admin API.
func (b *breaker) label(now time.Duration) string {
	switch {
	case b == nil:
		return "off"
	case b.isClosed():
		return "closed"
	case int64(now) > b.openUntil.Load():
		return "half_open"
	default:
		return "open"
	}
}

// verdict is an outcome as the breaker sees it: only complete answers and
// failures count.
func (o Outcome) verdict() error {
	switch o {
	case OutcomeOK:
		return nil
	case OutcomeFailed:
		return errFailure
	case OutcomeBackpressure, OutcomeClientGone, OutcomeNeutral:
		return errExcluded
	}
	return errExcluded
}

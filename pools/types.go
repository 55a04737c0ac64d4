package pools

import (
	"errors"
	"time"
)

// ReplicaID names a replica within its pool.
type ReplicaID string

// Epoch is one life of a replica: a restart or a new registration raises it.
type Epoch uint64

// Replica is one engine endpoint. It is immutable once published.
type Replica struct {
	ID             ReplicaID
	Epoch          Epoch
	URL            string            // scheme, authority and base path, no trailing slash
	Weight         int               // >= 1
	Ranks          int               // data-parallel ranks behind the URL, >= 1
	MaxConcurrency int               // 0: no limit
	Models         []string          // empty: all of the pool
	Labels         map[string]string // from config or registration
	HealthURL      string            // probed instead of the engine kind's path, "" none
	Registered     bool              // added at run time, kept over a reload
}

// State is the liveness of a replica as its pool sees it.
type State uint8

// The states. Only StatePending and StateReady take new requests, unless the
// pool panics; a tripped replica takes the few that test it.
const (
	StatePending  State = iota // not probed yet; takes requests (a fresh gateway must not refuse)
	StateReady                 // healthy
	StateDown                  // probes failed
	StateTripped               // breaker open
	StateDraining              // removed or asked to drain; running requests finish
)

// String returns the state as metrics and the admin API print it.
func (s State) String() string {
	switch s {
	case StatePending:
		return "pending"
	case StateReady:
		return "ready"
	case StateDown:
		return "down"
	case StateTripped:
		return "tripped"
	case StateDraining:
		return "draining"
	}
	return "unknown"
}

// Load is what a policy may know of a replica's load.
type Load struct {
	InFlight int     // requests leased by this gateway
	Tokens   int64   // prompt and expected output tokens leased and not yet settled
	Running  int     // the engine's own, -1 unknown or stale
	Waiting  int     // the engine's own, -1 unknown or stale
	KVUsage  float64 // 0..1, -1 unknown or stale
	Ramp     float64 // 0..1 during slow start, else 1
}

// Member is a replica in a View with its live counters. The zero Member has
// none: Members come from a View.
type Member struct {
	Replica
	m      *member
	f      *facts
	serves []string // model names it answers to; nil: every name
}

// View is one immutable picture of a pool.
type View struct {
	Version uint64
	Members []Member // in stable order; all of the pool, alive or not
	Panic   bool     // too few healthy: health is ignored
	f       *facts
	index   map[ReplicaID]int
}

// Cost is what a request reserves, in tokens.
type Cost struct {
	PromptTokens int64
	OutputTokens int64
}

// Outcome is how a lease ended; it decides what the breaker learns.
type Outcome uint8

// The outcomes.
const (
	OutcomeOK           Outcome = iota // complete answer, also an engine's 4xx
	OutcomeFailed                      // transport failure, 5xx, or cut stream
	OutcomeBackpressure                // 429 or 503: busy, not broken
	OutcomeClientGone                  // the client left: says nothing
	OutcomeNeutral                     // gave up for reasons of our own
)

// String returns the outcome as metrics print it.
func (o Outcome) String() string {
	switch o {
	case OutcomeOK:
		return "ok"
	case OutcomeFailed:
		return "failed"
	case OutcomeBackpressure:
		return "backpressure"
	case OutcomeClientGone:
		return "client_gone"
	case OutcomeNeutral:
		return "neutral"
	}
	return "unknown"
}

// Errors of Acquire; the caller chooses again.
var (
	ErrGone    = errors.New("pools: replica is gone or draining")
	ErrFull    = errors.New("pools: replica is at its concurrency limit")
	ErrTripped = errors.New("pools: breaker is open")
)

// Errors of the calls that change membership.
var (
	ErrDuplicate = errors.New("pools: replica exists already")
	ErrUnknown   = errors.New("pools: no such replica")
)

// EngineLoad is one reading of an engine's own metrics.
type EngineLoad struct {
	At      time.Time
	Running int
	Waiting int
	KVUsage float64 // 0..1
}

package routing

import (
	"math/rand/v2"
	"time"

	"penstock/pools"
)

// Query is what a choice may know of a request.
type Query struct {
	Model   string
	Session uint64 // hash of the session key, 0 none
	// Blocks are the chained keys of the prompt's full blocks, nil unknown. They are
	// the caller's and hold until it releases the request.
	Blocks []uint64
	// Namespace is what Blocks begin with: model, adapter, tenant's salt.
	Namespace uint64
	// PromptTokens is the length of the prompt where it was counted, 0 unknown.
	PromptTokens int
	Prefix       uint64          // hash of the first bytes of the prompt, 0 none
	Pin          pools.ReplicaID // stateful request: this replica or none ("" free)
	Cost         pools.Cost
	Exclude      []pools.ReplicaID // tried already
}

// Input is all that a choice may depend on.
type Input struct {
	Now   time.Duration // monotonic, on the pool's own scale: View.Elapsed
	View  *pools.View
	Query *Query
	Rand  *rand.Rand
}

// Decision is the answer of a policy, with its reason.
type Decision struct {
	Index int // into View.Members, -1 when none is eligible
	Score float64
	Why   Reason
	Tried int // candidates looked at
}

// Reason says in a closed set why a replica was chosen.
type Reason uint8

// The reasons.
const (
	ReasonNone     Reason = iota // no candidate
	ReasonOnly                   // the single candidate
	ReasonPolicy                 // the policy's own rule
	ReasonPinned                 // stateful request
	ReasonSession                // hash of the session
	ReasonPrefix                 // hash of the prompt's start
	ReasonOverflow               // hash owner over its bounded load
	ReasonPanic                  // too few healthy; health ignored
)

// String returns the reason as metrics and logs print it.
func (r Reason) String() string {
	switch r {
	case ReasonNone:
		return "none"
	case ReasonOnly:
		return "only"
	case ReasonPolicy:
		return "policy"
	case ReasonPinned:
		return "pinned"
	case ReasonSession:
		return "session"
	case ReasonPrefix:
		return "prefix"
	case ReasonOverflow:
		return "overflow"
	case ReasonPanic:
		return "panic"
	}
	return "unknown"
}

// Policy chooses. It is safe for concurrent use and does not allocate when warm.
type Policy interface {
	Choose(in *Input, out *Decision)
}

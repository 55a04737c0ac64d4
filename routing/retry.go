package routing

import (
	"slices"
	"time"
)

// Attempt is what is known after an attempt failed, or was refused by the
// replica. Exactly one of ConnectFailed, TimedOut, Died and Status says how.
type Attempt struct {
	ConnectFailed bool // no connection: nothing was sent
	TimedOut      bool // no response byte within the first-byte deadline
	Died          bool // the connection broke
	Status        int  // a complete answer's status, 0 none

	Reused           bool  // the connection had served a request before
	ResponseByteSeen bool  // of a generation; the head of a refusal is not one
	OnStatus         []int // statuses with nothing generated; nil: 429 and 503

	ClientGone   bool
	BodyInMemory bool
	DeadlineLeft time.Duration // until the request's own deadline; without one, any large value

	AttemptsMade int // on replicas; a replay on the same one is not counted
	MaxAttempts  int
	Replays      int // on the same replica, after a reused connection died
	OthersLeft   int // see the function OthersLeft
}

// RetryDecision says what to do next.
type RetryDecision struct {
	Retry            bool
	SameReplicaFresh bool // on the same replica, over a new connection, outside the budget
	Why              RetryReason
}

// RetryReason says in a closed set why an attempt is repeated or not.
type RetryReason uint8

// The reasons.
const (
	RetryNone        RetryReason = iota // nothing failed that a retry could mend
	RetryReused                         // yes: a kept connection was dead
	RetryConnect                        // yes: nothing was sent
	RetryStatus                         // yes: refused with nothing generated
	RetryTimedOut                       // yes: silent, closed, asked elsewhere
	RetryDied                           // yes: lost before the first byte
	RefuseClientGone                    // no: nobody waits
	RefuseByteSeen                      // no: the client may have part of it
	RefuseBodyGone                      // no: cannot be sent again
	RefuseDeadline                      // no: no time left
	RefuseAttempts                      // no: tried often enough
	RefuseNoOther                       // no: nowhere to go
	RefuseSuspect                       // no: it may be the request that kills replicas
	RefuseBudget                        // no: the budget is spent; set by the caller
)

// String returns the reason as metrics and logs print it.
func (r RetryReason) String() string {
	switch r {
	case RetryNone:
		return "none"
	case RetryReused:
		return "reused"
	case RetryConnect:
		return "connect"
	case RetryStatus:
		return "status"
	case RetryTimedOut:
		return "timed_out"
	case RetryDied:
		return "died"
	case RefuseClientGone:
		return "client_gone"
	case RefuseByteSeen:
		return "byte_seen"
	case RefuseBodyGone:
		return "body_gone"
	case RefuseDeadline:
		return "deadline"
	case RefuseAttempts:
		return "attempts"
	case RefuseNoOther:
		return "no_other"
	case RefuseSuspect:
		return "suspect"
	case RefuseBudget:
		return "budget"
	}
	return "unknown"
}

// maxReplays bounds replays over a new connection: a second one dying young is
// not the keep-alive race any more.
const maxReplays = 1

// DecideRetry is the one retry rule: a generation is sent again only while the
// client has seen nothing of it, at most once per replica, and never without
// somebody waiting for it. A Retry-After needs no waiting here: it binds the
// replica that sent it, which the pool avoids meanwhile, and the retry goes to
// another. It decides on facts alone; the caller then asks the
// RetryBudget, except for a replay on the same replica.
func DecideRetry(a *Attempt) RetryDecision {
	why := a.cause()
	if why == RetryNone {
		return RetryDecision{Why: RetryNone}
	}
	if no := a.hindrance(); no != RetryNone {
		return RetryDecision{Why: no}
	}
	if why == RetryReused {
		return RetryDecision{Retry: true, SameReplicaFresh: true, Why: why}
	}
	switch {
	case a.AttemptsMade >= a.MaxAttempts:
		return RetryDecision{Why: RefuseAttempts}
	case a.OthersLeft <= 0:
		return RetryDecision{Why: RefuseNoOther}
	case why == RetryDied && a.AttemptsMade > 1:
		// Two replicas broke under it: a third would be a risk taken for one
		// request at the expense of all those running there.
		return RetryDecision{Why: RefuseSuspect}
	}
	return RetryDecision{Retry: true, Why: why}
}

// cause says what went wrong, RetryNone when a retry would not mend it.
func (a *Attempt) cause() RetryReason {
	switch {
	case a.ConnectFailed:
		return RetryConnect
	case a.TimedOut:
		return RetryTimedOut
	case a.Died && a.Reused && a.Replays < maxReplays:
		return RetryReused
	case a.Died:
		return RetryDied
	case a.refused():
		return RetryStatus
	default:
		return RetryNone
	}
}

func (a *Attempt) refused() bool {
	if a.OnStatus != nil {
		return slices.Contains(a.OnStatus, a.Status)
	}
	return a.Status == 429 || a.Status == 503
}

// hindrance says what forbids any repetition, RetryNone when nothing does.
func (a *Attempt) hindrance() RetryReason {
	switch {
	case a.ResponseByteSeen:
		return RefuseByteSeen
	case a.ClientGone:
		return RefuseClientGone
	case !a.BodyInMemory:
		return RefuseBodyGone
	case a.DeadlineLeft <= 0:
		return RefuseDeadline
	default:
		return RetryNone
	}
}

package keying

import (
	"penstock/routing/chattemplate"
	"penstock/routing/keys"
)

// Request is what Key reads of a client's request. It keeps nothing of it.
type Request struct {
	Kind    chattemplate.Kind
	Body    []byte // JSON as the engine gets it, checked to be valid UTF-8 and bounded in depth
	Model   string // as the engine knows it, "" unknown
	Adapter string // LoRA adapter, "" none
	Salt    []byte // cache_salt
	Tools   []byte // raw JSON of the tools, nil none
	Prompt  []byte // raw JSON of the messages, prompt or input, nil none
	Caller  string // who asks, "" nobody has been told apart
}

// Result is what Key found. It is reusable and keeps its memory.
type Result struct {
	keys.Keys
	Namespace uint64
	Origin    Origin
	Reason    Reason // why it is not exact; "ok" when it is
	// Comparable: Tokens is what the engine should report as prompt tokens.
	Comparable bool

	adapter    bool   // it is for one
	plain      bool   // what an engine answers is comparable
	generation uint32 // of the tokenizer
	epoch      uint32 // of the engines' answers
	caller     uint64
	short      uint64 // stands for a prompt that has no block
}

// Reset forgets the result and keeps the memory of moderate size.
func (r *Result) Reset() {
	blocks := r.Blocks[:0]
	if cap(blocks) > maxKeptBlocks {
		blocks = nil
	}
	*r = Result{Keys: keys.Keys{Blocks: blocks}}
}

// maxKeptBlocks is the blocks of a prompt with 128 Ki tokens.
const maxKeptBlocks = 8192

// Origin is where the keys of a prompt came from; its String is a metric label.
type Origin uint8

// The origins.
const (
	OriginNone   Origin = iota // no keys: routed by load
	OriginExact                // tokenized now
	OriginMemo                 // tokenized now but for a known beginning
	OriginEngine               // an engine tokenized an equal prompt before
	OriginBytes                // over text; comparable with other such keys only
	originCount
)

// String is the origin as metrics and the access log print it.
func (o Origin) String() string {
	switch o {
	case OriginExact:
		return "exact"
	case OriginMemo:
		return "memo"
	case OriginEngine:
		return "engine"
	case OriginBytes:
		return "bytes"
	case OriginNone, originCount:
	}
	return "none"
}

// Counted reports whether the number of tokens is one, not a guess.
func (o Origin) Counted() bool {
	return o == OriginExact || o == OriginMemo || o == OriginEngine
}

// Reason says in a closed set why keys are not the exact ones; a metric label. The
// reasons of chattemplate belong to the set.
type Reason = chattemplate.Reason

// The reasons of this package.
const (
	ReasonOK       Reason = "ok"           // exact
	ReasonAbsent   Reason = "no_tokenizer" // the pool has none
	ReasonLoading  Reason = "loading"      // not read yet
	ReasonRefused  Reason = "refused"      // could not be used
	ReasonDegraded Reason = "degraded"     // found unlike the engines'
	ReasonUnproven Reason = "unproven"     // parity is strict and has not passed
	ReasonBudget          = chattemplate.ReasonBudget
	ReasonTooLarge Reason = "too_large" // over max_prompt
	ReasonText     Reason = "text"      // text that the tokenizer does not take
	ReasonFailed   Reason = "failed"    // the tokenizer gave another error
	ReasonPanic    Reason = "panic"     // a fault of ours; the log has it
)

// State is what a pool's tokenizer is good for.
type State uint8

// The states.
const (
	StateOff      State = iota // none configured
	StateLoading               // being read
	StateReady                 // in use
	StateDegraded              // in use for nothing: unlike the engines'
	StateRefused               // cannot be used
	stateCount
)

// String is the state as metrics and the admin API print it.
func (s State) String() string {
	switch s {
	case StateOff:
		return "off"
	case StateLoading:
		return "loading"
	case StateReady:
		return "ready"
	case StateDegraded:
		return "degraded"
	case StateRefused:
		return "refused"
	case stateCount:
	}
	return "unknown"
}

// Parity is the outcome of comparing with the engines' own tokens.
type Parity uint8

// The outcomes.
const (
	ParityPending     Parity = iota // no engine has been asked yet
	ParityPassed                    // every engine that was asked agreed
	ParityFailed                    // one did not
	ParityUnsupported               // the engines have no way to be asked
	ParityOff                       // not asked for
	ParityNoChats                   // as passed, but no engine renders chats for comparison
)

// String is the outcome as the admin API prints it.
func (p Parity) String() string {
	switch p {
	case ParityPending:
		return "pending"
	case ParityPassed:
		return "passed"
	case ParityFailed:
		return "failed"
	case ParityUnsupported:
		return "unsupported"
	case ParityOff:
		return "off"
	case ParityNoChats:
		return "unsupported_for_chats"
	}
	return "unknown"
}

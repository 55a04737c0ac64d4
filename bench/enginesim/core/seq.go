package core

import "time"

// Finish says why a sequence ended.
type Finish uint8

// The ways a sequence can end. FinishNone means it has not.
const (
	FinishNone Finish = iota
	FinishStop
	FinishLength
	FinishAbort
)

func (f Finish) String() string {
	switch f {
	case FinishStop:
		return "stop"
	case FinishLength:
		return "length"
	case FinishAbort:
		return "abort"
	case FinishNone:
	}
	return ""
}

// Request is one sequence to generate.
type Request struct {
	Prompt       []uint32           // token ids; not copied, must not change
	Keys         []Key              // chained keys of Prompt's full blocks; nil means computed here
	PromptTokens int                // length when Prompt is nil and Keys stand for it; else ignored
	Adapter      string             // part of the cache namespace
	Salt         string             // part of the cache namespace
	Priority     int                // used with Config.ByPriority, lower first
	OutputTokens int                // tokens to generate, at least 1
	Finish       Finish             // reported with the last token; FinishNone means FinishLength
	Output       func(i int) uint32 // id of output token i; nil means 0
	Tag          any                // the caller's handle, untouched
}

// Seq is a request inside an engine.
type Seq struct {
	Tag any

	req       Request
	prompt    int
	out       []uint32
	computed  int // tokens whose KV is in blocks (or will be when the step ends)
	scheduled int // tokens in the step that runs now
	keys      []Key
	hashed    int // leading blocks offered to the cache
	blocks    []int32
	cached    int // prompt tokens found in the cache at first admission
	admitted  bool
	running   bool
	done      bool
	arrival   time.Duration
	started   time.Duration
	order     uint64
}

// PromptTokens is the length of the prompt.
func (s *Seq) PromptTokens() int { return s.prompt }

// CachedTokens is how much of the prompt was found in the cache when the
// sequence was first admitted to the batch.
func (s *Seq) CachedTokens() int { return s.cached }

// Arrival is when the sequence was added.
func (s *Seq) Arrival() time.Duration { return s.arrival }

// Started is when the sequence first entered a batch; zero before that.
func (s *Seq) Started() time.Duration { return s.started }

func (s *Seq) total() int { return s.prompt + len(s.out) }

func (s *Seq) tokenAt(i int) uint32 {
	if i >= s.prompt {
		return s.out[i-s.prompt]
	}
	if s.req.Prompt == nil {
		return 0
	}
	return s.req.Prompt[i]
}

// Output is one generated token.
type Output struct {
	Seq    *Seq
	Index  int // 0 for the first token
	Token  uint32
	Finish Finish
	At     time.Duration // end of the step that made it
}

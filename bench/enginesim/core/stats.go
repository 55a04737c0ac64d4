package core

import "time"

// Counters only grow.
type Counters struct {
	Steps         int64
	Busy          time.Duration // sum of step times
	PrefixQueries int64         // prompt tokens looked up
	PrefixHits    int64         // of those, found in any tier
	HostHits      int64         // of those, brought back from the host
	PromptTokens  int64         // of sequences that produced a token
	OutputTokens  int64
	Preemptions   int64
	Completed     int64
	Aborted       int64
	Evicted       int64 // device blocks whose content was replaced
	MaxRunning    int
}

// StepStats is what the step that ended last did.
type StepStats struct {
	Took          time.Duration
	Decodes       int
	PrefillTokens int
	KVTokens      int
	HostTokens    int
}

// Snapshot is the state of an engine at one moment.
type Snapshot struct {
	Counters
	Last         StepStats
	Running      int
	Waiting      int
	BlocksTotal  int
	BlocksUsed   int // held by sequences
	BlocksCached int // not held, content reusable
	HostBlocks   int // in use in the host tier

	WaitingTokens  int // uncomputed tokens of waiting sequences, cache not considered
	PrefillPending int // uncomputed prompt tokens of running sequences
	Decoding       int // running sequences that have produced a token
}

func (e *Engine) recordStep() {
	e.last = StepStats{
		Took: e.stepEnd - e.due, Decodes: e.now.decodes, PrefillTokens: e.now.prefillTokens,
		KVTokens: e.now.kvTokens, HostTokens: e.now.hostTokens,
	}
}

// Snapshot returns the present state.
func (e *Engine) Snapshot() Snapshot {
	s := Snapshot{
		Counters: e.counts, Last: e.last,
		Running: len(e.running), Waiting: len(e.waiting),
		BlocksTotal: len(e.pool.blocks), BlocksUsed: e.pool.used(), BlocksCached: e.pool.cached,
	}
	s.Evicted = e.pool.evicted
	if e.pool.host != nil {
		s.HostBlocks = e.pool.host.order.Len()
	}
	for _, q := range e.waiting {
		s.WaitingTokens += q.total()
	}
	for _, r := range e.running {
		if len(r.out) > 0 {
			s.Decoding++
		} else {
			s.PrefillPending += r.total() - r.computed + r.scheduled
		}
	}
	return s
}

// Config returns the configuration in force.
func (e *Engine) Config() Config { return e.cfg }

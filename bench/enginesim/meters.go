package enginesim

import (
	"sort"
	"time"

	"penstock/bench/enginesim/core"
)

// histogram counts observations under fixed upper bounds.
type histogram struct {
	bounds []float64
	counts []uint64 // one per bound, then the rest
	sum    float64
	total  uint64
}

func newHistogram(bounds []float64) histogram {
	return histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

func (h *histogram) observe(v float64) {
	v = max(v, 0) // a late runner may date a token before its request
	h.counts[sort.SearchFloat64s(h.bounds, v)]++
	h.sum += v
	h.total++
}

// Bucket bounds: vLLM's for latencies, powers of ten in 1-2-5 for tokens.
var (
	secondBounds = []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	tokenBounds  = []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000}
)

// meters are what an engine's metrics endpoint reports beside its state.
// Times are simulated seconds.
type meters struct {
	ttft, itl, e2e, queue, prefill, decode histogram
	promptLen, outputLen                   histogram
	success                                [4]uint64 // by core.Finish
	cachedTokens                           uint64
	started                                map[*core.Seq]time.Duration // first token of live sequences
}

func newMeters() meters {
	seconds := func() histogram { return newHistogram(secondBounds) }
	return meters{
		ttft: seconds(), itl: seconds(), e2e: seconds(), queue: seconds(), prefill: seconds(), decode: seconds(),
		promptLen: newHistogram(tokenBounds), outputLen: newHistogram(tokenBounds),
		started: make(map[*core.Seq]time.Duration),
	}
}

func (m *meters) firstToken(o *core.Output) {
	s := o.Seq
	m.ttft.observe((o.At - s.Arrival()).Seconds())
	m.queue.observe((s.Started() - s.Arrival()).Seconds())
	m.prefill.observe((o.At - s.Started()).Seconds())
	m.promptLen.observe(float64(s.PromptTokens()))
	m.cachedTokens += uint64(s.CachedTokens())
	m.started[s] = o.At
}

func (m *meters) gap(d time.Duration) { m.itl.observe(d.Seconds()) }

func (m *meters) done(o *core.Output) {
	m.e2e.observe((o.At - o.Seq.Arrival()).Seconds())
	m.decode.observe((o.At - m.started[o.Seq]).Seconds())
	m.outputLen.observe(float64(o.Index + 1))
	m.success[o.Finish]++
	delete(m.started, o.Seq)
}

// aborted forgets a sequence that ended without its last token.
func (m *meters) aborted(s *core.Seq) {
	m.success[core.FinishAbort]++
	delete(m.started, s)
}

// clone is a copy that may be read without the runner's lock.
func (m *meters) clone() meters {
	c := *m
	for _, h := range []*histogram{&c.ttft, &c.itl, &c.e2e, &c.queue, &c.prefill, &c.decode, &c.promptLen, &c.outputLen} {
		h.counts = append([]uint64(nil), h.counts...)
	}
	c.started = nil
	return c
}

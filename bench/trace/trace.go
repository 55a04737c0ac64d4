package trace

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Request is one arrival.
type Request struct {
	At      time.Duration // since the start of the trace
	Input   int           // prompt tokens; 0 when only the text is known
	Output  int           // tokens to generate; 0 means that the trace does not say
	Session string        // turns of one conversation share it; "" when not known

	// Blocks names the content of the prompt in blocks of Trace.BlockTokens:
	// equal ids are equal text. Nil when the trace has no prefix data.
	Blocks []uint64
	// Messages is the prompt itself, for traces that carry text. It wins over
	// Blocks.
	Messages []Message
}

// Message is one turn of a chat.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Trace is a list of requests in order of arrival.
type Trace struct {
	Name        string
	BlockTokens int // tokens of one id in Request.Blocks
	Requests    []Request
}

// Duration is the time of the last arrival.
func (t *Trace) Duration() time.Duration {
	if len(t.Requests) == 0 {
		return 0
	}
	return t.Requests[len(t.Requests)-1].At
}

// Spread moves each request later by a random time below window. Traces whose
// stamps are coarse (Mooncake conversation: steps of 3 s) make bursts that
// never happened when they are replayed literally.
func (t *Trace) Spread(window time.Duration, seed uint64) {
	if window <= 0 {
		return
	}
	r := newRand(seed)
	for i := range t.Requests {
		t.Requests[i].At += time.Duration(r.Int64N(int64(window)))
	}
	t.sort()
}

// SpeedUp divides every arrival time by factor, which must be positive.
func (t *Trace) SpeedUp(factor float64) {
	for i := range t.Requests {
		t.Requests[i].At = time.Duration(float64(t.Requests[i].At) / factor)
	}
}

// Poisson replaces the arrival times by a Poisson process of rate requests per
// second, in the present order.
func (t *Trace) Poisson(rate float64, seed uint64) {
	r := newRand(seed)
	var at float64 // seconds
	for i := range t.Requests {
		at += r.ExpFloat64() / rate
		t.Requests[i].At = time.Duration(at * float64(time.Second))
	}
}

// Cut drops the requests that arrive at or after end.
func (t *Trace) Cut(end time.Duration) {
	n := len(t.Requests)
	for n > 0 && t.Requests[n-1].At >= end {
		n--
	}
	t.Requests = t.Requests[:n]
}

// Repeat appends copies of the trace until it holds n requests. Arrival times
// of copy k are shifted by k times the length of the trace. The copies share
// blocks and sessions with the original, as a cache would see a recurring load.
func (t *Trace) Repeat(n int) {
	length := len(t.Requests)
	if length == 0 {
		return
	}
	span := t.Duration() + t.Duration()/time.Duration(length) // one mean gap before the copy starts
	for i := length; i < n; i++ {
		q := t.Requests[i%length]
		q.At += time.Duration(i/length) * span
		t.Requests = append(t.Requests, q)
	}
}

func (t *Trace) sort() {
	slices.SortStableFunc(t.Requests, func(a, b Request) int { return int(a.At - b.At) })
}

func newRand(seed uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
}

package keying

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"penstock/configs"
)

// window is how many comparable answers are looked at.
const window = 20

// What convinces where no engine can be asked: so many different callers, and so many
// of the window. One caller must not be able to take a tokenizer out.
const (
	enoughSources = 3
	enoughAnswers = window / 2
)

// audit remembers of the last answers whether they counted as we did. One answer
// says little: an engine may count what no gateway sees. Many say that something is
// wrong.
type audit struct {
	mu   sync.Mutex // guards all below
	last [window]observed
	next int
}

// observed is one answer. The zero one says nothing.
type observed struct {
	known     bool
	different bool
	caller    uint64 // of the gateway's keys, 0: they are not checked
	prompt    uint64
}

// suspicion is what the window says.
type suspicion uint8

const (
	unsuspicious suspicion = iota
	suspicious             // more than tolerance differ
	convincing             // half do, for different callers, or all do
)

// note takes in one answer and says how things stand.
func (a *audit) note(o observed, tolerance int) suspicion {
	a.mu.Lock()
	defer a.mu.Unlock()
	o.known = true
	a.last[a.next] = o
	a.next = (a.next + 1) % window
	return a.level(tolerance)
}

// level is how things stand; mu is held. Callers without a key are told apart by their
// prompts; of those with one, prompts count when all answers of the window differ.
func (a *audit) level(tolerance int) suspicion {
	differ := 0
	callers, prompts := map[uint64]bool{}, map[uint64]bool{}
	for i := range a.last {
		o := &a.last[i]
		if !o.different {
			continue
		}
		differ++
		prompts[o.prompt] = true
		if o.caller != 0 {
			callers[o.caller] = true
		} else {
			callers[o.prompt] = true
		}
	}
	switch {
	case differ <= tolerance:
		return unsuspicious
	case len(callers) >= enoughSources && differ >= enoughAnswers, differ == window && len(prompts) >= enoughSources:
		return convincing
	}
	return suspicious
}

func (a *audit) standing(tolerance int) suspicion {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.level(tolerance)
}

func (a *audit) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last, a.next = [window]observed{}, 0
}

// Count is what remains of a Result for the comparison with the engine's usage.
type Count struct {
	Tokens     int64
	Origin     Origin
	Comparable bool
	generation uint32
	epoch      uint32
	caller     uint64
	prompt     uint64
}

// Count returns what Observe needs.
func (r *Result) Count() Count {
	c := Count{
		Tokens: int64(r.Tokens), Origin: r.Origin, Comparable: r.Comparable,
		generation: r.generation, epoch: r.epoch, caller: r.caller, prompt: r.short,
	}
	if n := len(r.Blocks); n > 0 {
		c.prompt = r.Blocks[n-1]
	}
	return c
}

// callerOf stands for a caller, 0 for none.
func callerOf(name string) uint64 {
	if name == "" {
		return 0
	}
	return xxhash.Sum64String(name) | 1
}

// Observe compares the tokens of a keyed prompt with those that the engine reports
// for it; 0 says that it reported none.
func (s *Source) Observe(c Count, reported int64) {
	if !c.Comparable || reported <= 0 {
		s.metrics.compared(withUsage, notComparable)
		return
	}
	o := observed{different: c.Tokens != reported, caller: c.caller, prompt: c.prompt}
	s.metrics.compared(withUsage, comparisonOf(o.different))
	v := s.serving.Load()
	if v == nil || v.generation != c.generation {
		return // of a tokenizer that is gone
	}
	if c.Origin == OriginEngine {
		s.observeAnswer(&c, o, v.cfg.ParityTolerance)
		return
	}
	level := s.live.note(o, v.cfg.ParityTolerance)
	if level == unsuspicious || !o.different || v.cfg.Parity == configs.ParityOff {
		return
	}
	s.suspect(level, fmt.Sprintf("the engine counted %d prompt tokens, the gateway %d", reported, c.Tokens))
}

// observeAnswer is Observe for the tokens that an engine gave.
func (s *Source) observeAnswer(c *Count, o observed, tolerance int) {
	if c.epoch != s.remote.epoch.Load() {
		return // forgotten already
	}
	if s.distant.note(o, tolerance) != convincing {
		return
	}
	s.distant.reset()
	s.remote.distrust()
	s.log.Warn("prompt tokens that engines gave for keying differ from their usage; they are not asked for a while",
		slog.String("pool", s.set.Name()))
}

// suspect has the engines asked for their ids of the samples again, because the usage
// of answers speaks against the tokenizer. What they say decides; when they had nothing
// to say a moment ago, usage that convinces does.
func (s *Source) suspect(level suspicion, detail string) {
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	d := &s.doubt
	early := now.Before(d.next)
	if d.raised || s.verdict.usage || early && (!d.silent || level != convincing) {
		return
	}
	d.raised, d.detail = true, detail
	s.signal()
}

// doubt is what the usage of answers has brought about.
type doubt struct {
	raised bool      // the engines are to be asked
	detail string    // of the answer that raised it
	next   time.Time // none is raised before
	silent bool      // the engines could not tell the last time: enough usage need not wait
	last   time.Time // when it was raised last
	times  int       // in a row, without an hour of quiet
}

// calm is how long usage must not speak against a tokenizer for that to be forgotten.
const calm = time.Hour

// settled is noted when the engines were asked; the next time is put off more and more.
func (d *doubt) settled(now time.Time, silent bool) {
	if now.Sub(d.last) > calm {
		d.times = 0
	}
	d.raised, d.silent, d.last, d.next = false, silent, now, now.Add(backoff(retryDifferent, d.times))
	d.times++
}

package keying

import (
	"fmt"
	"log/slog"
	"sync"

	"penstock/configs"
)

// window is how many comparable answers are looked at.
const window = 20

// audit remembers of the last answers whether they counted as we did. One answer
// says little: an engine may count what no gateway sees. Many say that something is
// wrong.
type audit struct {
	mu        sync.Mutex // guards all below
	different [window]bool
	next      int
	count     int
}

// note takes in one answer and reports whether more than tolerance of the last ones
// differ. It starts over when that is so.
func (a *audit) note(different bool, tolerance int) (tripped bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.different[a.next] {
		a.count--
	}
	a.different[a.next] = different
	a.next = (a.next + 1) % window
	if different {
		a.count++
	}
	if a.count <= tolerance {
		return false
	}
	a.clear()
	return true
}

func (a *audit) clear() { a.different, a.next, a.count = [window]bool{}, 0, 0 }

func (a *audit) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clear()
}

// Count is what remains of a Result for the comparison with the engine's usage.
type Count struct {
	Tokens     int64
	Origin     Origin
	Comparable bool
	generation uint32
}

// Count returns what Observe needs.
func (r *Result) Count() Count {
	return Count{Tokens: int64(r.Tokens), Origin: r.Origin, Comparable: r.Comparable, generation: r.generation}
}

// Observe compares the tokens of a keyed prompt with those that the engine reports
// for it; 0 says that it reported none.
func (s *Source) Observe(c Count, reported int64) {
	if !c.Comparable || reported <= 0 {
		s.metrics.compared(withUsage, notComparable)
		return
	}
	different := c.Tokens != reported
	s.metrics.compared(withUsage, comparisonOf(different))
	v := s.serving.Load()
	if v == nil || v.generation != c.generation {
		return // of a tokenizer that is gone
	}
	if c.Origin == OriginEngine {
		if s.distant.note(different, v.cfg.ParityTolerance) {
			s.remote.distrust()
			s.log.Warn("prompt tokens that engines gave for keying differ from their usage; they are not asked for a while",
				slog.String("pool", s.set.Name()))
		}
		return
	}
	if s.live.note(different, v.cfg.ParityTolerance) && v.cfg.Parity != configs.ParityOff {
		s.differs(fmt.Sprintf("the engine counted %d prompt tokens, the gateway %d", reported, c.Tokens))
	}
}

// differs takes the tokenizer out of use after the usage of answers.
func (s *Source) differs(detail string) {
	s.mu.Lock()
	if s.verdict.usage {
		s.mu.Unlock()
		return
	}
	s.verdict.usage, s.verdict.detail = true, detail
	n := s.publish()
	s.mu.Unlock()
	s.tell(n)
	s.signal()
}

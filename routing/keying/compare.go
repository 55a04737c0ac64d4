package keying

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"penstock/configs"
	"penstock/pools"
)

// life is one life of a replica.
type life struct {
	id    pools.ReplicaID
	epoch pools.Epoch
}

// check is the comparison with one life of a replica. It is made once it is well,
// and again after it was not: an engine may come back as another version.
type check struct {
	outcome  Parity
	detail   string
	version  string
	due      time.Time
	failures int // in a row, of any kind
}

// How often comparisons are repeated: an engine that could not answer soon, one that
// answered otherwise more and more seldom, and one that agreed now and then, because
// it may be replaced faster than a probe notices.
const (
	repeatPassed    = time.Hour
	retryUnanswered = 5 * time.Second
	retryDifferent  = 30 * time.Second
	longestRetry    = 10 * time.Minute
	quiet           = time.Hour // nothing is due
	checkTimeout    = 10 * time.Second
)

// backoff doubles up to the longest.
func backoff(first time.Duration, failures int) time.Duration {
	return min(first<<min(failures, 10), longestRetry)
}

// compare makes the comparisons that are due, draws the conclusion, and returns when
// the next one is.
func (s *Source) compare(ctx context.Context) time.Duration {
	s.mu.Lock()
	l, cfg, usage := s.loaded, s.cfg, s.verdict.usage
	s.mu.Unlock()
	if l.vocabulary == nil || l.templates == nil || cfg.Parity == configs.ParityOff {
		return quiet
	}
	now := s.now()
	ran, retried := false, usage && !s.probation.IsZero() && !now.Before(s.probation)
	for _, m := range s.present() {
		c := s.checks[m.life]
		if c == nil || retried {
			c = &check{due: now}
			s.checks[m.life] = c
		}
		if now.Before(c.due) {
			continue
		}
		s.check(ctx, m.replica, &l, c)
		if ctx.Err() != nil {
			return quiet
		}
		ran = true
	}
	if s.forgetGone() || ran {
		s.conclude(retried)
	} else if retried { // nobody can be asked now
		s.probation = now.Add(retryUnanswered)
	}
	return s.nextDue(s.now())
}

// present is a replica that can be asked.
type present struct {
	life    life
	replica pools.Replica
}

// present lists the replicas that are well, and those of a pool that does not look.
func (s *Source) present() []present {
	v := s.set.View()
	blind := s.set.Config().Health.Disabled
	var out []present
	for i := range v.Members {
		m := &v.Members[i]
		if state := m.State(); state == pools.StateReady || blind && state == pools.StatePending {
			out = append(out, present{life{m.ID, m.Epoch}, m.Replica})
		}
	}
	return out
}

// forgetGone drops the comparisons with lives that are over or not well, and reports
// whether there were any.
func (s *Source) forgetGone() bool {
	here := map[life]bool{}
	for _, m := range s.present() {
		here[m.life] = true
	}
	gone := false
	for l := range s.checks {
		if !here[l] {
			delete(s.checks, l)
			gone = true
		}
	}
	return gone
}

// check compares with one replica.
func (s *Source) check(ctx context.Context, r pools.Replica, l *loaded, c *check) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	kind := s.set.Engine(r.ID)
	c.version = s.version(ctx, r, kind)
	if c.version > s.learnt && l.cfg.EngineVersion == "" {
		s.learnt = c.version
		s.signal() // load makes the prompts of that version; this is due again then
		return
	}
	differs, err := s.probe(ctx, r, kind, l)
	now := s.now()
	switch {
	case kind == configs.EngineAuto: // nobody has found out yet how it is asked
		c.due = now.Add(retryUnanswered)
	case errors.Is(err, errNotAsked), errors.Is(err, errGuarded):
		*c = check{outcome: ParityUnsupported, detail: err.Error(), version: c.version, due: now.Add(repeatPassed)}
	case err != nil:
		c.detail, c.due = err.Error(), now.Add(backoff(retryUnanswered, c.failures))
		c.failures++
	case differs != "":
		c.outcome, c.detail = ParityFailed, fmt.Sprintf("replica %s, %s", r.ID, differs)
		c.due = now.Add(backoff(retryDifferent, c.failures))
		c.failures++
	default:
		*c = check{outcome: ParityPassed, version: c.version, due: now.Add(repeatPassed)}
	}
}

// conclude draws the verdict from all comparisons. retried says that they were made
// because the usage of answers had spoken against the tokenizer: when they do not, it
// gets another chance, and the next one later.
func (s *Source) conclude(retried bool) {
	s.learn()
	outcome, detail := ParityPending, ""
	for _, c := range s.checks {
		switch {
		case c.outcome == ParityFailed:
			outcome, detail = ParityFailed, c.detail
		case outcome == ParityFailed:
		case c.outcome == ParityPassed:
			outcome = ParityPassed
		case c.outcome == ParityUnsupported && outcome == ParityPending:
			outcome = ParityUnsupported
		}
	}
	s.mu.Lock()
	s.verdict.parity, s.verdict.checked = outcome, s.now()
	if detail != "" {
		s.verdict.detail = detail
	}
	if retried {
		s.probation = time.Time{}
		if outcome != ParityFailed {
			s.verdict.usage = false
			s.live.reset()
		}
	}
	n := s.publish()
	s.mu.Unlock()
	s.tell(n)
}

// nextDue is the time until something is to be compared again.
func (s *Source) nextDue(now time.Time) time.Duration {
	next := quiet
	soon := func(at time.Time) {
		if !at.IsZero() {
			next = min(next, max(at.Sub(now), time.Millisecond))
		}
	}
	for _, c := range s.checks {
		soon(c.due)
	}
	s.mu.Lock()
	usage := s.verdict.usage
	s.mu.Unlock()
	if !usage {
		return next
	}
	if s.probation.IsZero() {
		s.probation = now.Add(backoff(retryDifferent, s.chances))
		s.chances++
	}
	soon(s.probation)
	return next
}

// learn goes back to an older version of the engines once none of those that are well
// has the newer one. With several, as during an upgrade, the greatest by its text
// counts, so that it does not go back and forth.
func (s *Source) learn() {
	version := ""
	for _, c := range s.checks {
		version = max(version, c.version)
	}
	if version == "" || version == s.learnt {
		return
	}
	s.learnt = version
	s.signal()
}

// version asks an engine for its version; "" when it does not say.
func (s *Source) version(ctx context.Context, r pools.Replica, kind configs.Engine) string {
	paths := map[configs.Engine][]string{
		configs.EngineVLLM: {"/version"}, configs.EngineSGLang: {"/server_info", "/get_server_info"}, configs.EngineTRTLLM: {"/version"},
	}[kind]
	for _, path := range paths {
		a, err := s.asker.engine().Get(ctx, r, s.set.Config().Secret, path)
		if err != nil || !a.OK() {
			continue
		}
		var said struct {
			Version string `json:"version"`
		}
		if json.Unmarshal(a.Body, &said) == nil && len(said.Version) <= maxVersion {
			return said.Version
		}
	}
	return ""
}

// maxVersion bounds what is believed of an engine's answer.
const maxVersion = 64

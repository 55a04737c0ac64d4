package keying

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
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
// the next one is. When ctx ends first it goes on the next time.
func (s *Source) compare(ctx context.Context) time.Duration {
	s.mu.Lock()
	l, cfg, raised, usage := s.loaded, s.cfg, s.doubt.raised, s.verdict.usage
	s.mu.Unlock()
	if l.vocabulary == nil || l.templates == nil || cfg.Parity == configs.ParityOff {
		return quiet
	}
	now := s.now()
	if !s.anew && (raised || usage && !s.probation.IsZero() && !now.Before(s.probation)) {
		s.anew = true
		clear(s.checks)
	}
	ran, learnt := false, false
	for _, m := range s.present() {
		c := s.checks[m.life]
		if c == nil {
			c = &check{due: now}
			s.checks[m.life] = c
		}
		if now.Before(c.due) {
			continue
		}
		learnt = s.check(ctx, m.replica, &l, c, learnt) || learnt
		if ctx.Err() != nil {
			return 0
		}
		ran = true
	}
	if learnt {
		s.signal() // load makes the prompts of that version; all are due again then
		return quiet
	}
	if s.forgetGone() || ran || s.anew {
		s.conclude()
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

// check compares with one replica, unless its version is news, or learnt says that
// another's was: prompts are made for that one from then on, and comparing these would
// say nothing. When the pass is cancelled it leaves c as it was.
func (s *Source) check(pass context.Context, r pools.Replica, l *loaded, c *check, learnt bool) (news bool) {
	ctx, cancel := context.WithTimeout(pass, checkTimeout)
	defer cancel()
	kind := s.set.Engine(r.ID)
	version := s.version(ctx, r, kind)
	if l.cfg.EngineVersion == "" && newer(version, s.knownVersion()) {
		s.setVersion(version)
		return true
	}
	if learnt {
		return false
	}
	found, err := s.probe(ctx, r, kind, l)
	if pass.Err() != nil {
		return false
	}
	c.version = version
	now := s.now()
	switch {
	case kind == configs.EngineAuto: // nobody has found out yet how it is asked
		c.due = now.Add(retryUnanswered)
	case errors.Is(err, errNotAsked), errors.Is(err, errGuarded):
		*c = check{outcome: ParityUnsupported, detail: err.Error(), version: version, due: now.Add(repeatPassed)}
	case err != nil:
		c.detail, c.due = err.Error(), now.Add(backoff(retryUnanswered, c.failures))
		c.failures++
	case found.differs != "":
		c.outcome, c.detail = ParityFailed, fmt.Sprintf("replica %s, %s", r.ID, found.differs)
		c.due = now.Add(backoff(retryDifferent, c.failures))
		c.failures++
	case found.chats && !found.rendered:
		*c = check{outcome: ParityNoChats, version: version, due: now.Add(repeatPassed)}
	default:
		*c = check{outcome: ParityPassed, version: version, due: now.Add(repeatPassed)}
	}
	return false
}

// outcomes weighs the comparisons: one that failed counts before all others, then one
// that says most.
func (s *Source) outcomes() (outcome Parity, detail string) {
	weight := map[Parity]int{ParityUnsupported: 1, ParityNoChats: 2, ParityPassed: 3, ParityFailed: 4}
	for _, c := range s.checks {
		if weight[c.outcome] > weight[outcome] {
			outcome = c.outcome
		}
		if c.outcome == ParityFailed {
			detail = c.detail
		}
	}
	return outcome, detail
}

// conclude draws the verdict from all comparisons. When they were made anew because of
// the usage of answers, they decide: engines that agree clear the tokenizer, and where
// none can be asked about chats, the usage itself must be convincing.
func (s *Source) conclude() {
	s.learn()
	outcome, detail := s.outcomes()
	now := s.now()
	s.mu.Lock()
	s.verdict.parity, s.verdict.checked = outcome, now
	if detail != "" {
		s.verdict.detail = detail
	}
	cleared := false
	if s.anew {
		s.anew = false
		cleared = s.decide(outcome, now)
	}
	n := s.publish()
	s.mu.Unlock()
	s.tell(n)
	if cleared {
		s.log.Warn("engines report other prompt tokens than the gateway counts, though their tokens of the samples are equal",
			slog.String("pool", s.set.Name()))
	}
}

// decide settles what usage has brought about; mu is held. It reports whether a
// tokenizer was cleared that the usage speaks against.
func (s *Source) decide(outcome Parity, now time.Time) (cleared bool) {
	if s.verdict.usage { // its time is over: another chance, unless engines say no
		s.probation = time.Time{}
		if len(s.checks) == 0 { // nobody is there
			s.probation = now.Add(retryUnanswered)
		} else if outcome != ParityFailed {
			s.verdict.usage = false
			s.live.reset()
		}
		return false
	}
	s.doubt.settled(now, outcome != ParityPassed && outcome != ParityFailed)
	switch {
	case outcome == ParityPassed:
		s.live.reset()
		return true
	case outcome != ParityFailed && s.live.standing(s.cfg.ParityTolerance) == convincing:
		s.verdict.usage, s.verdict.detail = true, s.doubt.detail
		s.probation = s.doubt.next
	}
	return false
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
	if !s.probation.IsZero() {
		soon(s.probation)
	}
	return next
}

// learn goes back to an older version of the engines once none of those that are well
// has the newer one. With several, as during an upgrade, the newest counts, so that it
// does not go back and forth.
func (s *Source) learn() {
	version := ""
	for _, c := range s.checks {
		if newer(c.version, version) {
			version = c.version
		}
	}
	if version != "" && version != s.knownVersion() {
		s.setVersion(version)
		s.signal()
	}
}

func (s *Source) knownVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.learnt
}

func (s *Source) setVersion(version string) {
	s.mu.Lock()
	s.learnt = version
	s.mu.Unlock()
}

// newer compares versions by their numbers, field by field, and what is no number by
// its text.
func newer(a, b string) bool {
	x, y := strings.FieldsFunc(a, notInVersion), strings.FieldsFunc(b, notInVersion)
	for i := range min(len(x), len(y)) {
		m, err1 := strconv.Atoi(x[i])
		n, err2 := strconv.Atoi(y[i])
		switch {
		case err1 == nil && err2 == nil && m != n:
			return m > n
		case (err1 != nil || err2 != nil) && x[i] != y[i]:
			return x[i] > y[i]
		}
	}
	return len(x) > len(y)
}

func notInVersion(r rune) bool { return r == '.' || r == '-' || r == '+' || r == ' ' }

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

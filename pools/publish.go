package pools

import (
	"context"
	"log/slog"
	"slices"
	"time"
)

// news is what changed, to be logged once the lock is released.
type news struct {
	moves     []move
	panicking bool // the panic began or ended
	panic     bool
	usable    int
	total     int
}

// move is one change of state.
type move struct {
	id       ReplicaID
	from, to State
	detail   string
}

func (n news) write(log *slog.Logger) {
	for _, m := range n.moves {
		level := slog.LevelInfo
		if m.to == StateDown || m.to == StateTripped {
			level = slog.LevelWarn
		}
		log.Log(context.Background(), level, "replica changed state", slog.String("replica", string(m.id)),
			slog.String("from", m.from.String()), slog.String("to", m.to.String()), slog.String("detail", m.detail))
	}
	if n.panicking && n.panic {
		log.Warn("too few replicas are usable, health is ignored", slog.Int("usable", n.usable), slog.Int("replicas", n.total))
	} else if n.panicking {
		log.Info("enough replicas are usable again", slog.Int("usable", n.usable), slog.Int("replicas", n.total))
	}
}

// publish works out every state and stores a new view. The caller holds mu.
func (s *Set) publish() news {
	var n news
	tripped := 0
	for _, e := range s.entries {
		s.settle(e.m)
		switch State(e.m.state.Load()) {
		case StatePending, StateReady:
			n.usable++
			n.total++
		case StateTripped:
			tripped++
			n.total++
		case StateDown:
			n.total++
		case StateDraining:
		}
	}
	n.moves, s.moves = s.moves, nil
	f := &facts{
		elapsed: s.elapsed, base: s.base,
		slowStart: s.cfg.SlowStart.D(), staleAfter: s.cfg.Load.StaleAfter.D(),
	}
	f.panicking = n.total > 0 && s.cfg.PanicThreshold > 0 &&
		float64(n.usable) < s.cfg.PanicThreshold*float64(n.total)
	// A breaker protects a pool by sending its requests elsewhere. With nowhere
	// else to send them it would only refuse.
	f.ignoreTrips = f.panicking || (n.usable == 0 && tripped > 0)
	old := s.view.Load()
	n.panic = f.panicking
	n.panicking = f.panicking != (old != nil && old.Panic)
	if n.panicking && n.panic {
		s.counts.panics.Add(1)
	}
	s.version++
	s.view.Store(s.picture(f))
	for _, w := range s.watchers {
		select {
		case w <- struct{}{}:
		default: // one is waiting already
		}
	}
	return n
}

// picture builds the view.
func (s *Set) picture(f *facts) *View {
	v := &View{
		Version: s.version, Members: make([]Member, len(s.entries)), Panic: f.panicking,
		f: f, index: make(map[ReplicaID]int, len(s.entries)),
	}
	heterogeneous := s.heterogeneous()
	for i, e := range s.entries {
		v.Members[i] = Member{Replica: e.Replica, m: e.m, f: f, serves: s.serves(e, heterogeneous)}
		v.index[e.ID] = i
	}
	return v
}

// settle derives a member's state from what is known of it.
func (s *Set) settle(m *member) {
	switch {
	case m.draining:
		s.mark(m, StateDraining)
	case m.health == StateDown:
		s.mark(m, StateDown)
	case !m.breaker.Load().isClosed():
		s.mark(m, StateTripped)
	default:
		s.mark(m, m.health)
	}
}

// mark sets a state and remembers the change for the next publish.
func (s *Set) mark(m *member, to State) {
	from := State(m.state.Load())
	if from == to {
		return
	}
	now := s.now()
	m.state.Store(uint32(to))
	m.since = now
	s.counts.changes[to].Add(1)
	s.moves = append(s.moves, move{id: m.id, from: from, to: to, detail: m.detail})
	if to == StateReady && (from != StatePending || m.rampFrom.Load() == rampHeld) {
		m.rampFrom.Store(max(1, int64(now.Sub(s.base))))
	}
}

// mayTrip decides whether a breaker that wants to open may: never that of the
// last usable replica. It runs under the breaker's own mutex; the mark it leaves
// under mu keeps two replicas from each counting on the other.
func (s *Set) mayTrip(m *member, b *breaker) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.breaker.Load() != b {
		return false // replaced by a reload
	}
	for _, e := range s.entries {
		if e.m == m {
			continue
		}
		if st := State(e.m.state.Load()); (st == StatePending || st == StateReady) && e.m.breaker.Load().isClosed() {
			if m.health != StateDown && !m.draining {
				s.mark(m, StateTripped)
			}
			return true
		}
	}
	s.counts.lastStand.Add(1)
	return false
}

// serves lists the names that a replica answers to, nil for all.
func (s *Set) serves(e *entry, heterogeneous bool) []string {
	if len(e.Models) == 0 {
		if heterogeneous && len(e.m.models) > 0 {
			return e.m.models
		}
		return nil
	}
	list := slices.Clone(e.Models)
	for _, model := range s.cfg.Models {
		if slices.Contains(list, model.ID) {
			list = append(append(list, model.Aliases...), model.Adapters...)
		}
	}
	return list
}

// heterogeneous reports whether the engines of a pool without configured models
// list different ones. When all list the same, nothing is restricted: a name
// that none knows is answered by an engine, in its own words.
func (s *Set) heterogeneous() bool {
	if len(s.cfg.Models) > 0 {
		return false
	}
	var first []string
	for _, e := range s.entries {
		switch {
		case e.m.models == nil:
		case first == nil:
			first = e.m.models
		case !slices.Equal(first, e.m.models):
			return true
		}
	}
	return false
}

// birth says under which circumstances a replica appears.
type birth uint8

const (
	bootBirth birth = iota // with the pool: no ramp
	lateBirth              // into a running pool: ramps
)

// born makes the entry of a new life of a replica. The caller holds mu.
func (s *Set) born(r Replica, b birth) *entry {
	s.lastEpoch = max(s.lastEpoch+1, r.Epoch)
	r.Epoch = s.lastEpoch
	m := &member{id: r.ID, epoch: r.Epoch, left: make(chan struct{})}
	m.since = s.now()
	if b == lateBirth && s.cfg.SlowStart > 0 {
		m.rampFrom.Store(rampHeld)
	}
	if s.cfg.Health.Disabled {
		// Nobody will ever vouch for it, so it counts as ready from the start.
		m.health = StateReady
		m.state.Store(uint32(StateReady))
		if m.rampFrom.Load() == rampHeld {
			m.rampFrom.Store(max(1, int64(s.elapsed())))
		}
	}
	s.armBreaker(m)
	return &entry{Replica: r, m: m}
}

// armBreaker gives a member a fresh breaker by the settings in force.
func (s *Set) armBreaker(m *member) {
	m.breaker.Store(newBreaker(s.cfg.Breaker, s.elapsed, func(b *breaker) bool { return s.mayTrip(m, b) }))
}

// stopTimer ends the drain timer. The caller holds mu.
func (m *member) stopTimer() {
	if m.timer != nil {
		m.timer.Stop()
		m.timer = nil
	}
}

// startTimer arms the drain timer. The caller holds mu.
func (s *Set) startTimer(m *member) {
	if m.timer == nil && !s.closed && s.cfg.DrainTimeout > 0 {
		m.timer = time.AfterFunc(s.cfg.DrainTimeout.D(), func() { s.expel(m) })
	}
}

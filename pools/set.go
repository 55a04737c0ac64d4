package pools

import (
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"penstock/configs"
)

// Deps is what a Set or a Fleet needs from outside.
type Deps struct {
	Now func() time.Time // nil: time.Now
	Log *slog.Logger     // nil: discard
}

// filled replaces what was left out.
func (d Deps) filled() Deps {
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	return d
}

// Set is one pool of replicas. It is safe for concurrent use.
type Set struct {
	name string
	now  func() time.Time
	log  *slog.Logger
	base time.Time // elapsed time counts from here
	view atomic.Pointer[View]
	busy atomic.Int64 // nanoseconds: the longest window after a backpressure answer

	counts setCounts

	mu        sync.Mutex // guards everything below, and memberStatus of every member
	cfg       configs.Pool
	entries   []*entry  // in the order shown
	departing []*member // out of sight, with requests still running
	lastEpoch Epoch
	version   uint64
	moves     []move // state changes that no publish has reported yet
	watchers  []chan struct{}
	onModels  func() // called without mu after the models of the pool changed
	closed    bool
}

// entry is a replica as the next view will show it.
type entry struct {
	Replica
	m *member
}

// setCounts is what the metrics of a pool count.
type setCounts struct {
	changes   [StateDraining + 1]atomic.Uint64 // state changes by the new state
	panics    atomic.Uint64
	lastStand atomic.Uint64    // breakers kept closed because no other replica was usable
	probes    [2]atomic.Uint64 // failed, passed
	readings  [2]atomic.Uint64 // of engine load: failed, taken
}

// New returns the pool that cfg describes. It starts nothing.
func New(name string, cfg configs.Pool, deps Deps) (*Set, error) {
	deps = deps.filled()
	return newSet(name, cfg, deps, deps.Now())
}

// newSet is New with the instant that elapsed time counts from, which the pools
// of a fleet share.
func newSet(name string, cfg configs.Pool, deps Deps, base time.Time) (*Set, error) {
	if name == "" {
		return nil, errors.New("cannot make pool: it has no name")
	}
	s := &Set{name: name, now: deps.Now, log: deps.Log.With(slog.String("pool", name)), base: base}
	if err := checkPool(cfg); err != nil {
		return nil, err
	}
	s.configure(cfg)
	for _, r := range cfg.Replicas {
		s.entries = append(s.entries, s.born(fromConfig(r), bootBirth))
	}
	s.publish()
	return s, nil
}

// Name returns the pool's name.
func (s *Set) Name() string { return s.name }

// Config returns the configuration in force.
func (s *Set) Config() configs.Pool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cfg
}

// View returns the current picture. It does not lock.
func (s *Set) View() *View { return s.view.Load() }

// Acquire reserves a place on a replica by name. An epoch other than the
// current one is ErrGone.
func (s *Set) Acquire(id ReplicaID, ep Epoch, c Cost) (*Lease, error) {
	v := s.view.Load()
	i := v.Find(id)
	if i < 0 || v.Members[i].Epoch != ep {
		return nil, ErrGone
	}
	return s.AcquireMember(v.Members[i], c)
}

// Leases returns how many leases are out, on replicas that have left too. It is
// 0 when nothing runs; anything else is a leak.
func (s *Set) Leases() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := int64(0)
	for _, e := range s.entries {
		n += e.m.inFlight.Load()
	}
	for _, m := range s.departing {
		n += m.inFlight.Load()
	}
	return n
}

// InFlight is Leases without a lock, for budgets: it leaves out replicas that a
// new life has replaced.
func (s *Set) InFlight() int64 {
	n := int64(0)
	v := s.view.Load()
	for i := range v.Members {
		n += v.Members[i].m.inFlight.Load()
	}
	return n
}

// Watch returns a channel that receives after every change of membership or
// state, coalescing those not yet read, and a function that ends it.
func (s *Set) Watch() (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	s.mu.Lock()
	s.watchers = append(s.watchers, c)
	s.mu.Unlock()
	return c, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.watchers = slices.DeleteFunc(s.watchers, func(w chan struct{}) bool { return w == c })
	}
}

// Close stops the drain timers. Leases that are out may still be ended.
func (s *Set) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, e := range s.entries {
		e.m.stopTimer()
	}
	for _, m := range s.departing {
		m.stopTimer()
	}
}

func (s *Set) elapsed() time.Duration { return s.now().Sub(s.base) }

// busyFor bounds the window in which a busy replica is avoided: an engine that
// asks for an hour must not take itself out of the pool for one.
func (s *Set) busyFor(retryAfter time.Duration) time.Duration {
	if retryAfter <= 0 {
		retryAfter = busyWindow
	}
	return min(retryAfter, time.Duration(s.busy.Load()))
}

// configure takes over the settings of the pool. The caller holds mu or is the
// only one to know s.
func (s *Set) configure(cfg configs.Pool) {
	s.cfg = cfg
	s.busy.Store(int64(max(busyWindow, cfg.Retry.MaxRetryAfter.D())))
}

// find returns the entry of a replica, nil when there is none. The caller holds
// mu.
func (s *Set) find(id ReplicaID) *entry {
	for _, e := range s.entries {
		if e.ID == id {
			return e
		}
	}
	return nil
}

// follow publishes a breaker's change of state. It is called without locks, and
// costs one load when nothing changed.
func (s *Set) follow(b *breaker) {
	if b.changed.Load() && b.changed.Swap(false) {
		_ = s.change(func() error { return nil }) // f does not fail
	}
}

// change runs f under the lock, publishes the result and writes the log lines
// afterwards.
func (s *Set) change(f func() error) error {
	s.mu.Lock()
	if err := f(); err != nil {
		s.mu.Unlock()
		return err
	}
	news := s.publish()
	s.mu.Unlock()
	news.write(s.log)
	return nil
}

// Sync waits for a change under way: the view read next includes it. A replica is
// marked as leaving a moment before the view without it is published, so who finds
// nothing eligible calls this once before giving up.
func (s *Set) Sync() {
	s.mu.Lock()
	s.mu.Unlock() //nolint:gocritic,staticcheck // badLock, SA2001: the empty section is the wait
}

// rename is change for what may alter the model names of the pool.
func (s *Set) rename(f func() error) error {
	if err := s.change(f); err != nil {
		return err
	}
	s.modelsChanged()
	return nil
}

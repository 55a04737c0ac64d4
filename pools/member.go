package pools

import (
	"math"
	"slices"
	"sync/atomic"
	"time"

	"penstock/configs"
)

// rampFloor is the share a replica starts its ramp with: enough requests to
// warm it and to notice that it does not work.
const rampFloor = 0.1

// rampHeld as the start of a ramp keeps a replica at the floor: it was added to
// a running pool and no probe has seen it answer yet.
const rampHeld = math.MaxInt64

// member is the live part of one life of a replica, shared by all views that
// show it.
type member struct {
	inFlight atomic.Int64
	tokens   atomic.Int64
	_        [48]byte // the counters above change with every request; keep readers of the rest off their line

	state      atomic.Uint32 // a State; written under Set.mu
	avoidUntil atomic.Int64  // elapsed nanoseconds; until then the replica said it is busy
	// failedUntil: as avoidUntil, after a failure; a good answer clears it.
	failedUntil atomic.Int64
	rampFrom    atomic.Int64 // elapsed nanoseconds at which the ramp began; 0 none
	breaker     atomic.Pointer[breaker]
	reading     atomic.Pointer[reading]

	id    ReplicaID
	epoch Epoch
	left  chan struct{} // closed when the replica left the pool for good

	memberStatus // guarded by Set.mu
}

// memberStatus is what the writers of a Set keep about a replica.
type memberStatus struct {
	health    State // StatePending, StateReady or StateDown
	failures  int   // probes failed in a row
	successes int   // probes passed in a row
	detail    string
	draining  bool
	removing  bool // leaves the pool once drained
	timer     *time.Timer
	since     time.Time // of the published state
	kind      configs.Engine
	models    []string // as the engine lists them; nil unknown
	modelLen  int      // the engine's context length, 0 unknown
}

// reading is one report of an engine's load.
type reading struct {
	EngineLoad
	at time.Duration // elapsed
}

// facts is what all members of one view share.
type facts struct {
	elapsed     func() time.Duration
	base        time.Time
	slowStart   time.Duration
	staleAfter  time.Duration
	panicking   bool
	ignoreTrips bool // panicking, or nothing is left but tripped replicas
}

// Elapsed turns an instant into the pool's own monotonic time, which is what
// the methods ending in At take.
func (v *View) Elapsed(t time.Time) time.Duration {
	if v.f == nil {
		return 0
	}
	return t.Sub(v.f.base)
}

// Find returns the position of a replica in the view, -1 when it has none.
func (v *View) Find(id ReplicaID) int {
	if i, ok := v.index[id]; ok {
		return i
	}
	return -1
}

// State returns the state of the replica now, which may be newer than the view.
func (m *Member) State() State { return State(m.m.state.Load()) }

// Load returns the load of the replica now.
func (m *Member) Load() Load { return m.LoadAt(m.f.elapsed()) }

// LoadAt is Load for a caller that knows the time already (see View.Elapsed).
func (m *Member) LoadAt(now time.Duration) Load {
	l := Load{
		InFlight: int(m.m.inFlight.Load()), Tokens: m.m.tokens.Load(),
		Running: -1, Waiting: -1, KVUsage: -1, Ramp: m.RampAt(now),
	}
	if r := m.m.reading.Load(); r != nil && (m.f.staleAfter <= 0 || now-r.at <= m.f.staleAfter) {
		l.Running, l.Waiting, l.KVUsage = r.Running, r.Waiting, r.KVUsage
	}
	return l
}

// InFlight returns how many requests this gateway has leased on the replica.
func (m *Member) InFlight() int { return int(m.m.inFlight.Load()) }

// RampAt returns the share of its weight that the replica should get, 0..1.
func (m *Member) RampAt(now time.Duration) float64 {
	from := m.m.rampFrom.Load()
	if from == 0 || m.f.slowStart <= 0 {
		return 1
	}
	if from == rampHeld {
		return rampFloor
	}
	done := float64(now-time.Duration(from)) / float64(m.f.slowStart)
	if done >= 1 {
		m.m.rampFrom.CompareAndSwap(from, 0) // over: spares later readers the division
		return 1
	}
	return rampFloor + (1-rampFloor)*max(done, 0)
}

// Eligible reports whether the replica may take a request for the model now.
// An empty model asks for any.
func (m *Member) Eligible(model string) bool {
	if m.State() != StateTripped {
		return m.EligibleAt(model, 0) // time matters for tripped ones only
	}
	return m.EligibleAt(model, m.f.elapsed())
}

// EligibleAt is Eligible for a caller that knows the time already. In a panic
// health and breakers are ignored; draining, a full replica and a wrong model
// never are.
func (m *Member) EligibleAt(model string, now time.Duration) bool {
	switch m.State() {
	case StatePending, StateReady:
	case StateDown:
		if !m.f.panicking {
			return false
		}
	case StateTripped:
		if !m.f.ignoreTrips && !m.m.breaker.Load().testable(now) {
			return false
		}
	case StateDraining:
		return false
	}
	if m.MaxConcurrency > 0 && m.m.inFlight.Load() >= int64(m.MaxConcurrency) {
		return false
	}
	return m.Serves(model)
}

// Serves reports whether the replica answers to the name. It knows only what
// the configuration or the engine listed; with neither, every name is served
// and the engine itself says what it thinks of it.
func (m *Member) Serves(model string) bool {
	return m.serves == nil || model == "" || slices.Contains(m.serves, model)
}

// AvoidedAt reports whether the replica said a moment ago that it is busy, or
// failed.
// Policies then prefer others and take it only when there is none.
func (m *Member) AvoidedAt(now time.Duration) bool {
	return int64(now) < m.m.avoidUntil.Load() || int64(now) < m.m.failedUntil.Load()
}

// SoundAt reports whether nothing speaks against the replica: it is up, not
// busy, and not merely kept in use because it is the last one.
func (m *Member) SoundAt(now time.Duration) bool {
	switch m.State() {
	case StatePending, StateReady:
		return !m.AvoidedAt(now) && !m.m.breaker.Load().isHeld()
	case StateDown, StateTripped, StateDraining:
	}
	return false
}

// avoid keeps the latest of the ends asked for.
func (m *member) avoid(until time.Duration) {
	for {
		old := m.avoidUntil.Load()
		if int64(until) <= old || m.avoidUntil.CompareAndSwap(old, int64(until)) {
			return
		}
	}
}

// enter counts a request in, unless the limit is reached.
func (m *member) enter(limit int) bool {
	if limit <= 0 {
		m.inFlight.Add(1)
		return true
	}
	for {
		n := m.inFlight.Load()
		if n >= int64(limit) {
			return false
		}
		if m.inFlight.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

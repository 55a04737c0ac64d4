package pools

import (
	"slices"
	"time"

	"penstock/configs"
)

// ReportProbe takes the result of one active probe. The pool's fall and rise
// decide when it changes the state; the first passed probe of a new replica is
// enough. Reports about a life that is over are dropped.
func (s *Set) ReportProbe(id ReplicaID, ep Epoch, ok bool, detail string) {
	s.counts.probes[index(ok)].Add(1)
	s.mu.Lock()
	e := s.find(id)
	if e == nil || e.Epoch != ep || !e.m.probed(ok, detail, s.cfg.Health) {
		s.mu.Unlock()
		return
	}
	n := s.publish()
	s.mu.Unlock()
	n.write(s.log)
}

// probed counts a result and reports whether the health changed.
func (m *member) probed(ok bool, detail string, cfg configs.Health) bool {
	m.detail = detail
	if ok {
		m.failures = 0
		m.successes++
		if m.health == StateReady || (m.health == StateDown && m.successes < cfg.Rise) {
			return false
		}
		m.health = StateReady
		return true
	}
	m.successes = 0
	m.failures++
	if m.health == StateDown || m.failures < cfg.Fall {
		return false
	}
	m.health = StateDown
	return true
}

// ReportLoad takes one reading of an engine's own metrics. It is shown until it
// is older than the pool's stale_after; an unchanged reading is as good as a
// new one, since engines do not move their gauges while idle.
func (s *Set) ReportLoad(id ReplicaID, ep Epoch, l EngineLoad) {
	s.counts.readings[1].Add(1)
	v := s.view.Load()
	i := v.Find(id)
	if i < 0 || v.Members[i].Epoch != ep {
		return
	}
	at := s.elapsed()
	if !l.At.IsZero() {
		at = min(at, l.At.Sub(s.base))
	}
	v.Members[i].m.reading.Store(&reading{EngineLoad: l, at: at})
}

// ReportLoadFailed counts a reading that could not be taken. It says nothing
// about health: the last reading is shown until it is stale.
func (s *Set) ReportLoadFailed() { s.counts.readings[0].Add(1) }

func index(ok bool) int {
	if ok {
		return 1
	}
	return 0
}

// ReportModels takes the model names that an engine lists.
func (s *Set) ReportModels(id ReplicaID, ep Epoch, models []string) {
	models = slices.Clone(models)
	slices.Sort(models)
	models = slices.Compact(models)
	if len(models) == 0 {
		return // an engine that lists nothing has not told us anything
	}
	s.report(id, ep, func(m *member) bool {
		changed := !slices.Equal(m.models, models)
		m.models = models
		return changed
	})
}

// ReportEngine takes what kind of engine a replica turned out to be and its
// context length (0 unknown).
func (s *Set) ReportEngine(id ReplicaID, ep Epoch, kind configs.Engine, maxModelLen int) {
	s.report(id, ep, func(m *member) bool {
		changed := m.kind != kind // who watches the pool may go by the kind
		m.kind = kind
		if maxModelLen > 0 {
			m.modelLen = maxModelLen
		}
		return changed
	})
}

// report runs f on a member and publishes when it says that something changed.
func (s *Set) report(id ReplicaID, ep Epoch, f func(*member) bool) {
	s.mu.Lock()
	e := s.find(id)
	if e == nil || e.Epoch != ep || !f(e.m) {
		s.mu.Unlock()
		return
	}
	n := s.publish()
	s.mu.Unlock()
	n.write(s.log)
	s.modelsChanged()
}

// Engine returns what kind of engine a replica is: the configured one, or what
// was found, or EngineAuto while nothing is known.
func (s *Set) Engine(id ReplicaID) configs.Engine {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.engine(s.find(id))
}

func (s *Set) engine(e *entry) configs.Engine {
	switch {
	case s.cfg.Engine != "" && s.cfg.Engine != configs.EngineAuto:
		return s.cfg.Engine
	case e != nil && e.m.kind != "":
		return e.m.kind
	default:
		return configs.EngineAuto
	}
}

// modelsChanged tells the fleet, without any lock held.
func (s *Set) modelsChanged() {
	s.mu.Lock()
	f := s.onModels
	s.mu.Unlock()
	if f != nil {
		f()
	}
}

// Status is one replica as the admin API prints it.
type Status struct {
	Pool           string            `json:"pool"`
	ID             ReplicaID         `json:"id"`
	Epoch          Epoch             `json:"epoch"`
	URL            string            `json:"url"`
	Engine         configs.Engine    `json:"engine"`
	State          string            `json:"state"`
	Since          time.Time         `json:"since"`
	Detail         string            `json:"detail,omitempty"` // of the last probe
	Breaker        string            `json:"breaker"`          // off, closed, open, half_open
	Weight         int               `json:"weight"`
	Ranks          int               `json:"ranks"`
	MaxConcurrency int               `json:"max_concurrency"`
	InFlight       int               `json:"in_flight"`
	Tokens         int64             `json:"tokens"`
	Running        int               `json:"running"`  // -1 unknown
	Waiting        int               `json:"waiting"`  // -1 unknown
	KVUsage        float64           `json:"kv_usage"` // -1 unknown
	LoadAgeSeconds float64           `json:"load_age_seconds"`
	Ramp           float64           `json:"ramp"`
	Avoided        bool              `json:"avoided"` // it said a moment ago that it is busy
	Registered     bool              `json:"registered"`
	Models         []string          `json:"models,omitempty"`
	MaxModelLen    int               `json:"max_model_len,omitempty"`
	Labels         map[string]string `json:"labels,omitempty"`
}

// Snapshot returns the replicas as the admin API prints them, in stable order.
func (s *Set) Snapshot() []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.elapsed()
	out := make([]Status, 0, len(s.entries))
	v := s.view.Load()
	for i, e := range s.entries {
		m := v.Members[i] // entries and the view change together, under mu
		l := m.LoadAt(now)
		st := Status{
			Pool: s.name, ID: e.ID, Epoch: e.Epoch, URL: e.URL, Engine: s.engine(e),
			State: m.State().String(), Since: e.m.since, Detail: e.m.detail, Breaker: e.m.breaker.Load().label(now),
			Weight: e.Weight, Ranks: e.Ranks, MaxConcurrency: e.MaxConcurrency,
			InFlight: l.InFlight, Tokens: l.Tokens, Running: l.Running, Waiting: l.Waiting, KVUsage: l.KVUsage,
			LoadAgeSeconds: -1, Ramp: l.Ramp, Avoided: m.AvoidedAt(now), Registered: e.Registered,
			Models: e.m.models, MaxModelLen: e.m.modelLen, Labels: e.Labels,
		}
		if len(e.Models) > 0 {
			st.Models = e.Models
		}
		if r := e.m.reading.Load(); r != nil {
			st.LoadAgeSeconds = (now - r.at).Seconds()
		}
		out = append(out, st)
	}
	return out
}

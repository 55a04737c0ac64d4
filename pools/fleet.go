package pools

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"penstock/configs"
)

// Fleet is all pools and the way from a model name to one of them. It is safe
// for concurrent use.
type Fleet struct {
	deps  Deps
	base  time.Time
	table atomic.Pointer[table]

	mu      sync.Mutex // guards what follows
	sets    []*Set     // in the order of the configuration
	retired []*Set     // removed by a reload, with requests still running
}

// table is one immutable picture of which name leads where.
type table struct {
	sets     []*Set
	names    map[string]target
	models   []ModelName
	fallback *Set // for names that nobody claims; nil when no pool is the default
}

// target is where a name leads.
type target struct {
	set     *Set
	id      string // name that the engine knows
	aliased bool
}

// ModelName is a name that clients may use.
type ModelName struct {
	Name string
	ID   string // name that the engine knows; differs from Name for an alias
	Pool string
}

// NewFleet returns the pools that cfg describes. It starts nothing.
func NewFleet(cfg []configs.Pool, deps Deps) (*Fleet, error) {
	deps = deps.filled()
	f := &Fleet{deps: deps, base: deps.Now()}
	if err := f.Apply(cfg); err != nil {
		return nil, err
	}
	return f, nil
}

// Lookup finds the pool that serves a model and the name that its engines know
// it by; aliased says that the two names differ. A name that no pool claims, and
// the empty name, lead to the default pool, or to the only one, unchanged.
func (f *Fleet) Lookup(model string) (set *Set, id string, aliased, ok bool) {
	t := f.table.Load()
	if to, found := t.names[model]; found {
		return to.set, to.id, to.aliased, true
	}
	return t.fallback, model, false, t.fallback != nil
}

// Models lists the names that clients may use, in stable order.
func (f *Fleet) Models() []ModelName { return f.table.Load().models }

// Pools returns the pools in the order of the configuration. The slice must not
// be changed.
func (f *Fleet) Pools() []*Set { return f.table.Load().sets }

// Pool returns a pool by name, nil when there is none.
func (f *Fleet) Pool(name string) *Set {
	for _, s := range f.table.Load().sets {
		if s.name == name {
			return s
		}
	}
	return nil
}

// Elapsed turns an instant into the monotonic time that all pools share.
func (f *Fleet) Elapsed(t time.Time) time.Duration { return t.Sub(f.base) }

// Apply takes over a new list of pools, all of it or, on an error, nothing.
// Pools are told apart by name; one that is gone drains.
func (f *Fleet) Apply(cfg []configs.Pool) error {
	if err := checkPools(cfg); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	next := make([]*Set, 0, len(cfg))
	for _, c := range cfg {
		s := find(f.sets, c.Name)
		if s == nil {
			var err error
			if s, err = newSet(c.Name, c, f.deps, f.base); err != nil {
				return err // cannot be: checked above
			}
			s.onModels = f.rebuild
		}
		next = append(next, s)
	}
	for i, c := range cfg {
		if slices.Contains(f.sets, next[i]) {
			next[i].apply(c)
		}
	}
	for _, s := range f.sets {
		if !slices.Contains(next, s) {
			s.retireAll()
			f.retired = append(f.retired, s)
		}
	}
	f.retired = slices.DeleteFunc(f.retired, func(s *Set) bool { return s.Leases() == 0 })
	f.sets = next
	f.store()
	return nil
}

func find(sets []*Set, name string) *Set {
	for _, s := range sets {
		if s.name == name {
			return s
		}
	}
	return nil
}

func checkPools(cfg []configs.Pool) error {
	var errs []error
	for i, c := range cfg {
		if c.Name == "" {
			errs = append(errs, fmt.Errorf("cannot make pool %d: it has no name", i))
		}
		if slices.ContainsFunc(cfg[:i], func(p configs.Pool) bool { return p.Name == c.Name }) {
			errs = append(errs, fmt.Errorf("cannot make pool %q twice", c.Name))
		}
		if err := checkPool(c); err != nil {
			errs = append(errs, fmt.Errorf("cannot make pool %q: %w", c.Name, err))
		}
	}
	return errors.Join(errs...)
}

// Leases returns how many leases are out, on pools that are gone too.
func (f *Fleet) Leases() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := int64(0)
	for _, s := range f.sets {
		n += s.Leases()
	}
	for _, s := range f.retired {
		n += s.Leases()
	}
	return n
}

// Snapshot returns all replicas as the admin API prints them.
func (f *Fleet) Snapshot() []Status {
	var out []Status
	for _, s := range f.Pools() {
		out = append(out, s.Snapshot()...)
	}
	return out
}

// Close stops the drain timers of all pools.
func (f *Fleet) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range slices.Concat(f.sets, f.retired) {
		s.Close()
	}
}

// rebuild works out the names again after an engine listed new ones.
func (f *Fleet) rebuild() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.store()
}

// store builds the table. The caller holds mu.
func (f *Fleet) store() {
	t := &table{sets: slices.Clone(f.sets), names: map[string]target{}}
	claim := func(name, id string, s *Set) {
		if _, taken := t.names[name]; taken || name == "" {
			return // the pool that stands first in the file wins
		}
		t.names[name] = target{set: s, id: id, aliased: name != id}
		t.models = append(t.models, ModelName{Name: name, ID: id, Pool: s.name})
	}
	for _, s := range f.sets {
		for _, m := range s.Config().Models {
			claim(m.ID, m.ID, s)
			for _, alias := range m.Aliases {
				claim(alias, m.ID, s)
			}
			for _, adapter := range m.Adapters {
				claim(adapter, adapter, s)
			}
		}
	}
	for _, s := range f.sets { // after all that is configured: a listing cannot take a configured name
		for _, id := range s.listed() {
			claim(id, id, s)
		}
		if s.Config().Default {
			t.fallback = s
		}
	}
	if t.fallback == nil && len(f.sets) == 1 {
		t.fallback = f.sets[0]
	}
	f.table.Store(t)
}

// listed returns the names that the pool's engines list, when the configuration
// names none: replicas' own models first, then what was learned.
func (s *Set) listed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, e := range s.entries {
		out = append(out, e.Models...)
		if len(s.cfg.Models) == 0 {
			out = append(out, e.m.models...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// retireAll drains the whole pool.
func (s *Set) retireAll() {
	_ = s.change(func() error { // f does not fail
		for _, e := range slices.Clone(s.entries) {
			s.retire(e)
		}
		return nil
	})
}

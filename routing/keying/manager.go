package keying

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"penstock/configs"
	"penstock/pools"
	"penstock/pools/engine"
	"penstock/routing/internal/gmac"
	"penstock/routing/keys"
)

// Deps are what a Manager works with.
type Deps struct {
	Log     *slog.Logger
	Metrics prometheus.Registerer
	// AllowAddr is asked before connecting to a replica that was registered at run
	// time; nil: all addresses.
	AllowAddr func(netip.Addr) error
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// After is the timer; nil: time.After.
	After func(time.Duration) <-chan time.Time

	files files // nil: from disk
}

// Manager has the Source of each pool. It is safe for concurrent use.
type Manager struct {
	deps    Deps
	secret  [keys.SecretSize]byte // of the memo
	tags    gmac.Key              // of fingerprints
	metrics *metrics
	changed chan struct{}

	mu      sync.Mutex // guards all below
	sources map[*pools.Set]*Source
}

// New returns a Manager without pools. It starts nothing.
func New(d Deps) (*Manager, error) {
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.After == nil {
		d.After = time.After
	}
	if d.files == nil {
		d.files = disk{}
	}
	m := &Manager{deps: d, changed: make(chan struct{}, 1), sources: map[*pools.Set]*Source{}}
	var secret [gmac.SecretSize]byte
	_, err := rand.Read(m.secret[:])
	if err == nil {
		_, err = rand.Read(secret[:])
	}
	if err != nil {
		return nil, fmt.Errorf("cannot draw a secret: %w", err)
	}
	if m.tags, err = gmac.New(secret[:]); err != nil {
		return nil, fmt.Errorf("cannot key fingerprints: %w", err)
	}
	m.metrics = newMetrics(d.Metrics)
	d.Metrics.MustRegister(&collector{m})
	return m, nil
}

// Source returns the source of a pool under these settings. It is the same one for
// as long as the pool lives: new settings reach it here, and what serves under the
// old ones stays until Run has built what the new ones ask for.
func (m *Manager) Source(set *pools.Set, cfg *configs.Pool) *Source {
	m.mu.Lock()
	s := m.sources[set]
	if s == nil {
		s = m.newSource(set)
		m.sources[set] = s
	}
	m.mu.Unlock()
	s.configure(cfg.Tokenizer, cfg.TLS)
	m.signal()
	return s
}

func (m *Manager) newSource(set *pools.Set) *Source {
	pm := m.metrics.of(set.Name())
	return &Source{
		set: set, log: m.deps.Log, now: m.deps.Now, files: m.deps.files, secret: m.secret[:], metrics: pm,
		remote: newRemote(m.tags, m.deps.Now, m.deps.After, pm), wake: make(chan struct{}, 1),
		checks: map[life]*check{}, dial: m.dial, asker: newAsker(set), redial: true,
	}
}

// dial makes the client of a pool.
func (m *Manager) dial(secure *tls.Config) *engine.Client {
	return engine.NewClient(engine.Options{TLS: secure, AllowAddr: m.deps.AllowAddr, IdleTimeout: idleTimeout})
}

// idleTimeout is below the five seconds after which engines close.
const idleTimeout = 3 * time.Second

// Keep forgets the sources of all other pools.
func (m *Manager) Keep(sets []*pools.Set) {
	kept, names := make(map[*pools.Set]bool, len(sets)), make(map[string]bool, len(sets))
	for _, set := range sets {
		kept[set], names[set.Name()] = true, true
	}
	m.mu.Lock()
	for set, s := range m.sources {
		if kept[set] {
			continue
		}
		delete(m.sources, set)
		if !names[set.Name()] { // else a new pool has taken the name and the rows over
			s.metrics.gone.Store(true)
			m.metrics.forget(set.Name())
		}
	}
	m.mu.Unlock()
	m.signal()
}

// Find returns the source of a pool, nil when there is none.
func (m *Manager) Find(set *pools.Set) *Source {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sources[set]
}

func (m *Manager) each(f func(*pools.Set, *Source)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for set, s := range m.sources {
		f(set, s)
	}
}

func (m *Manager) signal() {
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// Run loads, compares and asks for all pools until ctx ends.
func (m *Manager) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	running := map[*Source]context.CancelFunc{}
	defer func() {
		for _, stop := range running {
			stop()
		}
	}()
	for {
		now := map[*Source]bool{}
		m.each(func(_ *pools.Set, s *Source) { now[s] = true })
		for s := range now {
			if running[s] == nil {
				own, stop := context.WithCancel(ctx)
				running[s] = stop
				wg.Go(func() { s.run(own) })
			}
		}
		for s, stop := range running {
			if !now[s] {
				stop()
				delete(running, s)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-m.changed:
		}
	}
}

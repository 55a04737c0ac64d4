package proxy

import (
	"crypto/tls"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"penstock/configs"
	"penstock/pools"
	"penstock/proxy/upstream"
	"penstock/routing"
	"penstock/routing/keying"
)

// backend is one pool as the proxy sees it: whom to ask, by which rule, and the
// connections to each replica. It is replaced as a whole by a reload; its
// targets move to its successor.
type backend struct {
	cfg     configs.Pool
	set     *pools.Set
	policy  routing.Policy
	hashes  bool // the policy goes by session or prefix
	budget  *routing.RetryBudget
	active  atomic.Int64 // requests in flight, for the budget
	turn    atomic.Uint64
	targets *targets
	chosen  [routing.ReasonPanic + 1]atomic.Pointer[prometheus.Counter]
	keys    *keying.Source    // nil: prompts are not keyed
	bases   map[string]string // adapter -> the model that it is on
	secret  []byte            // "Bearer ..." sent when the gateway has keys of its own
}

// targets holds the connections to the replicas of one pool.
type targets struct {
	cfg    configs.Pool
	secure *tls.Config
	allow  func(netip.Addr) error
	now    func() time.Time

	current atomic.Pointer[targetList]

	mu     sync.Mutex // guards closed, byKey and the storing of current
	closed bool
	byKey  map[targetKey]*upstream.Target
}

// targetList is aligned with the members of the view of that version.
type targetList struct {
	version uint64
	list    []*upstream.Target
}

// targetKey is one life of a replica at one address.
type targetKey struct {
	id    pools.ReplicaID
	epoch pools.Epoch
	url   string
}

func newTargets(cfg configs.Pool, secure *tls.Config, now func() time.Time) *targets {
	return &targets{cfg: cfg, secure: secure, now: now, byKey: map[targetKey]*upstream.Target{}}
}

// at returns the connections of member i of the view.
func (t *targets) at(v *pools.View, i int) (*upstream.Target, error) {
	cur := t.current.Load()
	if cur == nil || cur.version != v.Version {
		cur = t.refresh(v)
	}
	if target := cur.list[i]; target != nil {
		return target, nil
	}
	return nil, fmt.Errorf("cannot reach replica %q: its address is not usable", v.Members[i].ID)
}

// refresh builds the list of a view, keeping connections of replicas that stay.
func (t *targets) refresh(v *pools.View) *targetList {
	t.mu.Lock()
	defer t.mu.Unlock()
	// A view older than the current one must neither close nor open anything:
	// what it has and the current one lacks is gone.
	cur := t.current.Load()
	stale := t.closed || cur != nil && cur.version > v.Version
	next := &targetList{version: v.Version, list: make([]*upstream.Target, len(v.Members))}
	keep := make(map[targetKey]*upstream.Target, len(v.Members))
	for i := range v.Members {
		m := &v.Members[i]
		key := targetKey{m.ID, m.Epoch, m.URL}
		target := t.byKey[key]
		if target == nil && !stale {
			target, _ = upstream.NewTarget(t.config(m.URL, m.Registered)) // nil is reported by at
		}
		if target != nil {
			keep[key] = target
		}
		next.list[i] = target
	}
	if stale {
		return next
	}
	for key, target := range t.byKey {
		if keep[key] == nil {
			target.Close()
		}
	}
	t.byKey = keep
	t.current.Store(next)
	return next
}

func (t *targets) config(url string, registered bool) upstream.TargetConfig {
	c := upstream.TargetConfig{
		URL: url, TLS: t.secure, Now: t.now,
		MaxIdle:     t.cfg.Connections.MaxIdle,
		IdleTimeout: t.cfg.Connections.IdleTimeout.D(),
		KeepAlive:   t.cfg.Connections.KeepAlive.D(),
		UserTimeout: t.cfg.Connections.UserTimeout.D(),
		DialTimeout: t.cfg.Timeouts.Dial.D(),
	}
	if registered {
		c.AllowAddr = t.allow
	}
	return c
}

// each calls f for every target in use.
func (t *targets) each(f func(id pools.ReplicaID, target *upstream.Target)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, target := range t.byKey {
		f(key.id, target)
	}
}

func (t *targets) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, target := range t.byKey {
		target.Close()
	}
	t.closed = true
	t.byKey = map[targetKey]*upstream.Target{}
	t.current.Store(nil)
}

package proxy

import (
	"fmt"
	"reflect"

	"penstock/configs"
	"penstock/pools"
	"penstock/proxy/auth"
	"penstock/proxy/upstream"
	"penstock/routing"
)

// state is everything that a reload replaces, as one value: a request sees the
// old configuration or the new one, never a mixture.
type state struct {
	cfg          *configs.Config
	routes       routeTable
	keys         *auth.Store
	allow        *requestHeaders
	responseDeny []string
	requestIDs   []string
	injectUsage  bool
	backends     []*backend
	models       *modelList
}

// Apply swaps in a configuration, the fleet's part included. On error nothing
// changes: all that can fail comes before the fleet is told.
func (s *Server) Apply(cfg *configs.Config) error {
	s.apply.Lock()
	defer s.apply.Unlock()
	old := s.state.Load()
	next, err := s.buildState(cfg)
	if err != nil {
		return err
	}
	if err := s.fleet.Apply(cfg.Pools); err != nil {
		return err
	}
	for _, be := range next.backends {
		be.join(s.fleet.Pool(be.cfg.Name), old)
	}
	s.joinKeys(next)
	s.state.Store(next)
	if old == nil {
		return nil
	}
	kept := map[*targets]bool{}
	for _, be := range next.backends {
		kept[be.targets] = true
	}
	for _, be := range old.backends {
		if !kept[be.targets] {
			be.targets.close()
		}
	}
	return nil
}

func (s *Server) buildState(cfg *configs.Config) (*state, error) {
	keys, err := auth.New(cfg.Auth, s.now)
	if err != nil {
		return nil, err
	}
	st := &state{
		cfg: cfg, keys: keys, routes: newRouteTable(cfg.Routes.Passthrough, cfg.Routes.PassthroughAll),
		allow:       newRequestHeaders(cfg.Headers.RequestAllow),
		injectUsage: cfg.Usage.Audit == configs.AuditInject,
		requestIDs:  cfg.Headers.RequestIDs,
		models:      &modelList{},
	}
	if len(st.requestIDs) == 0 {
		st.requestIDs = []string{"X-Request-Id"}
	}
	for _, n := range cfg.Headers.ResponseDeny {
		st.responseDeny = append(st.responseDeny, toLower(n))
	}
	for i := range cfg.Pools {
		be, err := s.buildBackend(&cfg.Pools[i])
		if err != nil {
			return nil, fmt.Errorf("cannot build pool %q: %w", cfg.Pools[i].Name, err)
		}
		st.backends = append(st.backends, be)
	}
	return st, nil
}

func (s *Server) buildBackend(p *configs.Pool) (*backend, error) {
	policy, err := routing.New(p.Policy, p.PolicyOptions)
	if err != nil {
		return nil, err
	}
	be := &backend{
		cfg: *p, policy: policy,
		hashes: p.Policy == configs.PolicySession || p.Policy == configs.PolicyConsistentHash,
		budget: routing.NewRetryBudget(p.Retry.BudgetPercent, p.Retry.BudgetMin),
	}
	for _, m := range p.Models {
		for _, name := range m.Adapters {
			if be.bases == nil {
				be.bases = map[string]string{}
			}
			be.bases[name] = m.ID
		}
	}
	if p.Secret.Set() {
		be.secret = []byte("Bearer " + p.Secret.Reveal())
	}
	secure, err := pools.ClientTLS(p.TLS)
	if err != nil {
		return nil, err
	}
	be.targets = newTargets(*p, secure, s.now)
	be.targets.allow = s.allowAddr
	return be, nil
}

// join gives a backend its pool, and the connections that its predecessor has.
func (be *backend) join(set *pools.Set, old *state) {
	if set == nil {
		panic("BUG: proxy: the fleet lacks a pool that it was just given")
	}
	be.set = set
	if old == nil {
		return
	}
	for _, o := range old.backends {
		if o.set == set && sameTargets(&o.cfg, &be.cfg) {
			be.targets = o.targets
		}
	}
}

// sameTargets reports whether connections made under one configuration serve
// the other. TLS files may have changed under the same name, so https pools
// always connect anew.
func sameTargets(a, b *configs.Pool) bool {
	return a.Connections == b.Connections && a.Timeouts.Dial == b.Timeouts.Dial &&
		reflect.DeepEqual(a.TLS, b.TLS) && a.TLS == (configs.ClientTLS{})
}

// pool finds the backend that serves a model name and the name the engine knows
// it by. A name that leads to a pool unknown to the request's state has met a
// reload half way: it is looked up again once that is through, and the request
// goes on with the new state.
func (x *exchange) pool(name string) (be *backend, id string, aliased bool) {
	be, id, aliased = x.server.pool(x.st, name)
	if be == nil {
		x.server.apply.Lock()
		x.st = x.server.state.Load()
		x.server.apply.Unlock()
		be, id, aliased = x.server.pool(x.st, name)
	}
	return be, id, aliased
}

func (s *Server) pool(st *state, name string) (be *backend, id string, aliased bool) {
	set, id, aliased, ok := s.fleet.Lookup(name)
	if !ok {
		return nil, "", false
	}
	for _, be := range st.backends {
		if be.set == set {
			return be, id, aliased
		}
	}
	return nil, "", false
}

func sweepTarget(_ pools.ReplicaID, t *upstream.Target) { t.Sweep() }

func toLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
	return string(b)
}

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

// Apply builds the state of a configuration and swaps it in. On error nothing
// changes. The fleet must have been told of cfg before.
func (s *Server) Apply(cfg *configs.Config) error {
	s.apply.Lock()
	defer s.apply.Unlock()
	old := s.state.Load()
	next, err := s.buildState(cfg, old)
	if err != nil {
		return err
	}
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

func (s *Server) buildState(cfg *configs.Config, old *state) (*state, error) {
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
		be, err := s.buildBackend(&cfg.Pools[i], old)
		if err != nil {
			return nil, fmt.Errorf("cannot build pool %q: %w", cfg.Pools[i].Name, err)
		}
		st.backends = append(st.backends, be)
	}
	return st, nil
}

func (s *Server) buildBackend(p *configs.Pool, old *state) (*backend, error) {
	policy, err := routing.New(p.Policy, p.PolicyOptions)
	if err != nil {
		return nil, err
	}
	set := s.fleet.Pool(p.Name)
	if set == nil {
		return nil, fmt.Errorf("cannot find pool %q in the fleet", p.Name)
	}
	be := &backend{
		cfg: *p, set: set, policy: policy,
		hashes: p.Policy == configs.PolicySession || p.Policy == configs.PolicyConsistentHash,
		budget: routing.NewRetryBudget(p.Retry.BudgetPercent, p.Retry.BudgetMin),
	}
	if p.Secret.Set() {
		be.secret = []byte("Bearer " + p.Secret.Reveal())
	}
	if old != nil {
		for _, o := range old.backends {
			if o.cfg.Name == p.Name && o.set == set && sameTargets(&o.cfg, p) {
				be.targets = o.targets
				return be, nil
			}
		}
	}
	secure, err := pools.ClientTLS(p.TLS)
	if err != nil {
		return nil, err
	}
	be.targets = newTargets(*p, secure, s.now)
	be.targets.allow = s.allowAddr
	return be, nil
}

// sameTargets reports whether connections made under one configuration serve
// the other. TLS files may have changed under the same name, so https pools
// always connect anew.
func sameTargets(a, b *configs.Pool) bool {
	return a.Connections == b.Connections && a.Timeouts.Dial == b.Timeouts.Dial &&
		reflect.DeepEqual(a.TLS, b.TLS) && a.TLS == (configs.ClientTLS{})
}

// pool finds the backend that serves a model name and the name the engine knows
// it by.
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

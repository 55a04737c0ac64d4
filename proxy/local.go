package proxy

import (
	"penstock/pools"
)

const (
	routeHealth = "health"
	routeModels = "models"
)

// local answers what the gateway knows by itself.
func (x *exchange) local() (done bool, err error) {
	switch x.route.name {
	case routeHealth:
		x.answerHealth()
		return true, nil
	case routeModels:
		if !x.st.needsMerge() {
			return false, nil
		}
		return true, x.answerModels()
	}
	return false, nil
}

// answerHealth speaks for the fleet as an engine speaks for itself: 200 with an
// empty body when some pool can serve, else 503.
func (x *exchange) answerHealth() {
	x.outcome = pools.OutcomeOK
	x.status = 503
	if ok, _ := x.server.Ready(); ok {
		x.status = 200
	}
	x.ctx.SetStatusCode(x.status)
	x.ownFields(&x.ctx.Response.Header)
}

// Ready reports whether requests can be served: not shutting down, and at least
// one replica takes them.
func (s *Server) Ready() (bool, string) {
	if s.stopping.Load() || s.unready.Load() {
		return false, "shutting down"
	}
	for _, be := range s.state.Load().backends {
		view := be.set.View()
		for i := range view.Members {
			// Health counts here even in a panic: somebody else in front of us
			// may know of a healthier gateway.
			if st := view.Members[i].State(); st == pools.StateReady || st == pools.StatePending {
				return true, ""
			}
		}
	}
	return false, "no replica is available"
}

// SetUnready makes the gateway report that it is going away, while it still
// serves: load balancers need that time to notice.
func (s *Server) SetUnready() { s.unready.Store(true) }

// localRoute serves what is mounted on the data listener besides the API. It
// manages the fleet, so with keys it takes a trusted one; without keys it is as
// open as the routers that it imitates, and only their flags switch it on.
func (s *Server) localRoute(x *exchange) bool {
	if x.st.keys.Required() {
		p, err := x.st.principal(&x.ctx.Request.Header)
		if err != nil || !p.Trusted {
			return false
		}
	}
	if !s.local(x.ctx) {
		return false
	}
	x.route, x.status, x.outcome = routeLocal, x.ctx.Response.StatusCode(), pools.OutcomeOK
	return true
}

var routeLocal = &route{name: "worker_api"}

package proxy

import (
	"errors"
	"time"

	"github.com/valyala/fasthttp"

	"penstock/proxy/auth"
)

// admit authenticates the caller and checks the gateway's own limits.
func (x *exchange) admit() error {
	if x.route.name == routeHealth {
		return nil // load balancers probe without a key, as they do on engines
	}
	if err := x.authenticate(); err != nil {
		return err
	}
	lim := &x.st.cfg.Limits
	if lim.MaxInFlight > 0 && x.server.inFlight.Load() > int64(lim.MaxInFlight) {
		return &Error{Status: 429, Code: codeInFlight, Public: "too many requests in flight", RetryAfter: 1}
	}
	if lim.MaxBodyMemory > 0 && x.server.bodyBytes.Load() > int64(lim.MaxBodyMemory) {
		return &Error{Status: 503, Code: codeMemory, Public: "too many request bytes in memory", RetryAfter: 1}
	}
	if x.server.stopping.Load() {
		x.ctx.SetConnectionClose()
	}
	return nil
}

// authenticate checks the caller's key when the gateway has keys.
func (x *exchange) authenticate() error {
	p, err := x.st.principal(&x.ctx.Request.Header)
	if err != nil {
		return err
	}
	x.principal, x.keyed = p, x.st.keys.Required()
	x.keyID, x.tenant = p.ID, p.Tenant
	return nil
}

// principal looks the caller up; the zero Principal when no keys are set.
func (st *state) principal(h *fasthttp.RequestHeader) (auth.Principal, error) {
	if !st.keys.Required() {
		return auth.Principal{}, nil
	}
	key, ok := auth.FromHeader(h.Peek("Authorization"), h.Peek("X-Api-Key"))
	if !ok {
		return auth.Principal{}, &Error{Status: 401, Code: codeNoKey, Public: "no API key was given"}
	}
	p, err := st.keys.Lookup(key)
	if err != nil {
		return auth.Principal{}, &Error{Status: 401, Code: codeBadKey, Public: "the API key is not valid", Cause: err}
	}
	return p, nil
}

// requestConfig decides, with only the head there, how large the body may be
// and how long it may take.
func (s *Server) requestConfig(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	l := &s.state.Load().cfg.Listen
	c := fasthttp.RequestConfig{MaxRequestBodySize: int(l.MaxBodyBytes)}
	n := int64(h.ContentLength())
	if n == 0 || n == -2 {
		return c
	}
	if n < 0 {
		// Chunked. A head that will be refused must not wait for its body, which
		// may never come: fasthttp is told that there is none, and the handler,
		// which goes by the bytes of the head, refuses and closes.
		var facts headFacts
		if checkFraming(h, l.MaxHeaderFields, &facts) != faultNone {
			h.SetContentLength(0)
			h.SetConnectionClose() // whatever follows is not read
			return c
		}
		n = int64(l.MaxBodyBytes) // the most there can be
	}
	c.ReadTimeout = l.HeaderTimeout.D()
	if l.BodyMinRate > 0 {
		c.ReadTimeout += min(secondsAt(n, int64(l.BodyMinRate)), maxBodyTime)
	}
	return c
}

// maxBodyTime bounds a body however long it says it is.
const maxBodyTime = 10 * time.Minute

// expect answers "Expect: 100-continue" from the head alone, so that a body
// that will be refused is not sent (fasthttp would ask for it at once).
func (s *Server) expect(ctx *fasthttp.RequestCtx) int {
	st := s.state.Load()
	h := &ctx.Request.Header
	var facts headFacts
	if f := checkFraming(h, st.cfg.Listen.MaxHeaderFields, &facts); f != faultNone {
		s.metrics.framing(f)
		return s.refuseExpect(ctx, errFraming(f))
	}
	if facts.expectOther {
		return s.refuseExpect(ctx, &Error{Status: 417, Code: codeExpectation, Public: "expectation not supported"})
	}
	if _, err := st.principal(h); err != nil {
		return s.refuseExpect(ctx, err)
	}
	if h.ContentLength() > int(st.cfg.Listen.MaxBodyBytes) {
		return s.refuseExpect(ctx, errTooLarge)
	}
	return fasthttp.StatusContinue
}

func (s *Server) refuseExpect(ctx *fasthttp.RequestCtx, err error) int {
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Status: 500, Code: codeInternal, Public: "internal error"}
	}
	s.metrics.refused(e.Code)
	closing := *e
	closing.Close = true // the body may be on its way all the same
	writeError(ctx, apiOf(ctx), &closing)
	return e.Status
}

// secondsAt is how long n bytes take at a rate in bytes per second.
func secondsAt(n, rate int64) time.Duration {
	return time.Duration(float64(n) / float64(rate) * float64(time.Second))
}

package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"runtime/debug"
	"time"

	"github.com/valyala/fasthttp"

	"penstock/pools"
	"penstock/proxy/auth"
	"penstock/proxy/scan"
	"penstock/proxy/upstream"
	"penstock/proxy/watch"
	"penstock/routing"
	"penstock/routing/keying"
)

// exchange is one request while its handler runs. It is pooled; what must
// outlive the handler is its record.
type exchange struct {
	*record // of this request; own, until a stream takes a copy with it
	own     record

	server    *Server
	st        *state
	ctx       *fasthttp.RequestCtx
	watched   *watch.Conn
	principal auth.Principal
	keyed     bool // the gateway checked the caller's key
	parsed    bool // the body was JSON and scanned speaks of it

	scanned scan.Result
	editor  scan.Editor
	edited  []byte // memory for a body that had to be spliced
	body    []byte // what the engine gets
	head    []byte // memory for the request head
	framing headFacts
	out     outbound
	asked   keying.Request
	prompt  keying.Result
	query   routing.Query
	in      routing.Input
	choice  routing.Decision
	rand    *rand.Rand
	call    upstream.Call
	first   []byte // pieces of a stream read while its first event was awaited

	effective  int    // status of the answer, or of the error that a stream began with
	events     bool   // the answer is an event stream
	errorEvent []byte // the error that a stream began with; part of first
	total      time.Time
	handed     bool // the answer belongs to the relay now
}

func newExchange() *exchange {
	return &exchange{rand: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))}
}

// ClientGone cancels whatever the request is waiting for. The client watch
// calls it from its own goroutine.
func (x *exchange) ClientGone() { x.call.Cancel() }

var _ watch.Canceler = (*exchange)(nil)

// handle is the fasthttp handler: it runs the steps and answers every failure.
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	x := s.begin(ctx)
	defer s.finish(x)
	if err := x.run(); err != nil {
		x.refuse(err)
	}
}

func (s *Server) begin(ctx *fasthttp.RequestCtx) *exchange {
	x := s.exchanges.Get().(*exchange)
	st := s.state.Load()
	// Until an answer says otherwise, nothing is known about the replica.
	x.own = record{server: s, started: s.now(), outcome: pools.OutcomeNeutral}
	x.record, x.server, x.st, x.ctx = &x.own, s, st, ctx
	s.inFlight.Add(1)
	s.bodyBytes.Add(int64(len(ctx.Request.Body())))
	x.bytesIn = len(ctx.Request.Body())
	x.call.Reset()
	x.watched, _ = watch.FromConn(ctx.Conn())
	if x.watched != nil {
		x.watched.Arm(x)
	}
	return x
}

// finish runs on every path out of the handler, a panic included: this is the
// one place where a request's panic is recovered.
func (s *Server) finish(x *exchange) {
	if p := recover(); p != nil {
		s.log.Error("request panicked", slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
		s.metrics.panics.Inc()
		x.refuse(&Error{Status: 500, Code: codeInternal, Public: "internal error", Close: true})
	}
	s.bodyBytes.Add(-int64(x.bytesIn))
	if !x.handed {
		if x.watched != nil {
			x.watched.Disarm()
		}
		x.call.Finish()
		x.record.settle()
		s.inFlight.Add(-1)
	}
	x.release()
}

// release puts the exchange back, without keeping large buffers alive.
func (x *exchange) release() {
	s := x.server
	x.record, x.server, x.st, x.ctx, x.watched = nil, nil, nil, nil, nil
	x.own = record{}
	x.principal, x.keyed, x.parsed, x.handed = auth.Principal{}, false, false, false
	x.body, x.total, x.framing, x.out = nil, time.Time{}, headFacts{}, outbound{}
	x.call.Head, x.call.Body = nil, nil
	x.asked = keying.Request{}
	x.prompt.Reset()
	x.query, x.in = routing.Query{Exclude: x.query.Exclude[:0]}, routing.Input{}
	if cap(x.edited) > maxKeptBuffer {
		x.edited = nil
	}
	x.first, x.errorEvent, x.effective, x.events = x.first[:0], nil, 0, false
	s.exchanges.Put(x)
}

const maxKeptBuffer = 256 << 10

// run is the life of a request up to the point where its answer is either
// complete or in the hands of the relay.
func (x *exchange) run() error {
	steps := [...]func() error{x.identify, x.admit, x.read, x.resolve, x.key, x.prepare}
	for _, step := range steps {
		if err := step(); err != nil {
			if errors.Is(err, errAnswered) {
				return nil
			}
			return err
		}
	}
	if done, err := x.local(); done || err != nil {
		return err
	}
	err := x.attempt()
	if err != nil && x.staleModels() {
		return nil
	}
	return err
}

// errAnswered ends the steps of a request that has its answer already.
var errAnswered = errors.New("proxy: answered")

// identify checks the framing, finds the route and the request id.
func (x *exchange) identify() error {
	h := &x.ctx.Request.Header
	x.requestID = x.findRequestID()
	if x.server.access != nil {
		x.method, x.path = string(h.Method()), string(x.target())
		x.client = x.ctx.RemoteAddr().String()
	}
	if f := checkFraming(h, x.st.cfg.Listen.MaxHeaderFields, &x.framing); f != faultNone {
		x.server.metrics.framing(f)
		return errFraming(f)
	}
	if x.framing.upgrade {
		return &Error{Status: 501, Code: codeUpgrade, Public: "protocol upgrades are not supported", Close: true}
	}
	if x.framing.expectOther {
		return &Error{Status: 417, Code: codeExpectation, Public: "expectation not supported", Close: true}
	}
	if x.server.local != nil && x.server.localRoute(x) {
		return errAnswered
	}
	r, methodOK := x.st.routes.lookup(h.Method(), x.target())
	if r == nil || !methodOK {
		// The key is asked for first, so that paths cannot be probed without.
		if err := x.authenticate(); err != nil {
			return err
		}
	}
	if r == nil {
		return &Error{Status: 404, Code: codeNotFound, Public: "no such route"}
	}
	x.route = r
	if !methodOK {
		return &Error{Status: 405, Code: codeMethod, Public: "method not allowed", Allow: r.allow()}
	}
	return nil
}

// target is the path as it came, without the query.
func (x *exchange) target() []byte {
	uri := x.ctx.Request.Header.RequestURI()
	if i := bytes.IndexByte(uri, '?'); i >= 0 {
		uri = uri[:i]
	}
	return uri
}

// maxRequestID is as long as a caller's request id may be.
const maxRequestID = 128

func (x *exchange) findRequestID() string {
	for _, name := range x.st.requestIDs {
		if v := x.ctx.Request.Header.Peek(name); len(v) > 0 && len(v) <= maxRequestID && isToken(v) {
			return string(v)
		}
	}
	return x.server.ids.next()
}

// read scans the body for what routing needs. JSON on a passthrough path is
// scanned too: /invocations dispatches on the shape of its body, so what a client
// may not say must be found there as well.
func (x *exchange) read() error {
	x.body = x.ctx.Request.Body()
	x.parsed = x.route.has(flagScan) || len(x.body) > 0 && isJSON(x.ctx.Request.Header.ContentType())
	if !x.parsed {
		return nil
	}
	lim := scan.Limits{Depth: x.st.cfg.Listen.MaxJSONDepth}
	if err := scan.Scan(x.body, x.route.kind, lim, &x.scanned); err != nil {
		return &Error{Status: 400, Code: codeBadBody, Public: err.Error(), Cause: err}
	}
	x.stream = x.scanned.Stream
	x.promptTokens = int64(x.scanned.PromptBytes / bytesPerToken)
	if x.scanned.TokenIDs {
		x.promptTokens = int64(x.scanned.PromptTokens)
	}
	if x.route.has(flagGenerates) {
		x.outputMax = defaultOutputTokens
		if x.scanned.MaxTokens >= 0 {
			x.outputMax = min(x.scanned.MaxTokens, maxReservedOutput)
		}
		x.outputMax *= int64(max(1, min(x.scanned.N, maxReservedAnswers)))
	}
	return nil
}

// Bounds on what a client's own numbers may reserve: a request for a million
// tokens must not make a replica look full.
const (
	maxReservedOutput  = 8192
	maxReservedAnswers = 16
)

// isJSON looks at the media type, without its parameters.
func isJSON(contentType []byte) bool {
	if i := bytes.IndexByte(contentType, ';'); i >= 0 {
		contentType = contentType[:i]
	}
	return isName(bytes.TrimSpace(contentType), "application/json")
}

// resolve finds the pool that serves the model, or that holds the state asked
// about.
func (x *exchange) resolve() error {
	name := ""
	if x.parsed {
		name = string(x.scanned.Model)
	}
	be, id, aliased := x.pool(name)
	if x.route.has(flagStateful) {
		if holder := x.holder(); holder != nil {
			be = holder
		}
	}
	if be == nil {
		return &Error{Status: 404, Code: codeModelUnknown, Public: "the model does not exist or is not served here"}
	}
	// A key that is limited to models may not leave the model to the engine, nor
	// use a path on which it cannot be told.
	open := x.route.has(flagStateful) || x.route.name == routeModels
	if x.keyed && !open && !x.principal.AllowsModel(name) && (id == name || !x.principal.AllowsModel(id)) {
		return &Error{Status: 403, Code: codeModelDenied, Public: "this key may not use the model"}
	}
	x.be, x.model = be, name
	if aliased {
		x.model = id
	}
	if x.parsed {
		x.edit(aliased)
	}
	return nil
}

// holder is the pool that holds the stored state in the path; nil unknown.
func (x *exchange) holder() *backend {
	for _, id := range x.stateIDs() {
		pool, _, ok := x.server.sessions.get(id)
		if !ok {
			continue
		}
		for _, be := range x.st.backends {
			if be.cfg.Name == pool {
				return be
			}
		}
	}
	return nil
}

// edit splices the body when something has to change; else the client's bytes
// go on as they are.
func (x *exchange) edit(aliased bool) {
	inject := x.st.injectUsage && x.stream && !x.scanned.IncludeUsage && x.route.usageOnRequest()
	untrusted := !x.principal.Trusted && x.scanned.Injected() > 0
	if !aliased && !inject && !untrusted {
		return
	}
	x.editor.Reset(x.body, &x.scanned)
	if untrusted {
		x.editor.CutInjected()
		x.server.metrics.stripped.Add(float64(x.scanned.Injected()))
	}
	if aliased {
		x.editor.SetModel(x.model)
	}
	if inject {
		x.injectedUse = x.editor.IncludeUsage()
	}
	x.edited = x.editor.Append(x.edited[:0])
	x.body = x.edited
}

// usageOnRequest reports whether the API has stream_options.include_usage.
func (r *route) usageOnRequest() bool {
	return r.kind == scan.KindChat || r.kind == scan.KindCompletions || r.kind == scan.KindInferenceGenerate
}

// prepare works out everything about the attempts that does not depend on the
// replica.
func (x *exchange) prepare() error {
	t := &x.be.cfg.Timeouts
	if t.Total > 0 {
		x.total = x.started.Add(t.Total.D())
	}
	x.out = outbound{
		requestID: x.requestID, trusted: x.principal.Trusted, contentLength: len(x.body), facts: &x.framing,
	}
	if len(x.body) == 0 && !x.ctx.Request.Header.IsPost() {
		x.out.contentLength = -1
	}
	x.credentials()
	x.query = routing.Query{
		Model: x.model, Cost: x.cost(), Exclude: x.query.Exclude[:0],
		Blocks: x.prompt.Blocks, Namespace: x.prompt.Namespace,
	}
	if x.count.Origin.Counted() {
		x.query.PromptTokens = x.prompt.Tokens
	}
	if x.be.hashes {
		x.query.Session = x.sessionHash()
		if x.query.Session == 0 {
			x.query.Prefix = x.prefixHash()
		}
	}
	x.pin()
	return nil
}

// credentials: without gateway keys the client's own go on; with them they stop
// here and the pool's secret takes their place.
func (x *exchange) credentials() {
	if !x.st.keys.Required() {
		h := &x.ctx.Request.Header
		if !x.framing.nominates(nameAuthorization) {
			x.out.authorization = h.Peek("Authorization")
		}
		if !x.framing.nominates(nameAPIKey) {
			x.out.apiKey = h.Peek("X-Api-Key")
		}
		if len(x.out.authorization) > 0 || len(x.out.apiKey) > 0 {
			return
		}
	}
	x.out.authorization = x.be.secret
}

// firstByteDeadline is longer for longer prompts, and never past the total.
func (x *exchange) firstByteDeadline(now time.Time) time.Time {
	t := &x.be.cfg.Timeouts
	if t.FirstByte <= 0 {
		return x.total
	}
	wait := t.FirstByte.D() + time.Duration(len(x.body)/1024)*t.FirstBytePerKiB.D()
	at := now.Add(wait)
	if !x.total.IsZero() && x.total.Before(at) {
		return x.total
	}
	return at
}

// plainConn is the client's connection as the listener gave it.
func (x *exchange) plainConn() net.Conn { return x.ctx.Conn() }

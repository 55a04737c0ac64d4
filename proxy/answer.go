package proxy

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/valyala/fasthttp"

	"penstock/pools"
	"penstock/proxy/sse"
	"penstock/proxy/upstream"
)

// bufferedAnswer is the size up to which an answer of known length is read
// whole before its status is committed: a cut can then still be told as an
// error. Longer ones are relayed.
const bufferedAnswer = 1 << 20

// answer passes the engine's response on.
func (x *exchange) answer() error {
	x.firstByte = x.server.now()
	x.call.Now = x.firstByte
	h := &x.call.Response
	switch {
	case x.errorEvent != nil:
		return x.answerErrorEvent()
	case x.events:
		return x.relayEvents()
	case h.Length >= 0 && h.Length <= bufferedAnswer:
		return x.answerBuffered()
	}
	return x.relayRaw()
}

func isEventStream(contentType []byte) bool {
	const want = "text/event-stream"
	return len(contentType) >= len(want) && isName(contentType[:len(want)], want)
}

// answerBuffered passes on a body that inspect has read. It lives in the
// response already: fasthttp writes it after the handler has returned and this
// exchange serves somebody else.
func (x *exchange) answerBuffered() error {
	body := x.ctx.Response.Body()
	x.bytesOut = int64(len(body))
	x.status = x.call.Response.Status
	x.judge(x.status)
	if x.status == 200 && x.route.has(flagGenerates) {
		x.usage, _ = sse.UsageFromBody(x.route.api, body)
		if !x.usage.Known {
			x.usage.Prompt, x.usage.Completion = x.promptTokens, int64(max(len(body)-answerEnvelope, 0)/bytesPerToken)
		}
	}
	if x.status == 200 && x.route.api == sse.APIResponses {
		x.remember(body)
	}
	if x.status == 200 && x.route.name == routeModels && !x.ownCredentials() {
		x.st.models.keep(body, x.firstByte)
	}
	x.writeHead()
	x.ended = x.firstByte // the body was right behind the head
	if x.call.Finish() {
		x.server.metrics.surplus.Inc()
	}
	return nil
}

// answerEnvelope is about what vLLM's JSON around a generated text takes; it is
// left out of an estimate of output tokens.
const answerEnvelope = 600

func (x *exchange) readBody() error {
	for {
		p, err := x.call.Next()
		x.ctx.Response.AppendBody(p)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// judge turns a complete answer's status into what the replica's breaker is
// told: a 4xx is the client's fault, 429 and 503 say busy, other 5xx say broken.
func (x *exchange) judge(status int) {
	switch {
	case status == 429 || status == 503:
		x.outcome = pools.OutcomeBackpressure
	case status >= 500 && status != 501:
		x.outcome = pools.OutcomeFailed
	default:
		x.outcome = pools.OutcomeOK
	}
}

// writeHead copies the engine's end-to-end fields to the client.
func (x *exchange) writeHead() {
	h, r := &x.call.Response, &x.ctx.Response
	r.SetStatusCode(h.Status)
	r.Header.SetContentTypeBytes(h.ContentType)
	for i := range h.Fields {
		f := &h.Fields[i]
		if x.st.deniedResponse(f.Name) {
			continue
		}
		r.Header.AddBytesKV(f.Name, f.Value)
	}
	x.ownFields(&r.Header)
}

// ownFields adds what the gateway itself says.
func (x *exchange) ownFields(h *fasthttp.ResponseHeader) {
	h.Set("X-Request-Id", x.requestID)
	if x.st.cfg.Expose.Replica && x.replica != "" {
		h.Set("X-Penstock-Replica", string(x.replica))
	}
	if x.st.cfg.Expose.Decision && x.replica != "" {
		h.Set("X-Penstock-Decision", x.decisionText())
	}
}

func (x *exchange) decisionText() string {
	return "pool=" + x.be.cfg.Name + "; policy=" + string(x.be.cfg.Policy) + "; reason=" + x.why.String() +
		"; candidates=" + strconv.Itoa(x.tried) + "; attempts=" + strconv.Itoa(x.attempts)
}

// deniedResponse names engine fields that clients do not get: the software
// behind a gateway is nobody's business, and the request id is set by us.
func (st *state) deniedResponse(name []byte) bool {
	switch len(name) {
	case 6:
		if isName(name, "server") {
			return true
		}
	case 12:
		if isName(name, "x-request-id") || isName(name, "x-powered-by") {
			return true
		}
	}
	for _, d := range st.responseDeny {
		if isName(name, d) {
			return true
		}
	}
	return false
}

// refuse answers a failure in the shape of the API that was called.
func (x *exchange) refuse(err error) {
	e := asError(err)
	if x.call.Cancelled() {
		e = &Error{Status: statusClientGone, Code: codeClientGone, Cause: err}
	}
	x.status, x.code, x.cause = e.Status, e.Code, e.Cause
	if e.Status == statusClientGone {
		x.outcome = pools.OutcomeClientGone
		x.ctx.Response.Reset()
		x.ctx.SetConnectionClose() // nobody reads the answer
		x.ctx.SetStatusCode(fasthttp.StatusServiceUnavailable)
		return
	}
	api := sse.APIChat
	if x.route != nil {
		api = x.route.api
	}
	writeError(x.ctx, api, e)
	if x.st != nil {
		x.ownFields(&x.ctx.Response.Header)
	}
}

// asError finds the public form of a failure.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	var u *upstream.Error
	if !errors.As(err, &u) {
		return &Error{Status: 500, Code: codeInternal, Public: "internal error", Cause: err}
	}
	switch {
	case u.Phase == upstream.PhaseDial:
		return &Error{Status: 503, Code: codeConnect, Public: "no connection to the engine", RetryAfter: 1, Cause: err}
	case u.Timeout:
		return &Error{Status: 504, Code: codeFirstByte, Public: "the engine did not answer in time", Cause: err}
	case u.Phase == upstream.PhaseBody:
		return &Error{Status: 502, Code: codeTruncated, Public: "the engine's answer was cut off", Cause: err}
	case u.Phase == upstream.PhaseHead:
		return &Error{Status: 502, Code: codeBadAnswer, Public: "the engine's answer is not valid", Cause: err}
	}
	return &Error{Status: 502, Code: codeUpstream, Public: "the engine closed the connection without an answer", Cause: err}
}

// writeError writes e in the shape of api.
func writeError(ctx *fasthttp.RequestCtx, api sse.API, e *Error) {
	r := &ctx.Response
	r.Reset()
	r.SetStatusCode(e.Status)
	r.Header.SetContentType("application/json")
	if e.RetryAfter > 0 {
		r.Header.Set("Retry-After", strconv.Itoa(e.RetryAfter))
	}
	if e.Allow != "" {
		r.Header.Set("Allow", e.Allow)
	}
	r.SetBodyRaw(sse.AppendErrorBody(nil, api, sse.Failure{Status: e.Status, Code: e.Code, Message: e.Public}))
	if e.Close {
		ctx.SetConnectionClose()
		lingerOn(ctx.Conn())
	}
}

var errTooLarge = &Error{Status: 413, Code: codeTooLarge, Public: "request body too large", Close: true}

// protocolError answers what fasthttp itself refused. Its messages quote the
// request, so none of them is passed on.
func (s *Server) protocolError(ctx *fasthttp.RequestCtx, err error) {
	e := &Error{Status: 400, Code: codeFraming, Public: "malformed request", Close: true, Cause: err}
	var small *fasthttp.ErrSmallBuffer
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &small):
		e = &Error{Status: 431, Code: codeHeaderTooBig, Public: "request head too large", Close: true, Cause: err}
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		e = errTooLarge
	case errors.As(err, &timeout) && timeout.Timeout():
		e = &Error{Status: 408, Code: codeTimeout, Public: "the request took too long to arrive", Close: true, Cause: err}
	}
	var facts headFacts
	if h := &ctx.Request.Header; len(h.RawHeaders()) > 0 {
		if f := checkFraming(h, s.state.Load().cfg.Listen.MaxHeaderFields, &facts); f != faultNone && e.Status != 408 {
			s.metrics.framing(f)
			e = errFraming(f)
		}
	}
	s.metrics.refused(e.Code)
	writeError(ctx, apiOf(ctx), e)
}

// apiOf guesses the API of a request whose route was not looked up.
func apiOf(ctx *fasthttp.RequestCtx) sse.API {
	if bytes.HasPrefix(ctx.Request.Header.RequestURI(), []byte("/v1/messages")) {
		return sse.APIMessages
	}
	return sse.APIChat
}

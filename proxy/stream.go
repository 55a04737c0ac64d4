package proxy

import (
	"errors"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"

	"penstock/pools"
	"penstock/proxy/relay"
	"penstock/proxy/sse"
	"penstock/proxy/upstream"
	"penstock/proxy/watch"
)

// firstEventLimit bounds what is read while a stream's first event is awaited.
const firstEventLimit = 64 << 10

// errEmptyStream is a 200 whose stream ended before any event.
var errEmptyStream = errors.New("proxy: stream ended before its first event")

// answerErrorEvent answers a stream that began with an error: the client gets
// the status that the engine could not send any more, and the engine's words.
func (x *exchange) answerErrorEvent() error {
	x.judge(x.effective)
	x.status = x.effective
	r := &x.ctx.Response
	r.SetStatusCode(x.effective)
	r.Header.SetContentType("application/json")
	x.ownFields(&r.Header)
	r.SetBody(x.errorEvent)
	return nil
}

// awaitFirstEvent reads into x.first until a whole event that is no comment is
// there. The first byte deadline still runs.
func (x *exchange) awaitFirstEvent() (payload []byte, err error) {
	x.first = x.first[:0]
	for {
		p, err := x.call.Next()
		x.first = append(x.first, p...)
		if payload, _, ok := sse.FirstEvent(x.first); ok {
			return payload, nil
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil, &upstream.Error{Phase: upstream.PhaseBody, ByteSeen: true, Err: errEmptyStream}
		case err != nil:
			return nil, err
		case len(x.first) > firstEventLimit:
			return x.first, nil // whatever it is, it is not an error event
		}
	}
}

// stream is a relayed answer: the relay moves its bytes, it knows what they
// mean. It outlives the handler and holds nothing of it.
type stream struct {
	*record
	relay    relay.Stream
	tracker  sse.Tracker
	filter   *sse.UsageFilter // set when a usage event must be taken out
	filtered []byte
	held     []byte // the beginning of an event whose end has not come
	torn     bool   // the client has part of an event that was too long to hold
	body     upstream.Decoder
	from     upstream.Detached
	events   bool // an event stream; else opaque bytes
	keep     bool // the client's connection serves further requests
	lastSeen time.Time
	watched  *watch.Conn
	itl      prometheus.Observer
	reserved int64 // output tokens still reserved on the lease
}

var (
	_ relay.Observer = (*stream)(nil)
	_ watch.Canceler = (*stream)(nil)
)

// ClientGone ends the relay.
func (st *stream) ClientGone() { st.relay.ClientGone() }

// relayEvents commits the status and gives the event stream to the relay.
func (x *exchange) relayEvents() error {
	st := x.newStream()
	st.events = true
	st.tracker.Reset(x.route.api)
	st.lastSeen = x.firstByte
	st.itl = x.server.metrics.handles(x.record, true).itl
	if x.injectedUse {
		st.filter = &sse.UsageFilter{}
		st.filter.Reset()
	}
	st.reserved = x.outputMax
	x.lease.PromptDone()
	if x.route.api == sse.APIResponses {
		x.remember(x.first)
	}
	out, _ := st.Payload(x.first, x.firstByte)
	return x.handOver(st, out)
}

// relayRaw passes on an answer that is neither an event stream nor small.
func (x *exchange) relayRaw() error {
	x.judge(x.call.Response.Status)
	return x.handOver(x.newStream(), nil)
}

func (x *exchange) newStream() *stream {
	x.status = x.call.Response.Status
	rec := x.own // the exchange goes back to its pool; the stream lives on
	rec.relayed = true
	st := &stream{record: &rec, watched: x.watched}
	x.record = st.record
	return st
}

// handOver moves the connection pair from the handler to the relay. From here
// on the exchange owns nothing.
func (x *exchange) handOver(st *stream, first []byte) error {
	h := &x.call.Response
	http11 := x.ctx.Request.Header.IsHTTP11()
	// An event stream is always chunked, whatever the engine did: only then can
	// it be cut without looking complete.
	chunked := http11 && (h.Length < 0 || st.events)
	st.keep = !x.ctx.Request.Header.ConnectionClose() && !x.server.stopping.Load() &&
		(chunked || h.Length >= 0 && !st.events)
	x.writeHead()
	head := x.streamHead(chunked, st.keep)
	if len(first) > 0 {
		head = appendFramed(head, first, chunked)
	}
	st.bytesOut = int64(len(first))
	from, ok := x.call.Detach()
	if !ok {
		x.relayed = false // refused like any other
		return &Error{Status: statusClientGone, Code: codeClientGone, Cause: upstream.ErrCancelled}
	}
	st.from, st.body = from, from.Body
	st.relay = relay.Stream{
		Client: x.plainConn(), Upstream: from.Conn, Decoder: &st.body, Observer: st,
		Limits: x.streamLimits(st.events), Head: head, Unread: from.Unread,
		Chunked: chunked, Done: st.done,
	}
	x.handed = true
	// On TLS the handler's context lives as long as the stream; the prompt in it
	// need not.
	x.ctx.Request.ResetBody()
	if x.watched != nil {
		x.watched.Disarm()
		x.watched.Arm(st)
	}
	server := x.server
	server.handing.Add(1) // taken back in runStream or abandon
	if lc := lingerOf(x.plainConn()); lc != nil {
		lc.handover.Store(st)
	}
	x.ctx.HijackSetNoResponse(true)
	x.ctx.Hijack(func(c net.Conn) { server.runStream(st, c) })
	return nil
}

func (x *exchange) streamLimits(events bool) relay.Limits {
	l := relay.Limits{
		Gap: x.be.cfg.Timeouts.Gap.D(), Write: x.st.cfg.Listen.WriteTimeout.D(), Total: x.total,
		Drained: x.lease.Left(),
	}
	if events {
		l.Heartbeat = x.st.cfg.Listen.Heartbeat.D()
	}
	return l
}

// streamHead renders the response head from what writeHead set.
func (x *exchange) streamHead(chunked, keep bool) []byte {
	r := &x.ctx.Response.Header
	if isEventStream(r.ContentType()) {
		// Proxies in front of us must not hold events back.
		if len(r.Peek("Cache-Control")) == 0 {
			r.Set("Cache-Control", "no-cache")
		}
		r.Set("X-Accel-Buffering", "no")
	}
	b := make([]byte, 0, 512+2*len(x.first))
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(r.StatusCode()), 10)
	b = append(b, ' ')
	b = append(b, fasthttp.StatusMessage(r.StatusCode())...)
	b = append(b, '\r', '\n')
	if d := x.call.Response.Date; len(d) > 0 {
		b = appendField(b, "Date", d)
	}
	for k, v := range r.All() {
		if isName(k, "date") || isName(k, "content-length") || isName(k, "connection") || isName(k, "transfer-encoding") {
			continue
		}
		b = appendField(b, string(k), v)
	}
	switch {
	case chunked:
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	case x.call.Response.Length >= 0 && !x.events:
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, x.call.Response.Length, 10)
		b = append(b, '\r', '\n')
	}
	if !keep {
		b = append(b, "Connection: close\r\n"...)
	}
	return append(b, '\r', '\n')
}

func appendFramed(dst, p []byte, chunked bool) []byte {
	if !chunked {
		return append(dst, p...)
	}
	dst = strconv.AppendInt(dst, int64(len(p)), 16)
	dst = append(dst, '\r', '\n')
	dst = append(dst, p...)
	return append(dst, '\r', '\n')
}

// Payload sees each piece of the answer on its way to the client. Of an event
// stream it lets whole events through and holds the beginning of the next one
// back: if the engine dies inside an event, its client gets our error event where
// an event is expected, and not behind half a JSON text.
func (st *stream) Payload(p []byte, now time.Time) (out []byte, progress bool) {
	if !st.events {
		return p, true
	}
	b := st.tracker.Feed(p)
	if n := int64(b.Content); n > 0 {
		st.record.events += n
		st.server.metrics.gap(st.itl, now.Sub(st.lastSeen), n)
		st.lastSeen = now
		st.produced(n)
	}
	if st.filter != nil {
		st.filtered = st.filter.Append(st.filtered[:0], p)
		return st.filtered, b.Content > 0
	}
	return st.wholeEvents(p, b.End), b.Content > 0
}

// maxHeld bounds what is held back of one event; a longer one passes as it
// comes.
const maxHeld = 64 << 10

// wholeEvents returns what may go out after p, in which the last whole event
// ends at end.
func (st *stream) wholeEvents(p []byte, end int) []byte {
	if st.tracker.AtBoundary() {
		end = len(p)
	}
	st.torn = st.torn && end == 0
	switch {
	case st.torn:
		return p
	case len(st.held) == 0 && end == len(p):
		return p
	case len(st.held)+len(p)-end > maxHeld:
		st.torn, end = true, len(p)
	}
	out := p[:end]
	if len(st.held) > 0 {
		if end == 0 {
			st.held = append(st.held, p...)
			return nil
		}
		out = append(st.held, out...)
		st.held = nil // out is that memory
	}
	if end < len(p) {
		st.held = append([]byte(nil), p[end:]...)
	}
	return out
}

// produced gives back the reservation of tokens that are out now.
func (st *stream) produced(n int64) {
	if n = min(n, st.reserved); n > 0 {
		st.reserved -= n
		st.lease.Progress(n)
	}
}

// errIncomplete is an answer whose framing ended well and whose content did
// not: the terminal event of its API never came.
var errIncomplete = errors.New("proxy: stream ended without its terminal event")

// Complete judges by the API's own end mark. Framing alone does not prove an
// answer whole: an engine that dies in an orderly way ends its chunks properly.
func (st *stream) Complete() (tail []byte, err error) {
	if st.events && st.route.api != sse.APIOther {
		if s := st.tracker.State(); !s.Done && !s.Failed {
			return nil, errIncomplete
		}
	}
	if st.filter != nil {
		return st.filter.Flush(nil), nil
	}
	return st.held, nil
}

// AtBoundary reports whether the client is between two events.
func (st *stream) AtBoundary() bool {
	if st.filter != nil {
		return st.filter.AtBoundary()
	}
	return st.events && !st.torn
}

// Failure tells the client, in the API's own shape, that its answer is cut.
func (st *stream) Failure(err error) []byte {
	if !st.events {
		return nil
	}
	e := streamError(err)
	msg := sse.AppendErrorEvent(nil, st.route.api, sse.Failure{
		Status: e.Status, Code: e.Code, Message: e.Public, Sequence: st.tracker.State().Events,
	})
	if !st.AtBoundary() {
		// Close the event that was cut, so that ours is not read as its tail.
		msg = append([]byte("\n\n"), msg...)
	}
	return msg
}

// streamError is the public form of a failure after the status was sent.
func streamError(err error) *Error {
	switch {
	case errors.Is(err, relay.ErrGap):
		return &Error{Status: 504, Code: codeGap, Public: "the engine stopped sending"}
	case errors.Is(err, relay.ErrTotal):
		return &Error{Status: 504, Code: codeTotal, Public: "the request took too long"}
	case errors.Is(err, relay.ErrDrained):
		return &Error{Status: 503, Code: codeRemoved, Public: "the engine was taken out of service"}
	case errors.Is(err, relay.ErrShutdown):
		return &Error{Status: 503, Code: codeShutdown, Public: "the gateway is shutting down"}
	}
	return &Error{Status: 502, Code: codeTruncated, Public: "the engine's answer was cut off"}
}

// runStream runs on the goroutine that fasthttp gives a hijacked connection.
func (s *Server) runStream(st *stream, c net.Conn) {
	lc := lingerOf(st.relay.Client)
	if lc != nil && !lc.handover.CompareAndSwap(st, nil) {
		return // abandoned
	}
	if lc != nil && !s.http.KeepHijackedConns {
		lc.ignoreClose()
	}
	defer s.handing.Add(-1)
	if rest := drainBuffered(c); len(rest) > 0 {
		st.relay.Client = &prefixConn{Conn: st.relay.Client, rest: rest}
	}
	if err := s.relay.Start(&st.relay); err != nil {
		_ = st.from.Conn.Close()
		st.done(&st.relay, relay.Result{Err: relay.ErrShutdown})
	}
}

// abandon settles a stream whose connection was closed before the relay had it.
func (st *stream) abandon() {
	_ = st.from.Conn.Close()
	st.settleStream(relay.Result{Err: relay.ErrClientGone})
	st.server.handing.Add(-1)
}

// done settles a stream. It runs on a relay goroutine and must not block.
func (st *stream) done(_ *relay.Stream, res relay.Result) {
	s, client := st.server, st.relay.Client
	if p, ok := client.(*prefixConn); ok && len(p.rest) == 0 {
		client = p.Conn
	}
	st.settleStream(res)
	if res.Err == nil && st.keep {
		go s.serveAgain(client)
		return
	}
	// Opaque bytes without framing of their own can be cut visibly by a reset
	// only: an orderly close is their end mark.
	unframed := res.Err != nil && !st.events && !st.relay.Chunked
	go closeClient(client, res.Err, unframed)
}

// settleStream ends everything about a stream but the client's connection.
func (st *stream) settleStream(res relay.Result) {
	s := st.server
	if st.watched != nil {
		st.watched.Disarm()
	}
	if res.Surplus {
		st.from.Surplus()
		s.metrics.surplus.Inc()
	}
	if res.Upstream != nil {
		st.from.Return(res.Upstream)
	}
	st.bytesOut += res.Bytes
	st.judgeStream(res.Err)
	st.settle()
	s.inFlight.Add(-1)
}

// judgeStream turns the end of a stream into usage, outcome and code.
func (st *stream) judgeStream(err error) {
	if st.events {
		state := st.tracker.State()
		st.usage = state.Usage
		if !st.usage.Known {
			st.usage.Prompt, st.usage.Completion = st.promptTokens, st.record.events
		}
		if state.Aborted {
			st.server.metrics.aborted.Inc()
		}
		if err == nil && state.Failed {
			st.code = codeUpstream
			st.outcome = pools.OutcomeFailed
			return
		}
	}
	switch {
	case err == nil && st.events:
		st.outcome = pools.OutcomeOK
	case err == nil: // judged by its status already
	case errors.Is(err, relay.ErrClientGone):
		st.code, st.outcome = codeClientGone, pools.OutcomeClientGone
	case errors.Is(err, relay.ErrClientSlow):
		st.code, st.outcome = codeClientSlow, pools.OutcomeClientGone
	case errors.Is(err, relay.ErrShutdown), errors.Is(err, relay.ErrTotal), errors.Is(err, relay.ErrDrained):
		st.code, st.outcome = streamError(err).Code, pools.OutcomeNeutral
	default:
		st.code, st.outcome = streamError(err).Code, pools.OutcomeFailed
	}
	st.cause = err
}

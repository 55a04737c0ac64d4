package enginesim

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/cespare/xxhash/v2"
)

// errEnded says that a fault or the client ended the answer: the handler
// returns without writing more.
var errEnded = errors.New("enginesim: answer ended")

// errAborted says that a fault wants the answer to end with finish reason "abort".
var errAborted = errors.New("enginesim: abort wanted")

// exchange is one request being answered. All bytes of answers go through it,
// so that faults apply to every route alike.
type exchange struct {
	s       *Server
	w       http.ResponseWriter
	r       *http.Request
	fault   Fault
	cleared <-chan struct{} // closed when the standing fault is replaced
	left    <-chan struct{} // closed when nobody waits for the answer any more
	conn    *simConn        // nil under a foreign server
	body    []byte
	info    RequestInfo
	job     *job

	wrote    bool // headers are out, or on their way
	complete bool // a fault ended the answer, in good form
	gone     bool // the client left
	severed  bool // a fault closed the connection
	events   int
	buf      []byte
}

// maxBody bounds request bodies, as the Rust frontend of vLLM does at half of it.
const maxBody = 64 << 20

// run answers with handler. An answer that has no good end takes its connection
// with it, so that it cannot be mistaken for a whole one.
func (x *exchange) run(handler func(x *exchange) error) {
	defer x.finish()
	err := handler(x)
	switch {
	case err == nil || x.complete:
	case errors.Is(err, errEnded), x.wrote:
		panic(http.ErrAbortHandler)
	default:
		x.fail(err)
	}
}

func (x *exchange) readBody() error {
	var err error
	if n := x.r.ContentLength; n > 0 && n <= maxBody {
		x.body = make([]byte, n)
		_, err = io.ReadFull(x.r.Body, x.body)
		if err == nil {
			// The body's end must be seen, or net/http does not watch for the
			// client's leaving.
			_, _ = io.Copy(io.Discard, x.r.Body)
		}
	} else {
		x.body, err = io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, maxBody))
	}
	x.info.BodyBytes, x.info.BodyXXH64 = len(x.body), xxhash.Sum64(x.body)
	return err
}

// status answers with a JSON body, subject to the faults of one-piece answers.
func (x *exchange) status(code int, body []byte) {
	x.respond(code, "application/json", body)
}

func (x *exchange) respond(code int, contentType string, body []byte) {
	h := x.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	x.info.Status = code
	cut := len(body)
	switch {
	case x.fault.TruncateJSON:
		cut /= 2
	case x.fault.Cut == CutDie || x.fault.Cut == CutReset:
		if x.fault.After == 0 {
			x.sever()
		}
		cut /= 2
	case x.fault.Cut == CutHangAfter:
		cut /= 2
	}
	x.wrote = true
	x.w.WriteHeader(code)
	_, _ = x.w.Write(body[:cut])
	if cut == len(body) {
		return
	}
	x.flush()
	if x.fault.Cut == CutHangAfter {
		x.hang()
	}
	x.sever()
}

// sever closes the connection without the end of the message.
func (x *exchange) sever() {
	x.severed = true
	if x.fault.Cut == CutReset && x.conn != nil {
		x.conn.reset()
	}
	panic(http.ErrAbortHandler)
}

// hang waits until the client leaves, the fault is replaced or the server closes.
func (x *exchange) hang() {
	select {
	case <-x.left:
	case <-x.cleared:
	case <-x.s.closing:
	}
}

func (x *exchange) flush() {
	if f, ok := x.w.(http.Flusher); ok {
		f.Flush()
	}
}

// startStream sends the headers of an event stream.
func (x *exchange) startStream() {
	if x.wrote {
		return
	}
	x.wrote = true
	x.info.Status = http.StatusOK
	x.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	x.w.WriteHeader(http.StatusOK)
	x.flush()
}

// event writes one event, which ends in an empty line. An error means that the
// handler must stop (errEnded) or end the answer as aborted (errAborted).
func (x *exchange) event(b []byte) error {
	if err := x.beforeEvent(); err != nil {
		return err
	}
	x.events++
	return x.write(b)
}

// beforeEvent applies the fault that is due in front of the next event.
func (x *exchange) beforeEvent() error {
	f := &x.fault
	if f.CommentsOnly {
		x.comments()
		return errEnded
	}
	if f.Cut == CutNone || x.events < f.After {
		return nil
	}
	switch f.Cut {
	case CutHangAfter:
		x.startStream()
		x.hang()
		return errEnded
	case CutDie, CutReset:
		x.startStream()
		x.sever()
	case CutAbort:
		f.Cut = CutNone // the events that end the answer get through
		return errAborted
	case CutError:
		f.Cut = CutNone
		e := apiError{status: 500, kind: kindInternal, message: "EngineCore encountered an issue."}
		if x.events == 0 {
			e = overloaded(x.s.cfg.Dialect)
		}
		_ = x.write(x.s.wire.errorEvent(nil, x.r.URL.Path, e))
		_ = x.write(doneEvent)
		x.complete = true
		return errEnded
	case CutHang, CutNone:
	}
	return nil
}

var doneEvent = []byte("data: [DONE]\n\n")

// terminator writes b, the end of a stream, unless a cut is still due.
func (x *exchange) terminator(b []byte) error {
	if x.fault.Cut != CutNone && x.fault.Cut != CutAbort {
		x.fault.After = 0
		if err := x.beforeEvent(); err != nil {
			return err
		}
	}
	return x.write(b)
}

// comments sends comment lines until the client leaves.
func (x *exchange) comments() {
	x.startStream()
	tick := time.NewTicker(x.s.cfg.HeartbeatEvery)
	defer tick.Stop()
	for {
		if x.write([]byte(": ping\n\n")) != nil {
			return
		}
		select {
		case <-tick.C:
		case <-x.left:
			return
		case <-x.cleared:
			return
		case <-x.s.closing:
			return
		}
	}
}

// write sends b with one flush, or as the fault wants it.
func (x *exchange) write(b []byte) error {
	x.startStream()
	if x.fault.CRLF {
		b = crlf(b)
	}
	if x.fault.SplitEvents && len(b) > 2 {
		// Two cuts, at odd places that move from event to event.
		first := (len(b)/3+x.events)%(len(b)-2) | 1
		for _, part := range [][]byte{b[:first], b[first : len(b)-1], b[len(b)-1:]} {
			if len(part) == 0 {
				continue
			}
			if _, err := x.w.Write(part); err != nil {
				x.gone = true
				return errEnded
			}
			x.flush()
		}
		return nil
	}
	if _, err := x.w.Write(b); err != nil {
		x.gone = true
		return errEnded
	}
	x.flush()
	return nil
}

func crlf(b []byte) []byte {
	out := make([]byte, 0, len(b)+8)
	for _, c := range b {
		if c == '\n' {
			out = append(out, '\r')
		}
		out = append(out, c)
	}
	return out
}

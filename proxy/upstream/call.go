package upstream

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// Phase is the step of an exchange at which something went wrong.
type Phase uint8

// The phases, in order.
const (
	PhaseDial Phase = iota
	PhaseWrite
	PhaseFirstByte
	PhaseHead
	PhaseBody
)

// String names the phase as metrics and logs show it.
func (p Phase) String() string {
	switch p {
	case PhaseDial:
		return "dial"
	case PhaseWrite:
		return "write"
	case PhaseFirstByte:
		return "first_byte"
	case PhaseHead:
		return "head"
	case PhaseBody:
		return "body"
	}
	return "unknown"
}

// ErrCancelled is the cause of every failure after Call.Cancel.
var ErrCancelled = errors.New("upstream: cancelled")

// ErrNoAnswer means that the engine closed the connection before answering.
var ErrNoAnswer = errors.New("upstream: connection closed before an answer")

// Error is a failed exchange. Nothing of the answer has reached the caller.
type Error struct {
	Phase     Phase
	Reused    bool // the last connection tried had served a request before
	ByteSeen  bool // some byte of an answer arrived
	Timeout   bool // a deadline of the phase passed
	Cancelled bool
	Err       error
}

// Error says what could not be done.
func (e *Error) Error() string {
	return "cannot complete upstream exchange (" + e.Phase.String() + "): " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// maxReplays is how many dead reused connections one call may meet before it
// insists on a fresh one: an engine that restarted leaves several at once.
const maxReplays = 3

// smallRequest is the size up to which head and body are joined for one write;
// beyond it the copy costs more than the second vector entry.
const smallRequest = 8 << 10

// Call is one exchange. The zero value is ready; Reset makes it so again. All
// methods but Cancel belong to one goroutine at a time.
type Call struct {
	// Head is the complete request head with its final empty line; Body
	// follows it on the wire. Neither is changed or kept.
	Head, Body []byte
	// Bodyless says that the answer has no body whatever its head says, as to
	// HEAD.
	Bodyless bool
	// Fresh asks for a new connection, for a request that must not be repeated:
	// a kept one may be closed by the engine at any moment.
	Fresh bool
	// WriteTimeout bounds a body too large for the socket buffer; 0 no limit.
	WriteTimeout time.Duration
	// FirstByte is when the first byte of the answer must be here; zero: never.
	FirstByte time.Time

	// Now is the caller's latest reading of the clock; zero: the call reads it.
	// Setting it before Send and again before Finish saves several readings
	// per request, each as dear as a map lookup.
	Now time.Time

	// Response is the head of the answer once Send returned nil.
	Response Head
	// Replays is how often Send repeated itself over a dead reused connection.
	Replays int

	target *Target
	conn   *conn
	body   Decoder
	join   []byte
	vec    [2][]byte
	seen   bool

	mu        sync.Mutex // guards the fields below, against Cancel
	cancelled bool
	live      net.Conn
	stopDial  context.CancelFunc
}

// Reset forgets the last exchange; it must have ended by Finish or Detach.
func (c *Call) Reset() {
	c.Head, c.Body = nil, nil
	c.Bodyless, c.Fresh, c.WriteTimeout, c.FirstByte = false, false, 0, time.Time{}
	c.Now = time.Time{}
	c.Replays, c.target, c.conn, c.seen = 0, nil, nil, false
	c.mu.Lock()
	c.cancelled, c.live, c.stopDial = false, nil, nil
	c.mu.Unlock()
}

// Again prepares for another exchange of the same request, after Finish. What
// Cancel said stays said.
func (c *Call) Again() { c.Replays, c.target, c.seen = 0, nil, false }

// Cancel makes the exchange fail as soon as possible, from any goroutine. It
// does not block, and may come before, during or after the exchange.
func (c *Call) Cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancelled = true
	if c.live != nil {
		// A deadline in the past wakes the reader without closing a descriptor
		// under it.
		_ = c.live.SetDeadline(time.Unix(1, 0))
	}
	if c.stopDial != nil {
		c.stopDial()
	}
}

// Cancelled reports whether Cancel was called.
func (c *Call) Cancelled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cancelled
}

// Send writes the request and reads the response head. On error the connection
// is gone already and the error is an *Error.
func (t *Target) Send(c *Call) error {
	c.target = t
	for {
		if err := t.attach(c, !c.Fresh && c.Replays < maxReplays); err != nil {
			return c.fail(PhaseDial, false, err)
		}
		phase, err := c.exchange()
		if err == nil {
			return nil
		}
		reused := c.conn.reused
		c.release().close()
		if reused && !c.seen && deadSocket(err) && !c.Cancelled() {
			c.Replays++
			t.replays.Add(1)
			continue
		}
		return c.fail(phase, reused, err)
	}
}

func (c *Call) now() time.Time {
	if c.Now.IsZero() {
		return c.target.cfg.Now()
	}
	return c.Now
}

func (c *Call) fail(p Phase, reused bool, err error) error {
	e := &Error{Phase: p, Reused: reused, ByteSeen: c.seen, Err: err}
	if c.Cancelled() {
		e.Cancelled, e.Err = true, ErrCancelled
	} else if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		e.Timeout = true
	} else if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
		e.Timeout = true
	}
	return e
}

// deadSocket reports whether err is what a connection closed by the engine
// looks like from here.
func deadSocket(err error) bool {
	return errors.Is(err, ErrNoAnswer) || errors.Is(err, io.EOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// attach gives the call a connection, idle or new.
func (t *Target) attach(c *Call, mayReuse bool) error {
	var cn *conn
	if mayReuse {
		cn = t.takeIdle(c.now())
	}
	if cn == nil {
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		c.mu.Lock()
		c.stopDial = stop
		cancelled := c.cancelled
		c.mu.Unlock()
		if cancelled {
			return ErrCancelled
		}
		var err error
		cn, err = t.dial(ctx)
		c.mu.Lock()
		c.stopDial = nil
		c.mu.Unlock()
		if err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancelled {
		cn.close()
		return ErrCancelled
	}
	c.conn, c.live = cn, cn.nc
	return nil
}

// release takes the connection from the call.
func (c *Call) release() *conn {
	c.mu.Lock()
	cn := c.conn
	c.conn, c.live = nil, nil
	c.mu.Unlock()
	return cn
}

// setDeadlines applies unless the call was cancelled, whose own deadline must
// not be undone.
func (c *Call) setDeadlines(read time.Time, write time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancelled {
		return ErrCancelled
	}
	if read.Equal(write) {
		return c.live.SetDeadline(read)
	}
	return errors.Join(c.live.SetReadDeadline(read), c.live.SetWriteDeadline(write))
}

func (c *Call) exchange() (Phase, error) {
	write := c.FirstByte
	if len(c.Body) > 64<<10 && c.WriteTimeout > 0 {
		write = c.now().Add(c.WriteTimeout)
	}
	if err := c.setDeadlines(c.FirstByte, write); err != nil {
		return PhaseWrite, err
	}
	werr := c.write()
	if werr != nil && errors.Is(werr, os.ErrDeadlineExceeded) {
		return PhaseWrite, werr
	}
	// An engine may refuse a body before it has read all of it: its answer is
	// worth more than our failed write.
	phase, err := c.readHead()
	if err != nil && werr != nil {
		return PhaseWrite, werr
	}
	if werr != nil {
		c.Response.KeepAlive = false
	}
	return phase, err
}

func (c *Call) write() error {
	nc := c.conn.nc
	if len(c.Body) == 0 {
		_, err := nc.Write(c.Head)
		return err
	}
	if len(c.Head)+len(c.Body) <= smallRequest || c.conn.secure {
		c.join = append(append(c.join[:0], c.Head...), c.Body[:min(len(c.Body), smallRequest)]...)
		_, err := nc.Write(c.join)
		if rest := c.Body[min(len(c.Body), smallRequest):]; err == nil && len(rest) > 0 {
			_, err = nc.Write(rest)
		}
		return err
	}
	c.vec[0], c.vec[1] = c.Head, c.Body
	bufs := net.Buffers(c.vec[:])
	_, err := bufs.WriteTo(nc)
	c.vec[0], c.vec[1] = nil, nil
	return err
}

// readHead reads up to the end of the final response head, skipping 1xx.
func (c *Call) readHead() (Phase, error) {
	cn := c.conn
	cn.takeBuffer()
	for {
		if cn.w > cn.r {
			n, err := parseHead(cn.unread(), &c.Response)
			if err != nil {
				return PhaseHead, err
			}
			if n > 0 {
				cn.r += n
				if c.Response.Status == 101 {
					return PhaseHead, ErrMalformedHead
				}
				if c.Response.Status >= 200 {
					if c.Bodyless {
						c.Response.Length = 0
					}
					cn.base = cn.r
					c.body.Reset(c.Response.Length)
					return PhaseBody, nil
				}
				continue
			}
		}
		if err := cn.fill(); err != nil {
			if errors.Is(err, io.EOF) {
				err = ErrNoAnswer
			}
			if c.seen {
				return PhaseHead, err
			}
			return PhaseFirstByte, err
		}
		c.seen = true
	}
}

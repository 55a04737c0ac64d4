package upstream

import (
	"crypto/tls"
	"net"
	"sync"
	"syscall"
	"time"
)

// readBufferSize holds the response head and, for the small answers that are
// most of them, the whole body, in one read.
const readBufferSize = 16 << 10

var readBuffers = sync.Pool{New: func() any { b := make([]byte, readBufferSize); return &b }}

// conn is one connection to a replica. It belongs to one Call or to the idle
// pool, never to both.
type conn struct {
	nc     net.Conn
	raw    syscall.RawConn // nil when the liveness check cannot look at the socket
	probe  func(fd uintptr)
	state  socketState // written by probe
	secure bool
	reused bool
	since  time.Time // when it became idle

	buf  *[]byte // nil while idle
	r, w int     // unread bytes are (*buf)[r:w]
	base int     // the response head is (*buf)[:base]; the body is read behind it
}

// socketState is what a look at an idle socket found.
type socketState uint8

const (
	socketClean socketState = iota
	socketClosed
	socketDirty // bytes that belong to no request
)

func newConn(nc net.Conn) *conn {
	c := &conn{nc: nc}
	tcp := nc
	if t, ok := nc.(*tls.Conn); ok {
		c.secure, tcp = true, t.NetConn()
	}
	if sc, ok := tcp.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			c.raw = raw
			c.probe = func(fd uintptr) { c.state = peekSocket(fd) }
		}
	}
	return c
}

// check looks at an idle socket before reuse. An engine that closed its end, or
// that sent bytes nobody asked for, must not get (or answer) the next request.
func (c *conn) check() socketState {
	if c.raw == nil {
		return socketClean
	}
	c.state = socketClosed
	if err := c.raw.Control(c.probe); err != nil {
		return socketClosed
	}
	// TLS session tickets arrive whenever the peer likes, so readable bytes
	// prove nothing about answers there; the connection is not worth the risk.
	if c.state == socketDirty && c.secure {
		return socketClosed
	}
	return c.state
}

func (c *conn) takeBuffer() {
	if c.buf == nil {
		c.buf = readBuffers.Get().(*[]byte)
	}
	c.r, c.w, c.base = 0, 0, 0
}

func (c *conn) dropBuffer() {
	if c.buf != nil {
		readBuffers.Put(c.buf)
		c.buf, c.r, c.w, c.base = nil, 0, 0, 0
	}
}

func (c *conn) unread() []byte {
	if c.buf == nil {
		return nil
	}
	return (*c.buf)[c.r:c.w]
}

func (c *conn) close() {
	c.dropBuffer()
	_ = c.nc.Close() // nothing to do about a failing close of a socket
}

// fill reads once more into the buffer, growing it up to maxHeadBytes.
func (c *conn) fill() error {
	b := *c.buf
	if c.w == len(b) {
		if len(b) >= maxHeadBytes+readBufferSize {
			return ErrHeadTooLarge
		}
		bigger := make([]byte, 2*len(b))
		copy(bigger, b)
		*c.buf = bigger
		b = bigger
	}
	n, err := c.nc.Read(b[c.w:])
	c.w += n
	if n > 0 {
		return nil
	}
	return err
}

package proxy

import (
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// Bounds of a lingering close (nginx's lingering_close, shortened).
const (
	lingerTime  = time.Second
	lingerBytes = 1 << 20
)

// lingerConn is a client connection that can be closed gently: a close with
// unread bytes makes the kernel send a reset, and the reset can overtake the
// answer that says why the request was refused.
type lingerConn struct {
	net.Conn
	linger atomic.Bool
	// handover is a stream between the handler that gave the connection away
	// and the goroutine that takes it over. If the server closes the connection
	// instead, the stream must still be settled.
	handover atomic.Pointer[stream]
	// ignored counts closes that must not happen: fasthttp closes a hijacked
	// connection when the hijack handler returns, while the relay still has it.
	ignored atomic.Int32
}

// ignoreClose makes one coming Close do nothing.
func (c *lingerConn) ignoreClose() { c.ignored.Add(1) }

func (c *lingerConn) ignores() bool {
	for {
		n := c.ignored.Load()
		if n == 0 {
			return false
		}
		if c.ignored.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

// NetConn lets others find the socket.
func (c *lingerConn) NetConn() net.Conn { return c.Conn }

// Close closes, after draining a little if an early answer was sent.
func (c *lingerConn) Close() error {
	// The close to ignore belongs to an earlier stream, and comes first: it must
	// not be taken for one that abandons the stream being handed over now.
	if c.ignores() {
		return nil
	}
	if st := c.handover.Swap(nil); st != nil {
		st.abandon()
	}
	if c.linger.Swap(false) {
		c.drain()
	}
	return c.Conn.Close()
}

func (c *lingerConn) drain() {
	tcp, ok := tcpOf(c.Conn)
	if !ok || tcp.CloseWrite() != nil {
		return
	}
	if tcp.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	// Whatever ends it, the connection is closed next.
	_, _ = io.CopyN(io.Discard, struct{ io.Reader }{tcp}, lingerBytes)
}

// lingerOn asks for a gentle close of the client connection under c.
func lingerOn(c net.Conn) {
	if v := lingerOf(c); v != nil {
		v.linger.Store(true)
	}
}

// lingerOf finds the lingerConn under wrappers, TLS included; nil without one.
func lingerOf(c net.Conn) *lingerConn {
	for {
		switch v := c.(type) {
		case *lingerConn:
			return v
		case interface{ NetConn() net.Conn }:
			c = v.NetConn()
		default:
			return nil
		}
	}
}

// tcpOf finds the TCP connection under the wrappers; not through TLS.
func tcpOf(c net.Conn) (*net.TCPConn, bool) {
	for {
		switch v := c.(type) {
		case *net.TCPConn:
			return v, true
		case interface{ ConnectionState() tls.ConnectionState }:
			return nil, false
		case interface{ NetConn() net.Conn }:
			c = v.NetConn()
		default:
			return nil, false
		}
	}
}

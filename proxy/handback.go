package proxy

import (
	"errors"
	"net"
	"time"

	"penstock/proxy/relay"
)

// serveAgain gives a client's connection back to the HTTP server.
func (s *Server) serveAgain(c net.Conn) {
	if s.stopping.Load() {
		_ = c.Close()
		return
	}
	_ = s.http.ServeConn(c) // its errors are about this client only
}

// closeClient ends a connection whose answer was cut. A reset, rather than an
// orderly close, is what no client can take for the end of an answer; but it
// may overtake the error event, so it is for those who are gone anyway.
func closeClient(c net.Conn, err error, reset bool) {
	if reset || errors.Is(err, relay.ErrClientGone) || errors.Is(err, relay.ErrClientSlow) {
		if tcp, ok := tcpOf(c); ok {
			_ = tcp.SetLinger(0)
		}
	}
	_ = c.Close()
}

// drainBuffered takes what fasthttp had read beyond the request. A deadline in
// the past makes the read stop at the buffer's end without a system call.
func drainBuffered(c net.Conn) []byte {
	if err := c.SetReadDeadline(time.Unix(1, 0)); err != nil {
		return nil
	}
	var rest []byte
	buf := make([]byte, 64)
	for {
		n, err := c.Read(buf)
		rest = append(rest, buf[:n]...)
		if err != nil {
			break
		}
	}
	_ = c.SetReadDeadline(time.Time{})
	return rest
}

// prefixConn is a connection with bytes to read before its own: a request that
// the client pipelined behind a stream.
type prefixConn struct {
	net.Conn
	rest []byte
}

// Read serves the kept bytes first.
func (p *prefixConn) Read(b []byte) (int, error) {
	if len(p.rest) > 0 {
		n := copy(b, p.rest)
		p.rest = p.rest[n:]
		return n, nil
	}
	return p.Conn.Read(b)
}

// NetConn lets the client watch and the relay find the socket.
func (p *prefixConn) NetConn() net.Conn { return p.Conn }

package enginesim

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
)

// surplus is what fault surplus_bytes writes after a response: it looks like
// the answer to a request that nobody sent.
const surplus = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nContent-Type: text/plain\r\n\r\npoison"

// simConn is a connection that a fault can mark.
type simConn struct {
	net.Conn
	poison    atomic.Bool // write surplus when the response has ended
	closeIdle atomic.Bool // close when the response has ended
}

// reset makes Close send a TCP reset.
func (c *simConn) reset() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

func connOf(r *http.Request) *simConn {
	c, _ := r.Context().Value(connKey{}).(*simConn)
	return c
}

// onState runs when net/http moves c between states; StateIdle follows the
// last byte of a response.
func onState(c net.Conn, state http.ConnState) {
	sc, ok := c.(*simConn)
	if !ok || state != http.StateIdle {
		return
	}
	if sc.poison.Swap(false) {
		_, _ = sc.Write([]byte(surplus))
	}
	if sc.closeIdle.Swap(false) {
		_ = sc.Close()
	}
}

// listener wraps accepted connections and refuses those a fault asks for.
type listener struct {
	net.Listener
	faults *faultBox
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		sc := &simConn{Conn: c}
		if l.faults.refuse() {
			sc.reset()
			continue
		}
		return sc, nil
	}
}

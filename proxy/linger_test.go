package proxy

import (
	"net"
	"testing"
)

// The server closes a hijacked connection when its handler returns. That close
// may come late, when the connection serves its next stream already, and must
// not end that one.
func TestLateCloseDoesNotEndTheNextStream(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	defer far.Close()
	c := &lingerConn{Conn: near}
	c.ignoreClose()
	next := &stream{}
	c.handover.Store(next)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if c.handover.Load() != next {
		t.Fatal("the close of the stream before abandoned this one")
	}
	c.handover.Store(nil)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := near.Write([]byte("x")); err == nil {
		t.Fatal("the connection is never closed")
	}
}

package zmq

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"
)

// FuzzRead gives a connection arbitrary bytes after the handshake: it ends, takes no
// more memory than it was sent, and messages that were written are read back.
func FuzzRead(f *testing.F) {
	f.Add(frame(frame(nil, flagMore, []byte("a")), 0, bytes.Repeat([]byte("b"), 300)))
	f.Add(frame(nil, flagCommand, []byte("\x04PING\x00\x01x")))
	f.Add([]byte{flagLong, 0, 0, 0, 0, 0, 1, 0, 0, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		w := newWire(&bytesConn{Reader: bytes.NewReader(data)}, limits{
			message: 1 << 16, parts: 4, handshake: time.Second, idle: time.Second, silence: time.Second,
		})
		var m message
		var written []byte
		for w.read(&m) == nil {
			if len(m.ends) == 0 || len(m.ends) > 4 || len(m.data) > 1<<16 {
				t.Fatalf("%d parts, %d bytes", len(m.ends), len(m.data))
			}
			for i := range m.ends {
				flags := byte(flagMore)
				if i == len(m.ends)-1 {
					flags = 0
				}
				written = frame(written, flags, m.part(i))
			}
		}
		if cap(m.data) > 2*len(data)+keptMessage {
			t.Fatalf("%d bytes for %d", cap(m.data), len(data))
		}
		again := newWire(&bytesConn{Reader: bytes.NewReader(written)}, w.limits)
		var rewritten []byte
		for again.read(&m) == nil {
			for i := range m.ends {
				flags := byte(flagMore)
				if i == len(m.ends)-1 {
					flags = 0
				}
				rewritten = frame(rewritten, flags, m.part(i))
			}
		}
		if !bytes.Equal(written, rewritten) {
			t.Fatal("what was written is read otherwise")
		}
	})
}

// FuzzHandshake does the same with the bytes before.
func FuzzHandshake(f *testing.F) {
	ready := append([]byte("\x05READY"), property("Socket-Type", "PUB")...)
	f.Add(append(greeting(), frame(nil, flagCommand, ready)...))
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		w := newWire(&bytesConn{Reader: bytes.NewReader(data)}, limits{handshake: time.Second})
		if err := w.handshake("SUB", "PUB"); err == nil && !bytes.Contains(data, []byte("READY")) {
			t.Fatal("ready without READY")
		}
	})
}

// bytesConn is a connection that gives bytes and takes all.
type bytesConn struct {
	io.Reader
	net.Conn
}

func (c *bytesConn) Read(p []byte) (int, error)       { return c.Reader.Read(p) }
func (c *bytesConn) Write(p []byte) (int, error)      { return len(p), nil }
func (c *bytesConn) SetDeadline(time.Time) error      { return nil }
func (c *bytesConn) SetReadDeadline(time.Time) error  { return nil }
func (c *bytesConn) SetWriteDeadline(time.Time) error { return nil }

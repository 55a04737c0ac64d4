package loadgen

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/url"
	"strconv"
	"time"
)

const (
	readBuffer = 16 << 10
	maxHead    = 64 << 10
	// idleLimit is below the 5 s after which engines close an idle connection.
	idleLimit = 3 * time.Second
)

// target is where requests go.
type target struct {
	address string // host:port
	host    string // Host header
	path    string
	tls     *tls.Config // nil: plain
}

func newTarget(u *url.URL, path string) target {
	t := target{host: u.Host, address: u.Host, path: path}
	port := "80"
	if u.Scheme == "https" {
		port = "443"
		t.tls = &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12}
	}
	if u.Port() == "" {
		t.address = net.JoinHostPort(u.Hostname(), port)
	}
	return t
}

func (t *target) dial(ctx context.Context, timeout time.Duration) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", t.address)
	if err == nil && t.tls != nil {
		s := tls.Client(c, t.tls)
		if err = s.HandshakeContext(ctx); err != nil {
			_ = c.Close()
		}
		c = s
	}
	if err != nil {
		return nil, &failure{kind: Connect, cause: err}
	}
	return &conn{Conn: c, r: bufio.NewReaderSize(c, readBuffer)}, nil
}

// conn is one keep-alive connection, used by one goroutine.
type conn struct {
	net.Conn
	r     *bufio.Reader
	since time.Time // when the last answer ended; zero on a fresh connection
}

// head is what matters of the head of an answer.
type head struct {
	status  int
	length  int64 // -1: not said
	chunked bool
	closes  bool
	sse     bool
}

var errHead = errors.New("malformed response head")

// readHead reads the head of an answer, interim answers skipped.
func (c *conn) readHead() (head, error) {
	for {
		h, err := c.readOneHead()
		if err != nil || h.status >= 200 {
			return h, err
		}
	}
}

func (c *conn) readOneHead() (head, error) {
	h := head{length: -1}
	line, err := c.line()
	if err != nil {
		return h, err
	}
	// HTTP/1.1 200 OK
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		return h, &failure{kind: WrongContent, cause: errHead}
	}
	if h.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return h, &failure{kind: WrongContent, cause: errHead}
	}
	h.closes = line[7] == '0'
	for total := 0; ; {
		if line, err = c.line(); err != nil {
			return h, unexpected(err)
		}
		if len(line) == 0 {
			return h, nil
		}
		if total += len(line); total > maxHead {
			return h, &failure{kind: WrongContent, cause: errHead}
		}
		if err := h.field(line); err != nil {
			return h, err
		}
	}
}

func (h *head) field(line []byte) error {
	name, value, ok := bytes.Cut(line, []byte{':'})
	if !ok {
		return &failure{kind: WrongContent, cause: errHead}
	}
	value = bytes.TrimSpace(value)
	switch {
	case bytes.EqualFold(name, []byte("content-length")):
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil || n < 0 {
			return &failure{kind: WrongContent, cause: errHead}
		}
		h.length = n
	case bytes.EqualFold(name, []byte("transfer-encoding")):
		h.chunked = bytes.EqualFold(value, []byte("chunked"))
	case bytes.EqualFold(name, []byte("connection")):
		h.closes = h.closes || bytes.EqualFold(value, []byte("close"))
	case bytes.EqualFold(name, []byte("content-type")):
		h.sse = bytes.HasPrefix(bytes.ToLower(value), []byte("text/event-stream"))
	}
	return nil
}

// line reads to the next line feed; the result is valid until the next read.
func (c *conn) line() ([]byte, error) {
	b, err := c.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return nil, &failure{kind: WrongContent, cause: errHead}
	}
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(b, "\r\n"), nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// payload reads the body of one answer without copying it.
type payload struct {
	c       *conn
	left    int64 // of the chunk or body; -1: until the connection closes
	chunked bool
	ended   bool
	held    int // bytes handed out by next
}

func (c *conn) payload(h head) payload {
	p := payload{c: c, left: h.length, chunked: h.chunked}
	if h.chunked {
		p.left = 0
	} else if h.length == 0 {
		p.ended = true
	}
	return p
}

// next returns what has arrived, at least one byte, valid until the next call.
// The error is io.EOF only after a complete body.
func (p *payload) next() ([]byte, error) {
	if p.held > 0 {
		_, _ = p.c.r.Discard(p.held) // buffered, cannot fail
		p.held = 0
	}
	if p.chunked && p.left == 0 && !p.ended {
		if err := p.chunk(); err != nil {
			return nil, err
		}
	}
	if p.ended {
		return nil, io.EOF
	}
	if _, err := p.c.r.Peek(1); err != nil {
		if p.left < 0 && errors.Is(err, io.EOF) {
			p.ended = true
			return nil, io.EOF
		}
		return nil, unexpected(err)
	}
	n := p.c.r.Buffered()
	if p.left >= 0 {
		n = int(min(int64(n), p.left))
		p.left -= int64(n)
		if p.left == 0 && !p.chunked {
			p.ended = true
			b, _ := p.c.r.Peek(n)
			p.held = n
			return b, nil
		}
	}
	p.held = n
	b, _ := p.c.r.Peek(n)
	return b, nil
}

// chunk reads the next chunk's size, and the trailer after the last.
func (p *payload) chunk() error {
	line, err := p.c.line()
	if err == nil && len(line) == 0 { // the line end of the chunk before
		line, err = p.c.line()
	}
	if err != nil {
		return unexpected(err)
	}
	size, _, _ := bytes.Cut(line, []byte{';'})
	n, err := strconv.ParseUint(string(bytes.TrimSpace(size)), 16, 40)
	if err != nil {
		return fail(WrongContent, "malformed chunk size")
	}
	p.left = int64(n)
	for n == 0 {
		if line, err = p.c.line(); err != nil {
			return unexpected(err)
		}
		if len(line) == 0 {
			p.ended = true
			return nil
		}
	}
	return nil
}

package framing

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
)

// Record is what one connection brought to the backend.
type Record struct {
	Raw      string    // every byte
	Requests []Request // as the strict reader saw them
	// Err is why reading ended: nil when the peer closed between requests.
	Err error
}

// Echo is the JSON with which the backend answers each request.
type Echo struct {
	Request
	Connection int `json:"connection"` // from 0, in order of arrival
	Sequence   int `json:"sequence"`   // of the request on its connection, from 0
}

// Backend is an origin server that reads strictly, records everything and
// answers each request with an Echo.
type Backend struct {
	listener net.Listener
	wg       sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	records []*Record
	open    map[net.Conn]bool
	taken   []taken // of each record
}

// StartBackend listens on a loopback port.
func StartBackend() (*Backend, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("cannot start backend: %w", err)
	}
	b := &Backend{listener: ln, open: map[net.Conn]bool{}}
	b.wg.Go(b.accept)
	return b, nil
}

// Addr is host:port.
func (b *Backend) Addr() string { return b.listener.Addr().String() }

func (b *Backend) accept() {
	for {
		c, err := b.listener.Accept()
		if err != nil {
			return
		}
		record := new(Record)
		b.mu.Lock()
		id := len(b.records)
		b.records, b.taken = append(b.records, record), append(b.taken, taken{})
		b.open[c] = true
		b.mu.Unlock()
		b.wg.Go(func() { b.serve(c, id, record) })
	}
}

// tap copies what is read into the record.
type tap struct {
	net.Conn
	backend *Backend
	record  *Record
}

func (t *tap) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	t.backend.mu.Lock()
	t.record.Raw += string(p[:n])
	t.backend.mu.Unlock()
	return n, err
}

func (b *Backend) serve(c net.Conn, id int, record *Record) {
	err := b.answerAll(c, id, record)
	b.mu.Lock()
	if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
		record.Err = err
	}
	delete(b.open, c)
	b.mu.Unlock()
	_ = c.Close()
}

func (b *Backend) answerAll(c net.Conn, id int, record *Record) error {
	r := bufio.NewReader(&tap{Conn: c, backend: b, record: record})
	for sequence := 0; ; sequence++ {
		q, err := ReadRequest(r)
		if errors.Is(err, ErrMalformed) {
			_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		}
		if err != nil {
			return err
		}
		b.mu.Lock()
		record.Requests = append(record.Requests, *q)
		b.mu.Unlock()
		if err := answer(c, q, id, sequence); err != nil {
			return err
		}
		if !q.Persistent() {
			return nil
		}
	}
}

func answer(w io.Writer, q *Request, id, sequence int) error {
	body, err := json.Marshal(Echo{Request: *q, Connection: id, Sequence: sequence})
	if err != nil {
		return fmt.Errorf("cannot encode echo: %w", err)
	}
	head := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n"
	if q.Method == "HEAD" {
		body = nil
	}
	_, err = w.Write(append([]byte(head), body...))
	return err
}

// Close stops the backend and returns what each connection brought. Connections
// that are still open are cut, which is not an error of theirs.
func (b *Backend) Close() []Record {
	_ = b.listener.Close()
	b.mu.Lock()
	for c := range b.open {
		_ = c.Close()
	}
	b.mu.Unlock()
	b.wg.Wait()
	out := make([]Record, len(b.records))
	for i, r := range b.records {
		out[i] = *r
	}
	return out
}

// Batch is what reached the backend between two calls of Take.
type Batch struct {
	Requests  []Request
	Malformed int // connections that brought something the strict reader refuses
	Cut       int // connections that ended inside a request
}

// Take returns what came since the last Take.
func (b *Backend) Take() Batch {
	b.mu.Lock()
	defer b.mu.Unlock()
	var batch Batch
	for i, r := range b.records {
		t := &b.taken[i]
		batch.Requests = append(batch.Requests, r.Requests[t.requests:]...)
		t.requests = len(r.Requests)
		switch {
		case t.failed || r.Err == nil:
			continue
		case errors.Is(r.Err, ErrMalformed):
			batch.Malformed++
		default:
			batch.Cut++
		}
		t.failed = true
	}
	return batch
}

// taken is what Take has returned of one record.
type taken struct {
	requests int
	failed   bool
}

// Contains reports whether a text has reached the backend in any case of its
// letters.
func (r *Record) Contains(text string) bool {
	return strings.Contains(strings.ToLower(r.Raw), strings.ToLower(text))
}

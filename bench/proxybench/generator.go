package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"strconv"
	"sync"
	"time"
)

// order is one job for the generator process.
type order struct {
	Mode    string        // closed, first, events or idle
	Address string        // of the proxy
	Conns   int           // closed: connections; events, idle: streams
	Prompt  int           // bytes
	Events  int           // per stream
	Every   int           // ms between events
	Length  time.Duration // closed, first: how long
}

// yield is what the generator saw. Times are in µs.
type yield struct {
	Done      int     `json:"done"`      // answers or streams that are complete
	Failed    int     `json:"failed"`    // answers or streams that are not
	Events    int     `json:"events"`    // received
	Disorder  int     `json:"disorder"`  // events out of order or missing before one received
	P50       float64 `json:"p50"`       // latency, time to first byte, or delay of an event
	P99       float64 `json:"p99"`       //
	FirstP50  float64 `json:"first_p50"` // events: from the request to the first event
	FirstP99  float64 `json:"first_p99"`
	LastError string  `json:"last_error,omitempty"`
}

const ioLimit = 60 * time.Second

// request is a POST with a prompt of n bytes. Answers in one piece are asked for
// as completions and streams as chats, so that a proxy can treat them apart by
// path.
func request(host string, n int, stream bool, events, every int) []byte {
	text := bytes.Repeat([]byte("the gate opens and water runs down the pipe "), n/44+1)[:n]
	body := fmt.Sprintf(`{"model":"m","max_tokens":200,"prompt":"%s"}`, text)
	path := "/v1/completions"
	if stream {
		path = "/v1/chat/completions"
		body = fmt.Sprintf(`{"model":"m","stream":true,"max_tokens":%d,"seed":%d,"messages":[{"role":"user","content":"%s"}]}`, events, every, text)
	}
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, host, len(body), body)
}

// generate carries out o. ready is called when an idle job holds all its
// streams; it returns when they may be closed.
func generate(ctx context.Context, o order, ready func()) (yield, error) {
	switch o.Mode {
	case "closed":
		return closedLoop(ctx, o, false), nil
	case "first":
		o.Conns = 1
		return closedLoop(ctx, o, true), nil
	case "events":
		return eventStreams(ctx, o), nil
	case "idle":
		return idleStreams(ctx, o, ready), nil
	default:
		return yield{}, fmt.Errorf("cannot generate %q", o.Mode)
	}
}

// tally gathers what the connections of one job saw.
type tally struct {
	mu     sync.Mutex // guards what follows
	yield  yield
	micros []float64
	firsts []float64
}

func (t *tally) add(y yield, micros, firsts []float64, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.yield.Done += y.Done
	t.yield.Failed += y.Failed
	t.yield.Events += y.Events
	t.yield.Disorder += y.Disorder
	t.micros = append(t.micros, micros...)
	t.firsts = append(t.firsts, firsts...)
	if err != nil {
		t.yield.Failed++
		t.yield.LastError = err.Error()
	}
}

func (t *tally) result() yield {
	y := t.yield
	if len(t.micros) > 0 {
		y.P50, y.P99 = quantile(t.micros, 0.5), quantile(t.micros, 0.99)
	}
	if len(t.firsts) > 0 {
		y.FirstP50, y.FirstP99 = quantile(t.firsts, 0.5), quantile(t.firsts, 0.99)
	}
	return y
}

// closedLoop sends the next request when the answer has come. With first it
// streams one event and times its arrival instead of the whole answer.
func closedLoop(ctx context.Context, o order, first bool) yield {
	var t tally
	var all sync.WaitGroup
	req := request(o.Address, o.Prompt, first, 1, 0)
	for range o.Conns {
		all.Go(func() {
			y, micros, err := closedConnection(ctx, o, req, first)
			t.add(y, micros, nil, err)
		})
	}
	all.Wait()
	return t.result()
}

func closedConnection(ctx context.Context, o order, req []byte, first bool) (y yield, micros []float64, err error) {
	c, err := dial(ctx, o.Address)
	if err != nil {
		return y, nil, err
	}
	defer c.Close()
	r := bufio.NewReaderSize(c, 32<<10)
	const warmUp = 20 // answers: connection set-up and cold caches stay out
	for end := time.Now().Add(o.Length); time.Now().Before(end); {
		began := monotonic()
		if _, err := c.Write(req); err != nil {
			return y, micros, err
		}
		body, err := readHead(r)
		if err != nil {
			return y, micros, err
		}
		var seen int64
		if first {
			if _, err := body.Read(make([]byte, 1)); err != nil {
				return y, micros, err
			}
			seen = monotonic()
		}
		if _, err := io.Copy(io.Discard, body); err != nil {
			return y, micros, err
		}
		if seen == 0 {
			seen = monotonic()
		}
		if y.Done++; y.Done > warmUp {
			micros = append(micros, float64(seen-began)/1e3)
		}
	}
	return y, micros, nil
}

// askOnce sends one request and reads the answer.
func askOnce(ctx context.Context, address string) error {
	c, err := dial(ctx, address)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write(request(address, streamedPrompt, false, 0, 0)); err != nil {
		return err
	}
	body, err := readHead(bufio.NewReader(c))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, body)
	return err
}

// dial connects with a deadline on everything that follows.
func dial(ctx context.Context, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: 5 * time.Second}
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return c, c.SetDeadline(time.Now().Add(ioLimit))
}

var errStatus = errors.New("status is not 200")

// readHead reads a head and returns the body that follows. The chunked body ends
// with its trailer, so that the connection can be used again.
func readHead(r *bufio.Reader) (io.Reader, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < 12 {
		return nil, errStatus
	}
	status, err := strconv.Atoi(string(line[9:12]))
	if err != nil {
		return nil, errStatus
	}
	length, chunked := int64(-1), false
	for {
		if line, err = r.ReadSlice('\n'); err != nil {
			return nil, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte{':'})
		switch {
		case bytes.EqualFold(name, []byte("content-length")):
			length, err = strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
		case bytes.EqualFold(name, []byte("transfer-encoding")):
			chunked = true
		}
		if err != nil {
			return nil, err
		}
	}
	if status != 200 {
		return nil, fmt.Errorf("%w but %d", errStatus, status)
	}
	switch {
	case chunked:
		return &chunkedBody{r: r, Reader: httputil.NewChunkedReader(r)}, nil
	case length >= 0:
		return &sizedBody{io.LimitedReader{R: r, N: length}}, nil
	default:
		return r, nil
	}
}

// chunkedBody also reads the empty line after the last chunk.
type chunkedBody struct {
	io.Reader
	r *bufio.Reader
}

func (b *chunkedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		if _, e := b.r.ReadSlice('\n'); e != nil {
			return n, io.ErrUnexpectedEOF
		}
	}
	return n, err
}

// sizedBody tells a cut body from a whole one.
type sizedBody struct{ io.LimitedReader }

func (b *sizedBody) Read(p []byte) (int, error) {
	n, err := b.LimitedReader.Read(p)
	if err == io.EOF && b.N > 0 { //nolint:errorlint // the reader returns it bare
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

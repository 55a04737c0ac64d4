package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// The upstream does as little as it can: one read, one write per answer. What to
// answer is said in standard fields of the body:
//
//	"stream":true   events instead of one JSON body
//	"max_tokens":N  how many events
//	"seed":N        milliseconds between events; holdOpen: one event, then silence
const holdOpen = 999999

// answerBytes is the size of an answer in one piece.
const answerBytes = 1024

const eventHead = `data: {"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"content":"`

// The content of an event is "<seq 8 digits> <monotonic ns 20 digits> ".
const (
	seqDigits   = 8
	stampDigits = 20
)

const (
	eventTail  = `"},"finish_reason":null}]}` + "\n\n"
	finalEvent = `data: {"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n" + "data: [DONE]\n\n"
	streamHead = "HTTP/1.1 200 OK\r\nServer: mock\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"
)

// monotonic is the time in ns on a clock that all processes share.
func monotonic() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("BUG: no monotonic clock: " + err.Error())
	}
	return ts.Nano()
}

// upstream is the mock engine.
type upstream struct {
	whole []byte // the answer in one piece, head included
	conns sync.WaitGroup
}

func newUpstream() *upstream {
	head := `{"id":"cmpl-0123456789abcdef","object":"text_completion","created":1700000000,"model":"m","choices":[{"index":0,"text":"`
	tail := `","finish_reason":"stop"}],"usage":{"prompt_tokens":256,"completion_tokens":200,"total_tokens":456}}`
	body := head + string(bytes.Repeat([]byte("word "), answerBytes/5+1))[:answerBytes-len(head)-len(tail)] + tail
	return &upstream{whole: []byte("HTTP/1.1 200 OK\r\nServer: mock\r\nContent-Type: application/json\r\nContent-Length: " +
		strconv.Itoa(len(body)) + "\r\n\r\n" + body)}
}

// serve answers on ln until ctx ends.
func (u *upstream) serve(ctx context.Context, ln net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = ln.Close() })
	defer stop()
	defer u.conns.Wait()
	for {
		c, err := ln.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("cannot accept: %w", err)
		}
		u.conns.Go(func() {
			stop := context.AfterFunc(ctx, func() { _ = c.Close() })
			defer stop()
			defer c.Close()
			u.connection(c)
		})
	}
}

// connection answers requests in turn. A request that it does not understand
// ends it.
func (u *upstream) connection(c net.Conn) {
	var r requestReader
	for {
		body, err := r.next(c)
		if err != nil {
			return
		}
		if bytes.HasPrefix(body, []byte("GET")) || !streams(body) {
			_, err = c.Write(u.whole)
		} else {
			count, every := field(body, `"max_tokens":`), field(body, `"seed":`)
			if every == holdOpen {
				r = requestReader{} // 10,000 of them must not hold their prompts
			}
			err = u.stream(c, count, every)
		}
		if err != nil {
			return
		}
	}
}

// requestReader splits a connection into requests.
type requestReader struct {
	buf  []byte
	used int // bytes of buf that belong to the request handed out last
}

var errRequest = errors.New("malformed request")

// next returns the body of the next request, valid until the next call.
func (r *requestReader) next(c io.Reader) ([]byte, error) {
	r.buf = append(r.buf[:0], r.buf[r.used:]...)
	r.used = 0
	if r.buf == nil {
		r.buf = make([]byte, 0, 4096)
	}
	for {
		if i := bytes.Index(r.buf, []byte("\r\n\r\n")); i >= 0 {
			n, err := contentLength(r.buf[:i+2])
			if err != nil {
				return nil, err
			}
			if end := i + 4 + n; len(r.buf) >= end {
				r.used = end
				return r.buf[i+4 : end], nil
			}
		} else if len(r.buf) > 64<<10 {
			return nil, errRequest
		}
		if len(r.buf) == cap(r.buf) {
			r.buf = append(r.buf, make([]byte, len(r.buf))...)[:len(r.buf)]
		}
		n, err := c.Read(r.buf[len(r.buf):cap(r.buf)])
		if err != nil {
			return nil, err
		}
		r.buf = r.buf[:len(r.buf)+n]
	}
}

// contentLength finds the length in a head; 0 when there is none. A chunked
// body is refused: no proxy here makes one of a request that has a length.
func contentLength(head []byte) (int, error) {
	length := 0
	for len(head) > 0 {
		line, rest, _ := bytes.Cut(head, []byte("\r\n"))
		head = rest
		name, value, ok := bytes.Cut(line, []byte{':'})
		if !ok {
			continue
		}
		switch {
		case len(name) == len("content-length") && bytes.EqualFold(name, []byte("content-length")):
			n, err := strconv.Atoi(string(bytes.TrimSpace(value)))
			if err != nil || n < 0 || n > 64<<20 {
				return 0, errRequest
			}
			length = n
		case len(name) == len("transfer-encoding") && bytes.EqualFold(name, []byte("transfer-encoding")):
			return 0, errRequest
		}
	}
	return length, nil
}

// start is where the fields of a request are looked for.
const start = 128

func streams(body []byte) bool {
	return bytes.Contains(body[:min(start, len(body))], []byte(`"stream":true`))
}

func field(body []byte, key string) int {
	_, v, _ := bytes.Cut(body[:min(start, len(body))], []byte(key))
	n := 0
	for n < len(v) && v[n] >= '0' && v[n] <= '9' {
		n++
	}
	x, _ := strconv.Atoi(string(v[:n])) // 0 when absent
	return x
}

// stream writes count events, one each every milliseconds.
func (u *upstream) stream(c net.Conn, count, every int) error {
	buf := append(make([]byte, 0, 1024), streamHead...)
	if every == holdOpen {
		if _, err := c.Write(appendEvent(buf, 0)); err != nil {
			return err
		}
		_, err := c.Read(make([]byte, 1)) // until the other side leaves
		return errors.Join(err, io.EOF)
	}
	var beat *time.Ticker
	if every > 0 {
		beat = time.NewTicker(time.Duration(every) * time.Millisecond)
		defer beat.Stop()
	}
	for seq := range count {
		if seq > 0 && beat != nil {
			<-beat.C
		}
		buf = appendEvent(buf, seq)
		if _, err := c.Write(buf); err != nil {
			return err
		}
		buf = buf[:0]
	}
	buf = appendChunk(buf, []byte(finalEvent))
	_, err := c.Write(append(buf, "0\r\n\r\n"...))
	return err
}

func appendEvent(dst []byte, seq int) []byte {
	var e [512]byte
	b := append(e[:0], eventHead...)
	b = appendPadded(b, int64(seq), seqDigits)
	b = append(b, ' ')
	b = appendPadded(b, monotonic(), stampDigits)
	b = append(b, ' ')
	return appendChunk(dst, append(b, eventTail...))
}

func appendChunk(dst, data []byte) []byte {
	dst = strconv.AppendInt(dst, int64(len(data)), 16)
	dst = append(dst, "\r\n"...)
	dst = append(dst, data...)
	return append(dst, "\r\n"...)
}

func appendPadded(dst []byte, v int64, width int) []byte {
	var d [20]byte
	for i := width - 1; i >= 0; i-- {
		d[i] = byte('0' + v%10)
		v /= 10
	}
	return append(dst, d[:width]...)
}

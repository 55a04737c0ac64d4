package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// fasthttp keeps these for the life of the process, or sleeps before they
	// notice that they are not needed any more.
	const pkg = "github.com/valyala/fasthttp."
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction(pkg+"updateServerDate.func1"),
		goleak.IgnoreAnyFunction(pkg+"(*HostClient).connsCleaner"),
		goleak.IgnoreAnyFunction(pkg+"(*TCPDialer).tcpAddrsClean"),
		goleak.IgnoreAnyFunction(pkg+"(*workerPool).Start.func2"),
	)
}

// up starts the mock engine and, with bare, the bare proxy before it.
func up(t *testing.T, bare bool) string {
	t.Helper()
	start := func(serve func(context.Context, net.Listener) error) string {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- serve(ctx, ln) }()
		t.Cleanup(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
		return ln.Addr().String()
	}
	address := start(newUpstream().serve)
	if bare {
		address = start(newBareProxy(address).serve)
	}
	return address
}

func TestGeneratorAgainstUpstream(t *testing.T) {
	t.Parallel()
	f := func(name string, o order, check func(y yield) bool) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.Address = up(t, false)
			held := false
			y, err := generate(t.Context(), o, func() { held = true })
			if err != nil || y.Failed > 0 || !check(y) || held != (o.Mode == "idle") {
				t.Fatalf("got %+v, %v", y, err)
			}
		})
	}
	f("closed loop", order{Mode: "closed", Conns: 3, Prompt: 40 << 10, Length: 50 * time.Millisecond}, func(y yield) bool {
		return y.Done > 3
	})
	f("first byte", order{Mode: "first", Prompt: 1024, Length: 50 * time.Millisecond}, func(y yield) bool { return y.Done > 1 })
	f("events", order{Mode: "events", Conns: 5, Prompt: 1024, Events: 20, Every: 1}, func(y yield) bool {
		return y.Done == 5 && y.Events == 100 && y.Disorder == 0 && y.P50 > 0 && y.P99 >= y.P50 && y.FirstP50 > 0
	})
	f("idle", order{Mode: "idle", Conns: 100, Prompt: 8192}, func(y yield) bool { return y.Done == 100 })
}

func TestBareProxyPassesAnswersOn(t *testing.T) {
	t.Parallel()
	address := up(t, true)
	y, err := generate(t.Context(), order{Mode: "closed", Address: address, Conns: 2, Prompt: 1024, Length: 50 * time.Millisecond}, nil)
	if err != nil || y.Failed > 0 || y.Done == 0 {
		t.Fatalf("got %+v, %v", y, err)
	}
	y, err = generate(t.Context(), order{Mode: "events", Address: address, Conns: 4, Prompt: 1024, Events: 10, Every: 1}, nil)
	if err != nil || y.Done != 4 || y.Events != 40 || y.Disorder != 0 {
		t.Fatalf("got %+v, %v", y, err)
	}
}

func TestUpstreamAnswersAsAsked(t *testing.T) {
	t.Parallel()
	r := strings.NewReader(string(request("h", 3000, false, 0, 0)) + string(request("h", 10, true, 3, 7)) + "GET / HTTP/1.1\r\n\r\n")
	var q requestReader
	whole, err := q.next(r)
	if err != nil || !json.Valid(whole) || len(whole) < 3000 || streams(whole) {
		t.Fatalf("got %.80q, %v", whole, err)
	}
	stream, err := q.next(r)
	if err != nil || !json.Valid(stream) || !streams(stream) || field(stream, `"max_tokens":`) != 3 || field(stream, `"seed":`) != 7 {
		t.Fatalf("got %q, %v", stream, err)
	}
	if empty, err := q.next(r); err != nil || len(empty) != 0 {
		t.Fatalf("got %q, %v", empty, err)
	}
	if _, err := q.next(r); !errors.Is(err, io.EOF) {
		t.Fatalf("got %v, want EOF", err)
	}
	_, body, _ := bytes.Cut(newUpstream().whole, []byte("\r\n\r\n"))
	if len(body) != answerBytes || !json.Valid(body) {
		t.Fatalf("the answer has %d bytes: %q", len(body), body)
	}
}

func FuzzRequestReader(f *testing.F) {
	f.Add([]byte("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\n\r\n"), 2)
	f.Add([]byte("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), 1)
	f.Fuzz(func(t *testing.T, data []byte, step int) {
		read := func(step int) []string {
			var q requestReader
			var got []string
			r := &slowReader{data: data, step: step}
			for {
				b, err := q.next(r)
				if err != nil {
					return got
				}
				got = append(got, string(b))
			}
		}
		whole, parts := read(1<<20), read(1+step&0xff)
		if strings.Join(whole, "|") != strings.Join(parts, "|") {
			t.Fatalf("in parts %q, whole %q", parts, whole)
		}
	})
}

// slowReader gives at most step bytes per read.
type slowReader struct {
	data []byte
	step int
}

func (s *slowReader) Read(p []byte) (int, error) {
	if len(s.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.data[:min(s.step, len(s.data))])
	s.data = s.data[n:]
	return n, nil
}

func TestEventStreamNoticesLossAndDisorder(t *testing.T) {
	t.Parallel()
	event := func(seq int) string {
		b := appendEvent(nil, seq)
		_, data, _ := bytes.Cut(b, []byte("\r\n"))
		return string(bytes.TrimSuffix(data, []byte("\r\n")))
	}
	f := func(text string, events, disorder int, done bool) {
		t.Helper()
		for _, step := range []int{1, 7, 100, len(text)} {
			s := newEventStream(3)
			for rest := text; rest != ""; {
				n := min(step, len(rest))
				s.feed([]byte(rest[:n]), 0, monotonic())
				rest = rest[n:]
			}
			if s.events != events || s.disorder != disorder || s.done != done || len(s.delays) != events {
				t.Errorf("%d bytes at once: %d events, %d out of order, done %t", step, s.events, s.disorder, s.done)
			}
		}
	}
	f(event(0)+event(1)+event(2)+finalEvent, 3, 0, true)
	f(event(0)+event(2), 2, 1, false)
	f(event(1)+event(0), 2, 2, false)
	f(": comment\n\ndata: {}\n\n", 0, 0, false)
}

func TestParseWrk(t *testing.T) {
	t.Parallel()
	d, err := parseWrk(`  1 threads and 64 connections
  44444 requests in 4.10s, 54.91MB read
  Socket errors: connect 1, read 2, write 3, timeout 4
  Non-2xx or 3xx responses: 5
Requests/sec:  10840.00`)
	if err != nil || d.done != 44444 || d.failed != 15 || d.span != 4100*time.Millisecond {
		t.Fatalf("got %+v, %v", d, err)
	}
	if _, err := parseWrk("unable to connect"); err == nil {
		t.Fatal("no error without a result")
	}
}

func TestChunkedAndSizedBodiesTellCuts(t *testing.T) {
	t.Parallel()
	for text, whole := range map[string]bool{
		"5\r\nhello\r\n0\r\n\r\n": true, "5\r\nhello\r\n0\r\n": false, "5\r\nhel": false,
	} {
		c, s := net.Pipe()
		go func() {
			_, _ = io.WriteString(s, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"+text)
			_ = s.Close()
		}()
		body, err := readHead(newReader(c))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(body)
		if (err == nil) != whole || whole && string(got) != "hello" {
			t.Errorf("%q: %q, %v", text, got, err)
		}
		_ = c.Close()
	}
}

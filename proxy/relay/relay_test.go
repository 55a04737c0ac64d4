package relay

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lengthDecoder is a body of known length.
type lengthDecoder struct{ left int }

func (d *lengthDecoder) Decode(in []byte) (payload, consumed int, err error) {
	n := min(len(in), d.left)
	d.left -= n
	return n, n, nil
}
func (d *lengthDecoder) Done() bool { return d.left == 0 }
func (d *lengthDecoder) End() error {
	if d.left > 0 {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// passObserver counts and lets everything through.
type passObserver struct {
	mu       sync.Mutex
	seen     int
	complete error
	tail     string
	words    string
	boundary bool
	shorten  bool
}

func (o *passObserver) Payload(p []byte, _ time.Time) ([]byte, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen += len(p)
	if o.shorten {
		return bytes.ReplaceAll(p, []byte("x"), nil), true
	}
	return p, true
}
func (o *passObserver) Complete() ([]byte, error) { return []byte(o.tail), o.complete }
func (o *passObserver) Failure(error) []byte      { return []byte(o.words) }
func (o *passObserver) AtBoundary() bool          { return o.boundary }

// pair is a TCP connection seen from both ends.
func pair(t *testing.T) (near, far *net.TCPConn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = c.Close(), s.Close() })
	return c.(*net.TCPConn), s.(*net.TCPConn)
}

// hidden makes a connection unfit for the loop, as TLS is.
type hidden struct{ net.Conn }

type fixture struct {
	stream   *Stream
	observer *passObserver
	engine   *net.TCPConn // the engine's end
	client   *net.TCPConn // the client's end
	result   chan Result
}

// start begins a stream of n payload bytes, on the loop or blocking.
func start(t *testing.T, blocking bool, n int, set func(*Stream, *passObserver)) *fixture {
	t.Helper()
	r, err := New(Config{Loops: 1, Tick: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	up, engine := pair(t)
	down, client := pair(t)
	f := &fixture{engine: engine, client: client, observer: &passObserver{}, result: make(chan Result, 1)}
	f.stream = &Stream{
		Client: down, Upstream: up, Decoder: &lengthDecoder{n}, Observer: f.observer, Chunked: true,
		Head: []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
		Done: func(s *Stream, res Result) { f.result <- res },
	}
	if blocking {
		f.stream.Upstream = hidden{up}
	}
	if set != nil {
		set(f.stream, f.observer)
	}
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	wg.Go(func() {
		if err := r.Start(f.stream); err != nil {
			t.Error(err)
		}
	})
	return f
}

func both(t *testing.T, f func(t *testing.T, blocking bool)) {
	t.Helper()
	for _, blocking := range []bool{false, true} {
		t.Run(fmt.Sprintf("blocking=%v", blocking), func(t *testing.T) {
			t.Parallel()
			f(t, blocking)
		})
	}
}

func readAnswer(t *testing.T, c net.Conn) (string, error) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func TestWholeAnswerArrivesAndBothConnectionsSurvive(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, blocking bool) {
		want := strings.Repeat("data: hello\n\n", 1000)
		f := start(t, blocking, len(want), nil)
		go func() {
			for rest := want; rest != ""; {
				n := min(len(rest), 777)
				_, _ = io.WriteString(f.engine, rest[:n])
				rest = rest[n:]
			}
		}()
		got, err := readAnswer(t, f.client)
		if err != nil || got != want {
			t.Fatalf("got %d bytes, err %v", len(got), err)
		}
		res := <-f.result
		if res.Err != nil || res.Upstream == nil || res.Surplus || res.Bytes != int64(len(want)) {
			t.Fatalf("%+v", res)
		}
		go func() { _, _ = io.WriteString(f.engine, "again") }()
		b := make([]byte, 5)
		if _, err := io.ReadFull(res.Upstream, b); err != nil || string(b) != "again" {
			t.Fatalf("engine connection is not usable: %q %v", b, err)
		}
		_ = res.Upstream.Close()
	})
}

func TestWhatWasHeldBackGoesLast(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, blocking bool) {
		f := start(t, blocking, 4, func(_ *Stream, o *passObserver) { o.tail = "tail" })
		_, _ = io.WriteString(f.engine, "body")
		if got, err := readAnswer(t, f.client); err != nil || got != "bodytail" {
			t.Fatalf("%q %v", got, err)
		}
		closeUpstream(<-f.result)
	})
}

func TestUnreadBytesGoFirst(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, blocking bool) {
		f := start(t, blocking, 10, func(s *Stream, _ *passObserver) { s.Unread = []byte("01234") })
		_, _ = io.WriteString(f.engine, "56789")
		if got, err := readAnswer(t, f.client); err != nil || got != "0123456789" {
			t.Fatalf("%q %v", got, err)
		}
		closeUpstream(<-f.result)
	})
}

func TestAnswerReadBeforeTheHandoverEnds(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, blocking bool) {
		f := start(t, blocking, 0, func(s *Stream, _ *passObserver) { s.Head = append(s.Head, "3\r\nall\r\n"...) })
		if got, err := readAnswer(t, f.client); err != nil || got != "all" {
			t.Fatalf("%q %v", got, err)
		}
		closeUpstream(<-f.result)
	})
}

func closeUpstream(r Result) {
	if r.Upstream != nil {
		_ = r.Upstream.Close()
	}
}

func TestCutAnswerIsToldAndNeverEnds(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, blocking bool) {
		f := start(t, blocking, 100, func(_ *Stream, o *passObserver) { o.words = "data: error\n\n" })
		_, _ = io.WriteString(f.engine, "half")
		_ = f.engine.Close()
		res := <-f.result
		if !errors.Is(res.Err, ErrUpstreamRead) || res.Upstream != nil {
			t.Fatalf("%+v", res)
		}
		_ = f.stream.Client.Close()
		got, err := readAnswer(t, f.client)
		if got != "halfdata: error\n\n" || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("%q %v", got, err)
		}
	})
}

func TestIncompleteContentIsNotEnded(t *testing.T) {
	t.Parallel()
	incomplete := errors.New("no end mark")
	both(t, func(t *testing.T, blocking bool) {
		f := start(t, blocking, 4, func(_ *Stream, o *passObserver) { o.complete = incomplete })
		_, _ = io.WriteString(f.engine, "half")
		if res := <-f.result; !errors.Is(res.Err, incomplete) {
			t.Fatalf("%+v", res)
		}
		_ = f.stream.Client.Close()
		if _, err := readAnswer(t, f.client); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("client took a cut answer for complete: %v", err)
		}
	})
}

func TestSurplusBytesAreReported(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, blocking bool) {
		f := start(t, blocking, 4, nil)
		_, _ = io.WriteString(f.engine, "bodyEXTRA")
		if got, err := readAnswer(t, f.client); err != nil || got != "body" {
			t.Fatalf("%q %v", got, err)
		}
		if res := <-f.result; !res.Surplus || res.Upstream != nil {
			t.Fatalf("%+v", res)
		}
	})
}

func TestClientGoneEndsTheStream(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, blocking bool) {
		f := start(t, blocking, 100, nil)
		_, _ = io.WriteString(f.engine, "x")
		b := make([]byte, 1)
		if _, err := f.client.Read(b); err != nil {
			t.Fatal(err)
		}
		f.stream.ClientGone()
		if res := <-f.result; !errors.Is(res.Err, ErrClientGone) {
			t.Fatalf("%+v", res)
		}
		_ = f.engine.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := f.engine.Read(b); err == nil || isTimeout(err) {
			t.Fatalf("engine still connected: %v", err)
		}
	})
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

func TestClientGoneBeforeStartIsNoticed(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, blocking bool) {
		f := start(t, blocking, 100, func(s *Stream, _ *passObserver) { s.ClientGone() })
		if res := <-f.result; !errors.Is(res.Err, ErrClientGone) {
			t.Fatalf("%+v", res)
		}
	})
}

func TestSilentEngineHitsTheGapLimit(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, blocking bool) {
		f := start(t, blocking, 100, func(s *Stream, o *passObserver) {
			s.Limits.Gap = 20 * time.Millisecond
			o.words = "data: gap\n\n"
		})
		if res := <-f.result; !errors.Is(res.Err, ErrGap) {
			t.Fatalf("%+v", res)
		}
	})
}

func TestDrainedReplicaEndsTheStream(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, blocking bool) {
		drained := make(chan struct{})
		f := start(t, blocking, 100, func(s *Stream, _ *passObserver) { s.Limits.Drained = drained })
		_, _ = io.WriteString(f.engine, "x")
		b := make([]byte, 1)
		if _, err := f.client.Read(b); err != nil {
			t.Fatal(err)
		}
		close(drained)
		if res := <-f.result; !errors.Is(res.Err, ErrDrained) {
			t.Fatalf("%+v", res)
		}
	})
}

func TestClientThatDoesNotReadIsBoundedAndCut(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, blocking bool) {
		const size = 64 << 20
		f := start(t, blocking, size, func(s *Stream, _ *passObserver) {
			s.Limits.Write = 50 * time.Millisecond
			_ = s.Client.(*net.TCPConn).SetWriteBuffer(16 << 10)
		})
		piece := make([]byte, 64<<10)
		sent := 0
		for sent < size {
			n, err := f.engine.Write(piece)
			sent += n
			if err != nil {
				break
			}
		}
		if res := <-f.result; !errors.Is(res.Err, ErrClientSlow) {
			t.Fatalf("%+v", res)
		}
		if sent == size {
			t.Fatal("the engine was not held back")
		}
	})
}

func TestSlowClientGetsEverything(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, blocking bool) {
		want := strings.Repeat("0123456789abcdef", 256<<10) // 4 MiB
		f := start(t, blocking, len(want), func(s *Stream, _ *passObserver) {
			_ = s.Client.(*net.TCPConn).SetWriteBuffer(8 << 10)
		})
		go func() { _, _ = io.WriteString(f.engine, want) }()
		if got, err := readAnswer(t, f.client); err != nil || got != want {
			t.Fatalf("got %d of %d bytes, err %v", len(got), len(want), err)
		}
		closeUpstream(<-f.result)
	})
}

func TestHeartbeatsComeOnlyBetweenEvents(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, blocking bool) {
		f := start(t, blocking, 4, func(s *Stream, o *passObserver) {
			s.Limits.Heartbeat = 10 * time.Millisecond
			o.boundary = true
		})
		r := bufio.NewReader(f.client)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(line, ": keep-alive") {
				break
			}
		}
		_, _ = io.WriteString(f.engine, "done")
		closeUpstream(<-f.result)
	})
}

func TestObserverMayShortenThePayload(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, blocking bool) {
		f := start(t, blocking, 6, func(_ *Stream, o *passObserver) { o.shorten = true })
		_, _ = io.WriteString(f.engine, "axbxcx")
		if got, err := readAnswer(t, f.client); err != nil || got != "abc" {
			t.Fatalf("%q %v", got, err)
		}
		closeUpstream(<-f.result)
	})
}

func TestCloseCutsWhatRuns(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, blocking bool) {
		r, err := New(Config{Loops: 2})
		if err != nil {
			t.Fatal(err)
		}
		up, engine := pair(t)
		down, client := pair(t)
		_ = engine
		done := make(chan Result, 1)
		s := &Stream{
			Client: down, Upstream: up, Decoder: &lengthDecoder{10}, Observer: &passObserver{words: "bye"},
			Head: []byte("x"), Done: func(_ *Stream, res Result) { done <- res },
		}
		if blocking {
			s.Upstream = hidden{up}
		}
		var wg sync.WaitGroup
		wg.Go(func() { _ = r.Start(s) })
		b := make([]byte, 1)
		if _, err := io.ReadFull(client, b); err != nil {
			t.Fatal(err)
		}
		r.Close()
		if res := <-done; res.Err == nil {
			t.Fatalf("%+v", res)
		}
		wg.Wait()
		if err := r.Start(s); !errors.Is(err, ErrClosed) {
			t.Fatal(err)
		}
	})
}

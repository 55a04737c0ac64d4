package listen

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
	"testing"
)

// readRefusal checks that c carries a complete 503 and then ends.
func readRefusal(t *testing.T, c net.Conn, code string) {
	t.Helper()
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatalf("cannot read the refusal: %v", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 503 || !resp.Close || resp.Header.Get("Retry-After") != "1" {
		t.Errorf("got status %d, close %v, Retry-After %q; want 503, true, 1", resp.StatusCode, resp.Close, resp.Header.Get("Retry-After"))
	}
	var body struct {
		Error struct {
			Message, Type, Code string
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		t.Fatalf("cannot decode the refusal: %v", err)
	}
	if body.Error.Code != code || body.Error.Type == "" || body.Error.Message == "" {
		t.Errorf("got %+v, want code %q with a type and a message", body.Error, code)
	}
	if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("after the refusal: %v, want the end", err)
	}
}

// pump accepts into a channel until the listener ends.
func pump(t *testing.T, l net.Listener) <-chan net.Conn {
	t.Helper()
	accepted := make(chan net.Conn, 64)
	go func() {
		defer close(accepted)
		for {
			c, err := l.Accept()
			if err != nil {
				if !errors.Is(err, net.ErrClosed) {
					t.Errorf("Accept returned %v, want net.ErrClosed", err)
				}
				return
			}
			accepted <- c
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		for c := range accepted {
			_ = c.Close()
		}
	})
	return accepted
}

func TestConnectionOverTheLimitIsToldWhy(t *testing.T) {
	t.Parallel()
	f := func(name string, options Options, reason Reason) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := limited(t, bind(t), options)
			accepted := pump(t, l)
			dial(t, l.Addr())
			first := <-accepted
			over := dial(t, l.Addr())
			// A request that is never read must not turn the answer into a reset.
			if _, err := over.Write([]byte("POST /v1/chat/completions HTTP/1.1\r\n\r\n")); err != nil {
				t.Fatal(err)
			}
			readRefusal(t, over, reason.String())
			if s := l.Stats(); s.Open != 1 || s.Accepted != 1 || s.Rejected[reason] != 1 {
				t.Errorf("stats are %+v, want one open, accepted and rejected", s)
			}
			for range 2 { // the second Close must not give the place back again
				_ = first.Close()
			}
			if s := l.Stats(); s.Open != 0 {
				t.Errorf("%d open after Close, want 0", s.Open)
			}
			dial(t, l.Addr())
			_ = (<-accepted).Close()
		})
	}
	f("in all", Options{MaxConns: 1}, ReasonLimit)
	f("per address", Options{MaxConns: 10, MaxConnsPerIP: 1}, ReasonPerIP)
}

func TestFloodOverTheLimitIsAllCounted(t *testing.T) {
	t.Parallel()
	l := limited(t, bind(t), Options{MaxConns: 1})
	accepted := pump(t, l)
	dial(t, l.Addr())
	<-accepted
	const flood = 4 * rejectors
	var wg sync.WaitGroup
	for range flood {
		c := dial(t, l.Addr())
		wg.Go(func() { _, _ = io.Copy(io.Discard, c) }) // ends when we are refused
	}
	wg.Wait()
	if n := l.Stats().Rejected[ReasonLimit]; n != flood {
		t.Errorf("%d rejected, want %d", n, flood)
	}
}

func TestTLSRefusalSaysNothingInPlainText(t *testing.T) {
	t.Parallel()
	l := limited(t, bind(t), Options{MaxConns: 1, TLS: true})
	accepted := pump(t, l)
	dial(t, l.Addr())
	<-accepted
	if text, err := io.ReadAll(dial(t, l.Addr())); len(text) != 0 || err != nil {
		t.Errorf("got %q, %v; want an empty stream", text, err)
	}
}

func TestPeerKey(t *testing.T) {
	t.Parallel()
	table := newTable(Options{MaxConnsPerIP: 1, PerIPExempt: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	f := func(addr, want string) {
		t.Helper()
		var expected netip.Addr
		if want != "" {
			expected = netip.MustParseAddr(want)
		}
		peer := net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(addr), 1))
		if got := table.key(peer); got != expected {
			t.Errorf("%s: got %v, want %v", addr, got, expected)
		}
	}
	f("192.0.2.1", "192.0.2.1")
	f("::ffff:192.0.2.1", "192.0.2.1")
	f("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::")
	f("2001:db8:1:2::9", "2001:db8:1:2::")
	f("fe80::1%eth0", "fe80::")
	f("10.1.2.3", "")
	f("::ffff:10.1.2.3", "")
	if got := table.key(&net.UnixAddr{Name: "x"}); got.IsValid() {
		t.Errorf("a Unix peer has key %v, want none", got)
	}
}

// flaky fails a number of times before it accepts.
type flaky struct {
	net.Listener
	failures chan error
}

func (f *flaky) Accept() (net.Conn, error) {
	select {
	case err := <-f.failures:
		return nil, err
	default:
		return f.Listener.Accept()
	}
}

func TestAcceptSurvivesErrors(t *testing.T) {
	t.Parallel()
	failures := make(chan error, 4)
	for _, err := range []error{syscall.ECONNABORTED, syscall.EMFILE, syscall.ENOBUFS, errors.New("odd")} {
		failures <- &net.OpError{Op: "accept", Err: err}
	}
	l := limited(t, &flaky{Listener: bind(t), failures: failures}, Options{MaxConns: 10})
	dial(t, l.Addr())
	c, err := l.Accept()
	if err != nil {
		t.Fatalf("Accept returned %v", err)
	}
	_ = c.Close()
	if n := l.Stats().AcceptErrors; n != 3 {
		t.Errorf("%d accept errors, want 3: a client that left is none", n)
	}
}

func TestStopEndsAcceptDuringAPause(t *testing.T) {
	t.Parallel()
	failures := make(chan error, 1000)
	for range cap(failures) {
		failures <- syscall.ENOBUFS
	}
	l := limited(t, &flaky{Listener: bind(t), failures: failures}, Options{MaxConns: 10})
	ended := make(chan error, 1)
	go func() { _, err := l.Accept(); ended <- err }()
	l.Stop()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept returned %v, want net.ErrClosed", err)
	}
}

func TestWrapGetsTheTrackedConn(t *testing.T) {
	t.Parallel()
	type wrapped struct{ net.Conn }
	l := limited(t, bind(t), Options{MaxConns: 1, Wrap: func(c net.Conn) net.Conn {
		if _, ok := c.(interface{ NetConn() net.Conn }).NetConn().(*net.TCPConn); !ok {
			t.Errorf("NetConn is not the *net.TCPConn")
		}
		return wrapped{c}
	}})
	dial(t, l.Addr())
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := c.(wrapped); !ok {
		t.Errorf("Accept returned a %T, want what Wrap made", c)
	}
	_ = c.Close()
	if n := l.Stats().Open; n != 0 {
		t.Errorf("%d open after Close, want 0", n)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{MaxConns: -1}, {MaxConnsPerIP: -1}, {RetryAfter: -1}} {
		if _, err := New(bind(t), o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
	o, err := Options{}.withDefaults()
	if err != nil || o.MaxConns < 1 || o.KeepAlive != defaultKeepAlive || o.UserTimeout != defaultUserTimeout {
		t.Errorf("defaults are %+v, %v", o, err)
	}
}

func TestCountingDoesNotAllocate(t *testing.T) {
	table := newTable(Options{MaxConns: 10, MaxConnsPerIP: 10})
	peer := net.TCPAddrFromAddrPort(netip.MustParseAddrPort("[2001:db8::1]:1"))
	if n := testing.AllocsPerRun(100, func() {
		key := table.key(peer)
		if _, ok := table.take(key); ok {
			table.give(key)
		}
	}); n != 0 {
		t.Errorf("counting a connection allocates %v times, want 0", n)
	}
}

package watch

import (
	"context"
	"crypto/tls"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// canceler counts its calls and lets a test wait for the first.
type canceler struct {
	calls atomic.Int64
	first chan struct{}
}

func newCanceler() *canceler { return &canceler{first: make(chan struct{}, 1)} }

func (c *canceler) ClientGone() {
	if c.calls.Add(1) == 1 {
		c.first <- struct{}{}
	}
}

// wait fails the test when nothing comes; the limit only bounds a broken run.
func (c *canceler) wait(t *testing.T) {
	t.Helper()
	select {
	case <-c.first:
	case <-time.After(20 * time.Second):
		t.Fatal("the client left and nobody was told")
	}
}

func (c *canceler) never(t *testing.T) {
	t.Helper()
	if n := c.calls.Load(); n != 0 {
		t.Fatalf("ClientGone was called %d times, want none", n)
	}
}

func startWatcher(t testing.TB, options Options) *Watcher {
	t.Helper()
	w, err := New(options)
	if err != nil {
		t.Fatalf("cannot create a watcher: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v, want nil", err)
		}
	})
	return w
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("cannot listen: %v", err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return ln
}

// connect returns both ends of a new connection.
func connect(t testing.TB, ln net.Listener) (client *net.TCPConn, server net.Conn) {
	t.Helper()
	dialed, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatalf("cannot connect: %v", err)
	}
	server, err = ln.Accept()
	if err != nil {
		t.Fatalf("cannot accept: %v", err)
	}
	return dialed.(*net.TCPConn), server
}

func pair(t testing.TB, w *Watcher) (*net.TCPConn, *Conn) {
	t.Helper()
	client, server := connect(t, listen(t))
	c := w.Wrap(server)
	t.Cleanup(func() { _ = client.Close(); _ = c.Close() })
	return client, c
}

func leaveByFIN(c *net.TCPConn)       { _ = c.Close() }
func leaveByRST(c *net.TCPConn)       { _ = c.SetLinger(0); _ = c.Close() }
func leaveByHalfClose(c *net.TCPConn) { _ = c.CloseWrite() }

func TestArmedRequestHearsOfLostClient(t *testing.T) {
	t.Parallel()
	f := func(name string, options Options, leave func(*net.TCPConn)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startWatcher(t, options)
			client, c := pair(t, w)
			gone := newCanceler()
			c.Arm(gone)
			leave(client)
			gone.wait(t)
			c.Disarm()
			if n := gone.calls.Load(); n != 1 {
				t.Errorf("ClientGone was called %d times, want 1", n)
			}
			if !c.Gone() {
				t.Error("Gone() is false after the client left")
			}
			if s := w.Stats(); s.Gone != 1 || s.Cancelled != 1 || s.Watched != 1 {
				t.Errorf("stats are %+v, want one gone, cancelled and watched", s)
			}
		})
	}
	f("fin", Options{}, leaveByFIN)
	f("reset", Options{}, leaveByRST)
	f("half-close", Options{}, leaveByHalfClose)
	f("reset while half-closes are ignored", Options{IgnoreHalfClose: true}, leaveByRST)
	f("request and half-close at once", Options{}, func(c *net.TCPConn) {
		_, _ = c.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
		_ = c.CloseWrite()
	})
}

func TestIgnoredHalfCloseStillSeesLaterReset(t *testing.T) {
	t.Parallel()
	w := startWatcher(t, Options{IgnoreHalfClose: true})
	client, c := pair(t, w)
	gone := newCanceler()
	c.Arm(gone)
	leaveByHalfClose(client)
	// End of file at this end proves that the FIN has been processed.
	if n, err := c.NetConn().Read(make([]byte, 1)); n != 0 || err == nil {
		t.Fatalf("read %d bytes, error %v; want the end of the stream", n, err)
	}
	gone.never(t)
	leaveByRST(client)
	gone.wait(t)
	c.Disarm()
}

func TestArmAfterClientLeftCancelsAtOnce(t *testing.T) {
	t.Parallel()
	w := startWatcher(t, Options{})
	client, c := pair(t, w)
	first := newCanceler()
	c.Arm(first)
	leaveByFIN(client)
	first.wait(t)
	c.Disarm()
	for range 2 {
		later := newCanceler()
		c.Arm(later)
		if n := later.calls.Load(); n != 1 {
			t.Fatalf("Arm on a lost client made %d calls before it returned, want 1", n)
		}
		c.Disarm()
	}
}

func TestDisarmedRequestHearsNothing(t *testing.T) {
	t.Parallel()
	w := startWatcher(t, Options{})
	client, c := pair(t, w)
	finished := newCanceler()
	c.Arm(finished)
	c.Disarm()
	next := newCanceler()
	c.Arm(next)
	leaveByFIN(client)
	next.wait(t)
	c.Disarm()
	finished.never(t)
}

func TestSecondArmWithoutDisarmPanics(t *testing.T) {
	t.Parallel()
	w := startWatcher(t, Options{})
	_, c := pair(t, w)
	c.Arm(newCanceler())
	defer c.Disarm()
	defer func() {
		if recover() == nil {
			t.Error("the second Arm did not panic")
		}
	}()
	c.Arm(newCanceler())
}

func TestFromConnLooksThroughWrappers(t *testing.T) {
	t.Parallel()
	w := startWatcher(t, Options{})
	_, c := pair(t, w)
	f := func(name string, from net.Conn, want *Conn) {
		t.Helper()
		got, ok := FromConn(from)
		if got != want || ok != (want != nil) {
			t.Errorf("%s: got %p, %v; want %p", name, got, ok, want)
		}
	}
	f("itself", c, c)
	f("under TLS", tls.Server(c, &tls.Config{MinVersion: tls.VersionTLS12}), c)
	f("unwatched", c.NetConn(), nil)
	f("nil", nil, nil)
}

func TestWatcherClosedTwiceLeavesConnsUsable(t *testing.T) {
	t.Parallel()
	w, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	client, c := pair(t, w)
	for range 2 {
		if err := w.Close(); err != nil {
			t.Fatalf("Close returned %v", err)
		}
	}
	if err := w.Run(context.Background()); err != nil {
		t.Fatalf("Run on a closed watcher returned %v, want nil", err)
	}
	late, unwatched := pair(t, w)
	for _, ends := range []struct {
		from net.Conn
		to   *Conn
	}{{client, c}, {late, unwatched}} {
		ends.to.Arm(newCanceler())
		if _, err := ends.from.Write([]byte("x")); err != nil {
			t.Fatalf("cannot write: %v", err)
		}
		ends.to.Disarm()
		if _, err := ends.to.Read(make([]byte, 1)); err != nil {
			t.Fatalf("cannot read: %v", err)
		}
	}
}

func TestArmDisarmDoNotAllocate(t *testing.T) {
	w := startWatcher(t, Options{})
	_, c := pair(t, w)
	gone := newCanceler()
	if n := testing.AllocsPerRun(1000, func() {
		found, _ := FromConn(c)
		found.Arm(gone)
		found.Disarm()
	}); n != 0 {
		t.Errorf("a request allocates %v times, want 0", n)
	}
}

// slowCanceler takes its time, against the rules, so that Disarm meets it.
type slowCanceler struct {
	entered  chan struct{}
	finished atomic.Bool
}

func (c *slowCanceler) ClientGone() {
	close(c.entered)
	for range 1000 {
		runtime.Gosched()
	}
	c.finished.Store(true)
}

func TestDisarmWaitsForTheRunningCall(t *testing.T) {
	t.Parallel()
	c := &Conn{watcher: &Watcher{}}
	for range 20 {
		c.state.Store(idle)
		slow := &slowCanceler{entered: make(chan struct{})}
		c.Arm(slow)
		go c.markGone()
		<-slow.entered
		c.Disarm()
		if !slow.finished.Load() {
			t.Fatal("Disarm returned while ClientGone was running")
		}
	}
}

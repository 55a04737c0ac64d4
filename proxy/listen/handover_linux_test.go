package listen

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// holder is a process's worth of serving, inside the test.
type holder struct {
	set      *Set
	listener net.Listener
	taken    chan struct{}
	failures chan error
}

// hold listens and offers handovers at path until the test ends.
func hold(t *testing.T, path string, options SetOptions) *holder {
	t.Helper()
	h := &holder{taken: make(chan struct{}), failures: make(chan error, 16)}
	options.OnFailure = func(err error) { h.failures <- err }
	h.set = NewSet(options)
	h.listener = mustListen(t, h.set, "data", "127.0.0.1:0")
	serveHandover(t, h.set, path, func() { close(h.taken) })
	t.Cleanup(func() { _ = h.set.Close() })
	return h
}

// serveHandover returns once the socket at path is there.
func serveHandover(t *testing.T, s *Set, path string, onTaken func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.ServeHandover(ctx, path, onTaken) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("ServeHandover returned %v", err)
		}
	})
	for {
		if _, err := os.Lstat(path); err == nil {
			return
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("ServeHandover ended early: %v", err)
		default:
		}
	}
}

func takeOver(t *testing.T, path string) *Handed {
	t.Helper()
	handed, err := Takeover(context.Background(), path)
	if err != nil {
		t.Fatalf("cannot take over: %v", err)
	}
	t.Cleanup(func() { _ = handed.Close(); closeAll(handed.Listeners()) })
	return handed
}

func event[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("no %s", what)
		panic("unreachable")
	}
}

func TestBacklogSurvivesTheHandover(t *testing.T) {
	t.Parallel()
	path := controlPath(t)
	old := hold(t, path, SetOptions{})
	outer := limited(t, old.listener, Options{MaxConns: 100})
	const waiting = 50
	var clients []net.Conn
	for range waiting { // established by the kernel; nobody accepts them yet
		clients = append(clients, dial(t, outer.Addr()))
	}
	handed := takeOver(t, path)
	next := NewSet(SetOptions{})
	next.Adopt(handed.Listeners())
	t.Cleanup(func() { _ = next.Close() })
	inner := mustListen(t, next, "data", old.listener.Addr().String())
	if err := handed.Ready(); err != nil {
		t.Fatalf("Ready returned %v", err)
	}
	event(t, old.taken, "onTaken")
	if !old.set.Handed() {
		t.Error("the old Set does not know that it was taken over")
	}
	if _, err := outer.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Fatalf("the old Accept returned %v, want net.ErrClosed", err)
	}
	outer.Stop()
	if err := outer.Close(); err != nil {
		t.Fatalf("cannot close the old listener: %v", err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { greet(inner, "hello") })
	for i, c := range append(clients, dial(t, inner.Addr())) {
		got := make([]byte, 5)
		if _, err := io.ReadFull(c, got); err != nil || string(got) != "hello" {
			t.Fatalf("client %d got %q, %v", i, got, err)
		}
		_ = c.Close()
	}
	_ = next.Close()
	serving.Wait()
}

func TestFailedSuccessorLeavesTheOldServing(t *testing.T) {
	t.Parallel()
	f := func(name string, options SetOptions, attempt func(t *testing.T, path string)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := controlPath(t)
			old := hold(t, path, options)
			var serving sync.WaitGroup
			serving.Go(func() { greet(old.listener, "old") })
			t.Cleanup(func() { old.set.Stop(); serving.Wait() })
			attempt(t, path)
			if err := event(t, old.failures, "failure"); err == nil {
				t.Error("OnFailure got nil")
			}
			c := dial(t, old.listener.Addr())
			defer c.Close()
			got := make([]byte, 3)
			if _, err := io.ReadFull(c, got); err != nil || string(got) != "old" {
				t.Fatalf("got %q, %v; want the old process to serve", got, err)
			}
			if old.set.Handed() {
				t.Error("the old Set believes it was taken over")
			}
			// The next successor is welcome.
			_ = takeOver(t, path).Close()
			event(t, old.failures, "failure of the second attempt")
		})
	}
	f("crash in another process", SetOptions{}, func(t *testing.T, path string) {
		_, out, wait := startChild(t, partCrash, pathEnv+"="+path)
		said, _ := io.ReadAll(out)
		if err := wait(); err != nil || !strings.HasPrefix(string(said), "holds 127.0.0.1:") {
			t.Fatalf("the child said %q, %v", said, err)
		}
	})
	f("gives up", SetOptions{}, func(t *testing.T, path string) {
		handed := takeOver(t, path)
		closeAll(handed.Listeners())
		_ = handed.Close()
	})
	f("too late", SetOptions{ReadyTimeout: time.Millisecond}, func(t *testing.T, path string) {
		handed := takeOver(t, path)
		// The end of the stream says that the old one has given up waiting.
		if _, err := handed.peer.Read(make([]byte, 1)); err == nil {
			t.Fatal("the old process said something before ready")
		}
		if err := handed.Ready(); err == nil {
			t.Error("Ready succeeded although the old process still serves")
		}
	})
	f("nonsense", SetOptions{}, func(t *testing.T, path string) {
		handed := takeOver(t, path)
		if _, err := handed.peer.Write([]byte("steady")); err != nil {
			t.Fatal(err)
		}
	})
}

func TestReadyWithoutPredecessorIsNoError(t *testing.T) {
	t.Parallel()
	path := controlPath(t)
	ctx, cancel := context.WithCancel(context.Background())
	set := NewSet(SetOptions{})
	mustListen(t, set, "data", "127.0.0.1:0")
	ended := make(chan error, 1)
	go func() { ended <- set.ServeHandover(ctx, path, func() { t.Error("taken") }) }()
	var handed *Handed
	for handed == nil {
		var err error
		if handed, err = Takeover(context.Background(), path); err != nil && !errors.Is(err, ErrNobody) {
			t.Fatal(err)
		}
	}
	defer closeAll(handed.Listeners())
	cancel() // the old process ends during the takeover
	if err := <-ended; err != nil {
		t.Fatalf("ServeHandover returned %v", err)
	}
	_ = set.Close()
	if err := handed.Ready(); err != nil {
		t.Errorf("Ready returned %v, want nil: the sockets are ours", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket file is still there: %v", err)
	}
}

func TestUnixSocketFileFollowsItsOwner(t *testing.T) {
	t.Parallel()
	path := controlPath(t)
	data := path + ".data"
	old := hold(t, path, SetOptions{})
	if _, err := old.set.Listen(t.Context(), "local", "unix", data); err != nil {
		t.Fatal(err)
	}
	handed := takeOver(t, path)
	next := NewSet(SetOptions{})
	next.Adopt(handed.Listeners())
	t.Cleanup(func() { _ = next.Close() })
	if _, err := next.Listen(t.Context(), "local", "unix", data); err != nil {
		t.Fatalf("the handed socket was not used: %v", err)
	}
	if err := handed.Ready(); err != nil {
		t.Fatal(err)
	}
	if err := old.set.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(data); err != nil {
		t.Errorf("the old owner removed the file: %v", err)
	}
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the new owner left the file: %v", err)
	}
}

func TestTakeoverFromNobody(t *testing.T) {
	t.Parallel()
	path := controlPath(t)
	if _, err := Takeover(context.Background(), path); !errors.Is(err, ErrNobody) {
		t.Errorf("no file: got %v, want ErrNobody", err)
	}
	ln, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	ln.SetUnlinkOnClose(false)
	_ = ln.Close()
	if _, err := Takeover(context.Background(), path); !errors.Is(err, ErrNobody) {
		t.Errorf("file of a dead process: got %v, want ErrNobody", err)
	}
}

func TestControlSocketIsPrivate(t *testing.T) {
	t.Parallel()
	path := controlPath(t)
	hold(t, path, SetOptions{})
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("mode is %o, want 600", mode)
	}
	f := func(peer uint32, self int, want bool) {
		t.Helper()
		if got := trusted(peer, self); got != want {
			t.Errorf("peer %d, self %d: got %v, want %v", peer, self, got, want)
		}
	}
	f(1000, 1000, true)
	f(0, 1000, true)
	f(1001, 1000, false)
	f(1000, 0, false)
}

// Clients connect without a break while the sockets move from this process to
// a second and from that to a third. Nobody may be refused or reset.
func TestNobodyIsRefusedDuringRestarts(t *testing.T) {
	t.Parallel()
	path := controlPath(t)
	old := hold(t, path, SetOptions{})
	outer := limited(t, old.listener, Options{MaxConns: 1000})
	var serving sync.WaitGroup
	self := fmt.Sprintf("%8d", os.Getpid())
	serving.Go(func() { greet(outer, self) })

	load := startVisitors(outer.Addr().String())
	load.until(t, self)
	_, secondOut, secondWait := startChild(t, partSucceed, pathEnv+"="+path)
	second := bufio.NewReader(secondOut)
	expectLine(t, second, "ready")
	event(t, old.taken, "onTaken")
	serving.Wait() // the old process stopped accepting and drained
	if err := errors.Join(outer.Close(), old.set.Close()); err != nil {
		t.Fatal(err)
	}
	secondPid := load.untilNot(t, self)

	// The second process serves handovers some time after its ready line.
	for {
		probe, err := Takeover(context.Background(), path)
		if err == nil {
			closeAll(probe.Listeners())
			_ = probe.Close()
			break
		}
		if !errors.Is(err, ErrNobody) {
			t.Fatal(err)
		}
	}
	_, thirdOut, _ := startChild(t, partSucceed, pathEnv+"="+path)
	expectLine(t, bufio.NewReader(thirdOut), "ready")
	expectLine(t, second, "done")
	if err := secondWait(); err != nil {
		t.Fatalf("the second process ended with %v", err)
	}
	load.untilNot(t, self, secondPid)
	served, errs := load.stop()
	for _, err := range errs {
		t.Error(err)
	}
	t.Logf("%d connections served over two restarts", served)
}

func expectLine(t *testing.T, r *bufio.Reader, want string) {
	t.Helper()
	line, err := r.ReadString('\n')
	if err != nil || line != want+"\n" {
		t.Fatalf("the child said %q, %v; want %q", line, err, want)
	}
}

// visitors connect from several goroutines until stopped.
type visitors struct {
	address string
	done    atomic.Bool
	wg      sync.WaitGroup
	served  atomic.Int64
	seen    chan string

	// mu guards errs.
	mu   sync.Mutex
	errs []error
}

func startVisitors(address string) *visitors {
	l := &visitors{address: address, seen: make(chan string)}
	for range 4 {
		l.wg.Go(func() {
			for !l.done.Load() {
				who, err := visit(address)
				if err != nil {
					l.mu.Lock()
					l.errs = append(l.errs, err)
					l.mu.Unlock()
					return
				}
				l.served.Add(1)
				select {
				case l.seen <- who:
				default:
				}
			}
		})
	}
	return l
}

// visit connects, reads the greeting and leaves.
func visit(address string) (string, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(patience))
	got := make([]byte, 8)
	if _, err := io.ReadFull(c, got); err != nil {
		return "", fmt.Errorf("after connecting: %w", err)
	}
	return string(got), nil
}

func (l *visitors) until(t *testing.T, who string) {
	t.Helper()
	for event(t, l.seen, "answer") != who {
	}
}

// untilNot waits for an answer of somebody new.
func (l *visitors) untilNot(t *testing.T, known ...string) string {
	t.Helper()
	for {
		who, old := event(t, l.seen, "answer"), false
		for _, k := range known {
			old = old || k == who
		}
		if !old {
			return who
		}
	}
}

func (l *visitors) stop() (int64, []error) {
	l.done.Store(true)
	l.wg.Wait()
	return l.served.Load(), l.errs
}

func TestInheritedSocketsServe(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+partInherits, "LISTEN_FDS=2", "LISTEN_FDNAMES=data:admin")
	addrs := map[string]net.Addr{}
	for _, name := range []string{"data", "admin"} {
		ln := bind(t)
		addrs[name] = ln.Addr()
		file, err := ln.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, file)
		defer ln.Close()
	}
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	expectLine(t, bufio.NewReader(out), "ready")
	for name, addr := range addrs {
		c := dial(t, addr)
		got := make([]byte, len(name))
		if _, err := io.ReadFull(c, got); err != nil || string(got) != name {
			t.Errorf("%s answered %q, %v", name, got, err)
		}
		_ = c.Close()
	}
	_ = stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the child ended with %v", err)
	}
}

package listen

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience bounds waits in broken runs only; no test passes by waiting.
const patience = 20 * time.Second

// childEnv names the part that a re-executed test binary plays.
const childEnv = "PENSTOCK_LISTEN_TEST_CHILD"

func TestMain(m *testing.M) {
	switch part := os.Getenv(childEnv); part {
	case "":
		goleak.VerifyTestMain(m)
	default:
		os.Exit(playPart(part))
	}
}

// startChild runs this test binary in the given part. It ends when the test
// closes its standard input, at the latest when the test ends.
func startChild(t *testing.T, part string, env ...string) (stdin io.WriteCloser, stdout io.Reader, wait func() error) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), childEnv+"="+part), env...)
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
		t.Fatalf("cannot start child: %v", err)
	}
	waited := false
	wait = func() error { waited = true; _ = stdin.Close(); return cmd.Wait() }
	t.Cleanup(func() {
		if !waited {
			if err := wait(); err != nil {
				t.Errorf("child ended with %v", err)
			}
		}
	})
	return stdin, out, wait
}

func bind(t testing.TB) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("cannot listen: %v", err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return ln
}

func limited(t testing.TB, inner net.Listener, options Options) *Listener {
	t.Helper()
	l, err := New(inner, options)
	if err != nil {
		t.Fatalf("cannot limit: %v", err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func dial(t testing.TB, addr net.Addr) net.Conn {
	t.Helper()
	c, err := net.Dial(addr.Network(), addr.String())
	if err != nil {
		t.Fatalf("cannot dial: %v", err)
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// controlPath returns a path short enough for a Unix socket.
func controlPath(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "listen") //nolint:usetesting // the path of t.TempDir holds the test's name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "control")
}

func mustListen(t testing.TB, s *Set, name, address string) net.Listener {
	t.Helper()
	ln, err := s.Listen(context.Background(), name, "tcp", address)
	if err != nil {
		t.Fatalf("cannot listen: %v", err)
	}
	return ln
}

package listen

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

func TestPlaceMatches(t *testing.T) {
	t.Parallel()
	f := func(network, address, bound string, want bool) {
		t.Helper()
		p, err := resolve(context.Background(), network, address)
		if err != nil {
			t.Fatalf("cannot resolve %q: %v", address, err)
		}
		var addr net.Addr = &net.UnixAddr{Net: "unix", Name: bound}
		if network != "unix" {
			if addr, err = net.ResolveTCPAddr("tcp", bound); err != nil {
				t.Fatal(err)
			}
		}
		if got := p.matches(addr); got != want {
			t.Errorf("%s %s on a socket at %s: got %v, want %v", network, address, bound, got, want)
		}
	}
	f("tcp", ":8080", "[::]:8080", true)
	f("tcp", ":8080", "0.0.0.0:8080", true)
	f("tcp", ":8080", "127.0.0.1:8080", false)
	f("tcp", ":8080", "[::]:8081", false)
	f("tcp4", ":8080", "[::]:8080", false)
	f("tcp6", ":8080", "[::]:8080", true)
	f("tcp", "0.0.0.0:8080", "[::]:8080", true)
	f("tcp", "127.0.0.1:0", "127.0.0.1:4711", true)
	f("tcp", "127.0.0.1:80", "127.0.0.1:4711", false)
	f("tcp", "127.0.0.1:80", "127.0.0.2:80", false)
	f("tcp", "localhost:80", "127.0.0.1:80", true)
	f("tcp", "[::1]:80", "[::1]:80", true)
	f("unix", "/run/penstock.sock", "/run/penstock.sock", true)
	f("unix", "/run/penstock.sock", "/run/other.sock", false)
	f("unix", "/run/penstock.sock", "", false)
}

func TestListenPrefersTheAdoptedSocket(t *testing.T) {
	t.Parallel()
	adopted, stale := bind(t), bind(t)
	address := adopted.Addr().String()
	s := NewSet(SetOptions{})
	t.Cleanup(func() { _ = s.Close() })
	s.Adopt(map[string]net.Listener{"data": adopted, "gone": stale})

	// Only the adopted socket can have this address: a second bind fails.
	ln := mustListen(t, s, "data", address)
	if ln.Addr().String() != address {
		t.Errorf("got %v, want %s", ln.Addr(), address)
	}
	fresh := mustListen(t, s, "admin", "127.0.0.1:0")
	if fresh.Addr().String() == stale.Addr().String() {
		t.Error("a socket of another name was used")
	}
	if _, err := s.Listen(context.Background(), "data", "tcp", "127.0.0.1:0"); err == nil {
		t.Error("a second listener of the same name was given")
	}
	s.CloseUnused()
	if _, err := stale.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the unused socket: %v, want net.ErrClosed", err)
	}
}

func TestListenFindsUnnamedAndDuplicateSocketsByAddress(t *testing.T) {
	t.Parallel()
	one, two, three := bind(t), bind(t), bind(t)
	s := NewSet(SetOptions{})
	t.Cleanup(func() { _ = s.Close() })
	s.Adopt(map[string]net.Listener{"unknown": one, "data": two, "data#2": three})
	if ln := mustListen(t, s, "data", three.Addr().String()); ln.Addr() != three.Addr() {
		t.Errorf("got %v, want %v", ln.Addr(), three.Addr())
	}
	if ln := mustListen(t, s, "admin", one.Addr().String()); ln.Addr() != one.Addr() {
		t.Errorf("got %v, want %v", ln.Addr(), one.Addr())
	}
}

func TestBadListenIsAnError(t *testing.T) {
	t.Parallel()
	s := NewSet(SetOptions{})
	s.Adopt(map[string]net.Listener{"other": bind(t)})
	t.Cleanup(func() { _ = s.Close() })
	f := func(name, network, address string) {
		t.Helper()
		if ln, err := s.Listen(context.Background(), name, network, address); err == nil {
			t.Errorf("%q %s %q gave %v", name, network, address, ln.Addr())
		}
	}
	f("", "tcp", "127.0.0.1:0")
	f("a#2", "tcp", "127.0.0.1:0")
	f("a", "tcp", "127.0.0.1")
	f("a", "tcp", "127.0.0.1:99999")
	f("a", "bogus", "127.0.0.1:1")
}

func TestStopOutlivesDeadlineChanges(t *testing.T) {
	t.Parallel()
	s := NewSet(SetOptions{})
	t.Cleanup(func() { _ = s.Close() })
	ln := mustListen(t, s, "data", "127.0.0.1:0")
	ended := make(chan error, 1)
	go func() { _, err := ln.Accept(); ended <- err }()
	s.Stop()
	if err := ln.(*socket).SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("the waiting Accept returned %v, want net.ErrClosed", err)
	}
	if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the next Accept returned %v, want net.ErrClosed", err)
	}
	// The socket is open: the kernel still takes connections in.
	_ = dial(t, ln.Addr())
}

func TestUnixListenerFileIsRemovedAtClose(t *testing.T) {
	t.Parallel()
	path := controlPath(t)
	s := NewSet(SetOptions{})
	if _, err := s.Listen(context.Background(), "data", "unix", path); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatalf("Close returned %v", err)
		}
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket file is still there: %v", err)
	}
}

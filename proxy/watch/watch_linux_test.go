package watch

import (
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

func TestDataDoesNotWakeTheWatcher(t *testing.T) {
	t.Parallel()
	w := startWatcher(t, Options{})
	client, c := pair(t, w)
	gone := newCanceler()
	c.Arm(gone)
	buf := make([]byte, 512)
	for range 1000 {
		if _, err := client.Write(buf); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, buf); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(buf); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(client, buf); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.Stats().Wakeups; n != 0 {
		t.Errorf("1000 round trips woke the watcher %d times, want 0", n)
	}
	leaveByFIN(client)
	gone.wait(t)
	c.Disarm()
	if n := w.Stats().Wakeups; n != 1 {
		t.Errorf("a FIN woke the watcher %d times in all, want 1", n)
	}
}

// checkedCanceler knows whose client it speaks for, and whether that client was
// ever asked to leave.
type checkedCanceler struct {
	canceler
	leaving atomic.Bool
	t       *testing.T
}

func (c *checkedCanceler) ClientGone() {
	if !c.leaving.Load() {
		c.t.Error("ClientGone for a client that is still there")
	}
	c.canceler.ClientGone()
}

// Every round closes the server's end while the client's departure may still be
// on its way to the watcher, so the next connection gets the same descriptor
// number and the same slot.
func TestReusedDescriptorNeverFiresForTheNextConn(t *testing.T) {
	t.Parallel()
	const workers, rounds = 8, 1250
	w := startWatcher(t, Options{})
	var wg sync.WaitGroup
	for range workers {
		ln := listen(t)
		wg.Go(func() {
			for i := range rounds {
				client, server := connect(t, ln)
				c := w.Wrap(server)
				gone := &checkedCanceler{canceler: *newCanceler(), t: t}
				c.Arm(gone)
				switch i % 4 {
				case 0: // the client leaves and is heard
					gone.leaving.Store(true)
					leaveByRST(client)
					gone.wait(t)
					c.Disarm()
					_ = c.Close()
				case 1: // both leave at once
					c.Disarm()
					leaveByRST(client)
					_ = c.Close()
				case 2: // the server leaves first
					c.Disarm()
					_ = c.Close()
					_ = client.Close()
				default: // the client leaves while the request ends
					gone.leaving.Store(true)
					_ = client.Close()
					c.Disarm()
					_ = c.Close()
				}
			}
		})
	}
	wg.Wait()
	if s := w.Stats(); s.Watched != 0 || s.Unwatched != 0 {
		t.Errorf("after all connections closed: %+v, want none watched or unwatched", s)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.free) != len(w.slots) || len(w.slots) > workers {
		t.Errorf("%d slots, %d free; want at most %d, all free", len(w.slots), len(w.free), workers)
	}
}

// aliveCanceler fails when it is called after its Disarm has returned.
type aliveCanceler struct {
	over    atomic.Bool
	running atomic.Int32
	t       *testing.T
}

func (c *aliveCanceler) ClientGone() {
	c.running.Add(1)
	runtime.Gosched() // widen the window
	if c.over.Load() {
		c.t.Error("ClientGone after Disarm had returned")
	}
	c.running.Add(-1)
}

// armUntilGone runs short requests until the client is seen to leave.
func armUntilGone(t *testing.T, c *Conn) {
	t.Helper()
	for !c.Gone() {
		gone := &aliveCanceler{t: t}
		c.Arm(gone)
		c.Disarm()
		gone.over.Store(true)
		if gone.running.Load() != 0 {
			t.Fatal("ClientGone was running after Disarm had returned")
		}
		runtime.Gosched()
	}
}

func TestNoCallAfterDisarm(t *testing.T) {
	t.Parallel()
	w := startWatcher(t, Options{})
	// Without sockets, for many rounds: what the watcher does with an event.
	for range 20_000 {
		c := &Conn{watcher: w}
		var wg sync.WaitGroup
		wg.Go(c.markGone)
		armUntilGone(t, c)
		wg.Wait()
	}
	// With sockets, for few: a busy loop keeps the runtime from its poller.
	ln := listen(t)
	for range 50 {
		client, server := connect(t, ln)
		c := w.Wrap(server)
		var wg sync.WaitGroup
		wg.Go(func() { leaveByRST(client) })
		armUntilGone(t, c)
		wg.Wait()
		_ = c.Close()
	}
}

func TestNoDescriptorIsLeaked(t *testing.T) {
	before := openDescriptors(t)
	func() {
		w, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = w.Close() }()
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = ln.Close() }()
		for range 200 {
			client, server := connect(t, ln)
			c := w.Wrap(server)
			_ = client.Close()
			_ = c.Close()
		}
	}()
	if after := openDescriptors(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatalf("cannot list descriptors: %v", err)
	}
	return len(entries)
}

package watch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// interest leaves EPOLLIN out: the kernel then filters data arrivals
	// before they reach this epoll at all.
	interest = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR | unix.EPOLLET
	// batch is how many lost clients one wake-up can bring; more take another.
	batch = 128
)

// Watcher watches connections for clients that leave. Use New, run Run in a
// goroutine, and Wrap every accepted connection.
type Watcher struct {
	options Options
	// poll is the epoll descriptor. It is registered with the Go runtime's
	// poller in its turn (an epoll is readable when it has events), so waiting
	// parks a goroutine and holds no thread.
	poll *os.File
	raw  syscall.RawConn

	// mu guards slots and free.
	mu    sync.Mutex
	slots []slot
	free  []int32

	closed atomic.Bool

	watched, gone, cancelled, unwatched, wakeups atomic.Uint64
}

// slot is what an event points at. Its generation rises each time it is
// vacated, so an event of an earlier tenant, even one with the same descriptor
// number, is recognised and dropped.
type slot struct {
	conn       *Conn
	generation uint32
}

// platform is the Linux part of a Conn: where it sits in the table.
type platform struct {
	slot       int32
	generation uint32
}

func (c *Conn) platformArm()    {}
func (c *Conn) platformDisarm() {}

// New returns a Watcher that holds a descriptor until Run ends or Close is
// called.
func New(options Options) (*Watcher, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("cannot create epoll: %w", err)
	}
	// os.NewFile hands only a non-blocking descriptor to the runtime's poller.
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot make epoll non-blocking: %w", err), unix.Close(fd))
	}
	poll := os.NewFile(uintptr(fd), "client watch")
	raw, err := poll.SyscallConn()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot reach epoll: %w", err), poll.Close())
	}
	return &Watcher{options: options, poll: poll, raw: raw}, nil
}

// Run delivers events until ctx ends or Close is called, and closes the
// Watcher. Its error is nil in both cases. Connections stay usable afterwards,
// without a watch.
func (w *Watcher) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = w.Close() })
	defer stop()
	defer func() { _ = w.Close() }()

	events := make([]unix.EpollEvent, batch)
	var (
		count   int
		waitErr error
	)
	ready := func(fd uintptr) bool {
		count, waitErr = epollNow(int(fd), events)
		return count > 0 || waitErr != nil
	}
	for {
		if err := w.raw.Read(ready); err != nil {
			// A raw wait reports a closed file by an error that os does not
			// export, so the flag has to tell.
			if w.closed.Load() {
				return nil
			}
			return fmt.Errorf("cannot wait for epoll: %w", err)
		}
		if waitErr != nil {
			return fmt.Errorf("cannot read epoll: %w", waitErr)
		}
		w.wakeups.Add(1)
		for i := range events[:count] {
			w.deliver(&events[i])
		}
	}
}

// epollNow collects what is ready without waiting.
func epollNow(fd int, events []unix.EpollEvent) (int, error) {
	for {
		count, err := unix.EpollWait(fd, events, 0)
		if !errors.Is(err, unix.EINTR) {
			return count, err
		}
	}
}

func (w *Watcher) deliver(event *unix.EpollEvent) {
	if w.options.IgnoreHalfClose && event.Events&(unix.EPOLLHUP|unix.EPOLLERR) == 0 {
		return
	}
	if c := w.tenant(event.Fd, uint32(event.Pad)); c != nil {
		c.markGone()
	}
}

// tenant returns the connection that an event was registered for, or nil when
// it has been closed since.
func (w *Watcher) tenant(index int32, generation uint32) *Conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := &w.slots[index]; s.generation == generation {
		return s.conn
	}
	return nil
}

// Close releases the epoll descriptor and makes Run return. It may be called
// more than once.
func (w *Watcher) Close() error {
	w.closed.Store(true)
	if err := w.poll.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("cannot close epoll: %w", err)
	}
	return nil
}

// Wrap adds an accepted connection to the watch. It never fails: a connection
// that cannot be watched is counted and works without.
func (w *Watcher) Wrap(c net.Conn) *Conn {
	wrapped := &Conn{Conn: c, watcher: w}
	// The table comes first: the event may fire within the registration.
	w.settle(wrapped)
	if err := w.register(wrapped); err != nil {
		w.unwatched.Add(1)
		w.vacate(wrapped)
		wrapped.slot = -1
		return wrapped
	}
	w.watched.Add(1)
	return wrapped
}

func (w *Watcher) register(c *Conn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	event := unix.EpollEvent{Events: interest, Fd: c.slot, Pad: int32(c.generation)}
	var addErr error
	err = raw.Control(func(fd uintptr) {
		// Going through w.raw keeps the epoll descriptor from being closed,
		// and its number reused, under us.
		err := w.raw.Control(func(poll uintptr) {
			addErr = unix.EpollCtl(int(poll), unix.EPOLL_CTL_ADD, int(fd), &event)
		})
		addErr = errors.Join(addErr, err)
	})
	return errors.Join(err, addErr)
}

func (w *Watcher) settle(c *Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.free); n > 0 {
		c.slot = w.free[n-1]
		w.free = w.free[:n-1]
	} else {
		c.slot = int32(len(w.slots))
		w.slots = append(w.slots, slot{})
	}
	s := &w.slots[c.slot]
	s.conn = c
	c.generation = s.generation
}

func (w *Watcher) vacate(c *Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &w.slots[c.slot]
	s.conn = nil
	s.generation++
	w.free = append(w.free, c.slot)
}

// forget takes a closing connection out. There is no EPOLL_CTL_DEL: the kernel
// drops the registration with the last descriptor of the socket, and until then
// the generation makes its events harmless.
func (w *Watcher) forget(c *Conn) {
	if c.slot < 0 {
		return
	}
	w.vacate(c)
	w.watched.Add(^uint64(0))
}

// Stats reads the counters.
func (w *Watcher) Stats() Stats {
	return Stats{
		Watched:   w.watched.Load(),
		Gone:      w.gone.Load(),
		Cancelled: w.cancelled.Load(),
		Unwatched: w.unwatched.Load(),
		Wakeups:   w.wakeups.Load(),
	}
}

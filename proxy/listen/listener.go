package listen

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	firstPause = 5 * time.Millisecond
	maxPause   = time.Second
	// shedWait is how long to look for a client to turn away.
	shedWait = time.Millisecond
)

// Listener bounds and tunes what an inner listener accepts. All methods may be
// called from any goroutine.
type Listener struct {
	inner   net.Listener
	options Options
	table   table
	refuse  *refuser

	stopped chan struct{}
	stop    sync.Once

	// spareMu guards spare, a descriptor that is given up to accept, and turn
	// away, a client when there is no other.
	spareMu sync.Mutex
	spare   *os.File

	accepted, acceptErrors atomic.Uint64
	rejected               [Reasons]atomic.Uint64
}

var _ net.Listener = (*Listener)(nil)

// New limits inner. The Listener owns inner and closes it in Close.
func New(inner net.Listener, options Options) (*Listener, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	spare, err := os.Open(os.DevNull)
	if err != nil {
		return nil, fmt.Errorf("cannot reserve a descriptor: %w", err)
	}
	return &Listener{
		inner:   inner,
		options: options,
		table:   newTable(options),
		refuse:  newRefuser(options),
		stopped: make(chan struct{}),
		spare:   spare,
	}, nil
}

// Accept returns the next connection inside the limits. It returns
// net.ErrClosed after Stop or Close, or when the inner listener has ended, and
// no other error: after another failure it tries again. Without descriptors it
// turns waiting clients away, one for each failure; when nobody waits, and after
// failures of other kinds, it pauses for 5 ms, doubling to 1 s.
func (l *Listener) Accept() (net.Conn, error) {
	pause := firstPause
	for {
		c, err := l.inner.Accept()
		if err == nil {
			if admitted := l.admit(c); admitted != nil {
				return admitted, nil
			}
			pause = firstPause
			continue
		}
		if l.isStopped() || errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) {
			return nil, net.ErrClosed
		}
		if errors.Is(err, syscall.ECONNABORTED) { // that client left before its turn
			continue
		}
		l.acceptErrors.Add(1)
		if outOfDescriptors(err) && l.shed() {
			continue
		}
		if !l.wait(pause) {
			return nil, net.ErrClosed
		}
		pause = min(2*pause, maxPause)
	}
}

func outOfDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// wait pauses and reports whether to go on.
func (l *Listener) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.stopped:
		return false
	}
}

func (l *Listener) isStopped() bool {
	select {
	case <-l.stopped:
		return true
	default:
		return false
	}
}

// admit returns the connection for the server, or nil when it was refused.
func (l *Listener) admit(c net.Conn) net.Conn {
	peer := l.table.key(c.RemoteAddr())
	if reason, ok := l.table.take(peer); !ok {
		l.rejected[reason].Add(1)
		l.refuse.politely(c, reason)
		return nil
	}
	l.accepted.Add(1)
	tune(c, l.options)
	admitted := net.Conn(&conn{Conn: c, table: &l.table, peer: peer})
	if l.options.Wrap != nil {
		admitted = l.options.Wrap(admitted)
	}
	return admitted
}

// shed turns away one client that waits while no descriptor is free, by giving
// up the spare one, and reports whether there was one. Without this clients
// would hang until some connection ends. It takes one at a time so that the
// next is served if descriptors are free again.
func (l *Listener) shed() bool {
	l.spareMu.Lock()
	defer l.spareMu.Unlock()
	limited, ok := l.inner.(interface{ SetDeadline(time.Time) error })
	if !ok || l.isStopped() {
		return false
	}
	if l.spare != nil {
		_ = l.spare.Close()
	}
	_ = limited.SetDeadline(time.Now().Add(shedWait))
	c, err := l.inner.Accept()
	if err == nil {
		l.rejected[ReasonDescriptors].Add(1)
		l.refuse.briefly(c, ReasonDescriptors)
	}
	_ = limited.SetDeadline(time.Time{})
	// Another goroutine may have taken the number meanwhile. Then the next call
	// has no spare to give up, and tries to open one again.
	l.spare, _ = os.Open(os.DevNull)
	return err == nil
}

// Stop makes Accept return net.ErrClosed and closes no connection. If the inner
// listener comes from a Set its socket stays open, so that clients waiting in
// its backlog are kept for the process that has taken it over; any other inner
// listener is closed.
func (l *Listener) Stop() {
	l.stop.Do(func() { close(l.stopped) })
	if s, ok := l.inner.(interface{ Stop() }); ok {
		s.Stop()
		return
	}
	_ = l.inner.Close()
}

// Close stops accepting, closes the inner listener and waits for refusals under
// way, at most lingerTime. It may be called more than once.
func (l *Listener) Close() error {
	l.stop.Do(func() { close(l.stopped) })
	err := l.inner.Close()
	l.refuse.wait()
	l.spareMu.Lock()
	defer l.spareMu.Unlock()
	if l.spare != nil {
		_ = l.spare.Close()
		l.spare = nil
	}
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("cannot close listener: %w", err)
	}
	return nil
}

// Addr returns the inner listener's address.
func (l *Listener) Addr() net.Addr { return l.inner.Addr() }

// Stats reads the counters.
func (l *Listener) Stats() Stats {
	s := Stats{
		Open:         l.table.size(),
		Accepted:     l.accepted.Load(),
		AcceptErrors: l.acceptErrors.Load(),
	}
	for i := range l.rejected {
		s.Rejected[i] = l.rejected[i].Load()
	}
	return s
}

//go:build !linux

package watch

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Watcher watches connections for clients that leave. This portable form reads
// one byte in the background while a request is armed. Its limits:
//
//   - each Arm starts a goroutine and each Disarm changes the read deadline
//     twice;
//   - once a pipelining client has sent the first byte of its next request,
//     its departure is no longer seen;
//   - an idle client that leaves is seen by the server's own read, not here;
//   - end of file stands for every kind of close, so IgnoreHalfClose leaves
//     resets only.
type Watcher struct {
	options Options
	once    sync.Once
	closed  chan struct{}

	watched, gone, cancelled, unwatched, wakeups atomic.Uint64
}

// platform is the portable part of a Conn.
type platform struct{ reader reader }

// New returns a Watcher. The error is always nil here.
func New(options Options) (*Watcher, error) {
	return &Watcher{options: options, closed: make(chan struct{})}, nil
}

// Run waits until ctx ends or Close is called; the work is done elsewhere.
func (w *Watcher) Run(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-w.closed:
	}
	return nil
}

// Close makes Run return. It may be called more than once.
func (w *Watcher) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}

// Wrap makes an accepted connection watchable.
func (w *Watcher) Wrap(c net.Conn) *Conn {
	wrapped := &Conn{Conn: c, watcher: w}
	wrapped.reader.conn = c
	w.watched.Add(1)
	return wrapped
}

func (w *Watcher) forget(*Conn) { w.watched.Add(^uint64(0)) }

func (c *Conn) platformArm() {
	c.reader.start(func(err error) {
		if errors.Is(err, io.EOF) && c.watcher.options.IgnoreHalfClose {
			return
		}
		c.watcher.wakeups.Add(1)
		c.markGone()
	})
}

func (c *Conn) platformDisarm() { c.reader.stop() }

// Read reads from the connection.
func (c *Conn) Read(p []byte) (int, error) { return c.reader.Read(p) }

// SetReadDeadline sets the read deadline.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.reader.SetReadDeadline(t) }

// SetDeadline sets both deadlines.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.Conn.SetWriteDeadline(t), c.reader.SetReadDeadline(t))
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

package watch

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
)

// errNoDescriptor is what SyscallConn answers for a connection that is not a
// socket.
var errNoDescriptor = errors.New("watch: connection has no descriptor")

// The states of a Conn. A connection goes from idle to armed and back with each
// request, and from either to gone, where it stays.
const (
	idle uint32 = iota
	armed
	gone
)

// Conn is a watched connection. Arm and Disarm belong to the one goroutine that
// serves it; everything else is as safe as the connection that it wraps.
type Conn struct {
	net.Conn
	watcher *Watcher
	state   atomic.Uint32
	closed  atomic.Bool

	// canceler belongs to the serving goroutine, except that the watcher may
	// read it once it has moved the state from armed to gone; Disarm gets it
	// back through mu.
	canceler Canceler

	// mu is held by the watcher from before it takes the state to gone until
	// ClientGone has returned. That is a lock across a callback, on purpose:
	// Disarm, when it finds the state already taken, locks mu to wait the call
	// out, parked and not spinning. A healthy connection never touches it.
	mu sync.Mutex

	platform
}

// Arm starts watching for one request. If the peer has gone already, or goes
// before Disarm, to.ClientGone is called, once. Arm calls it itself in the
// first case. Each Arm needs a Disarm before the next.
func (c *Conn) Arm(to Canceler) {
	if c.state.Load() == gone {
		c.watcher.cancelled.Add(1)
		to.ClientGone()
		return
	}
	c.canceler = to
	if c.state.CompareAndSwap(idle, armed) {
		c.platformArm()
		return
	}
	if c.state.Load() == armed {
		panic("BUG: watch: Arm without Disarm")
	}
	// The watcher took the state between the load and the swap. It saw idle,
	// so it has not called anybody: that is left to us.
	c.canceler = nil
	c.watcher.cancelled.Add(1)
	to.ClientGone()
}

// Disarm ends the watch that Arm began. When it returns, no ClientGone call for
// that Arm is running or will start. Without an Arm it does nothing.
//
// The swap decides who owns the canceler. If it succeeds the watcher can no
// longer find the state armed. If it fails the watcher won, and did so while
// holding mu; getting mu means that the call has returned.
func (c *Conn) Disarm() {
	c.platformDisarm()
	if !c.state.CompareAndSwap(armed, idle) {
		c.mu.Lock()
		c.mu.Unlock() //nolint:gocritic,staticcheck // badLock, SA2001: the empty section is the wait
	}
	c.canceler = nil
}

// Gone reports whether the peer has been seen to leave.
func (c *Conn) Gone() bool { return c.state.Load() == gone }

// markGone records that the peer left and cancels an armed request.
func (c *Conn) markGone() {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.state.Swap(gone)
	if before == gone {
		return
	}
	c.watcher.gone.Add(1)
	if before == armed {
		c.watcher.cancelled.Add(1)
		c.canceler.ClientGone()
	}
}

// Close stops the watch and closes the connection. It does not disarm: an armed
// request may still hear of a client that left before.
func (c *Conn) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.watcher.forget(c)
	}
	return c.Conn.Close()
}

// NetConn returns the connection underneath.
func (c *Conn) NetConn() net.Conn { return c.Conn }

// SyscallConn gives access to the socket underneath.
func (c *Conn) SyscallConn() (syscall.RawConn, error) {
	if inner, ok := c.Conn.(syscall.Conn); ok {
		return inner.SyscallConn()
	}
	return nil, errNoDescriptor
}

// CloseWrite sends FIN and leaves the reading side open, where the connection
// underneath can do that.
func (c *Conn) CloseWrite() error {
	if inner, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return inner.CloseWrite()
	}
	return errors.ErrUnsupported
}

package listen

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// minReserve and maxReserve bound the descriptors kept from clients: logs,
	// the poller, the admin listener, Redis, event streams, refusals.
	minReserve = 64
	maxReserve = 1024
	// mostConns bounds the budget when there is no limit worth the name.
	mostConns = 1 << 20
)

// FDBudget returns how many descriptors may serve traffic: the soft
// RLIMIT_NOFILE less a tenth of it (at least 64, at most 1,024), never under 2.
func FDBudget() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return minReserve
	}
	return budget(limit.Cur)
}

func budget(limit uint64) int {
	n := int(min(limit, mostConns))
	return max(2, n-min(max(n/10, minReserve), maxReserve))
}

// DefaultMaxConns is half of FDBudget, since a client whose request is in
// flight holds a second descriptor: the connection to its replica.
func DefaultMaxConns() int { return FDBudget() / 2 }

// tune sets the socket options. It does so per connection and not once on the
// listener because the net package sets its own keep-alive times on each
// connection it accepts, and a socket that was handed over may have been bound
// with others. A failure means that the peer has gone, which the first read
// will tell.
func tune(c net.Conn, o Options) {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	// TCP_NODELAY is already set: the net package does that.
	_ = tcp.SetKeepAliveConfig(keepAlive(o.KeepAlive))
	if o.UserTimeout < 0 {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(o.UserTimeout/time.Millisecond))
	})
}

func keepAlive(idle time.Duration) net.KeepAliveConfig {
	if idle < 0 {
		return net.KeepAliveConfig{Enable: false}
	}
	return net.KeepAliveConfig{Enable: true, Idle: idle, Interval: max(time.Second, idle/3), Count: 3}
}

// privately makes the file of a Unix socket accessible to its owner only.
// Changing the mode of the socket before bind carries over to the file, so
// there is no moment at which it is open to others.
func privately(_, _ string, raw syscall.RawConn) error {
	var modeErr error
	if err := raw.Control(func(fd uintptr) { modeErr = unix.Fchmod(int(fd), 0o600) }); err != nil {
		return err
	}
	return modeErr
}

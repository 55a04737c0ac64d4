//go:build !linux

package listen

import (
	"net"
	"time"
)

// FDBudget returns how many descriptors may serve traffic. Without a portable
// way to read the limit it assumes a modest one.
func FDBudget() int { return 2048 }

// DefaultMaxConns is half of FDBudget, since a client whose request is in
// flight holds a second descriptor: the connection to its replica.
func DefaultMaxConns() int { return FDBudget() / 2 }

// tune sets keep-alive probes; there is no user timeout here.
func tune(c net.Conn, o Options) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetKeepAliveConfig(keepAlive(o.KeepAlive))
	}
}

func keepAlive(idle time.Duration) net.KeepAliveConfig {
	if idle < 0 {
		return net.KeepAliveConfig{Enable: false}
	}
	return net.KeepAliveConfig{Enable: true, Idle: idle, Interval: max(time.Second, idle/3), Count: 3}
}

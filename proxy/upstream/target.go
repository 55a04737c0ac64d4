package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// TargetConfig says how to reach one replica.
type TargetConfig struct {
	URL         string        // http or https, authority and base path
	TLS         *tls.Config   // for https; nil: the system's roots
	MaxIdle     int           // kept-alive connections; 0: none are kept
	IdleTimeout time.Duration // an older connection is not reused; below the engine's 5 s
	DialTimeout time.Duration // 0: no limit
	KeepAlive   time.Duration // TCP keep-alive period; 0: the system's
	UserTimeout time.Duration // TCP_USER_TIMEOUT; 0: the system's

	// AllowAddr is asked about each resolved address right before connecting,
	// so that a name cannot change its mind after registration. nil: all.
	AllowAddr func(netip.Addr) error
	// Now is the monotonic clock. nil: time.Now.
	Now func() time.Time
}

// Stats counts what happened on a target's connections.
type Stats struct {
	Dials, DialErrors, Reuses uint64
	StaleReplays              uint64 // request repeated because a reused connection was dead
	ClosedIdle, Poisoned      uint64 // idle connections found closed, or holding stray bytes
	Surplus                   uint64 // answers followed by bytes that belong to no request
	Idle                      int
}

// Target is one replica with its idle connections. It is safe for concurrent
// use; Close makes later calls fail.
type Target struct {
	cfg      TargetConfig
	address  string // host:port to dial
	host     string // Host header
	basePath string
	secure   *tls.Config
	dialer   net.Dialer

	mu         sync.Mutex // guards what follows
	idle       []*conn    // newest last
	closed     bool
	distrusted time.Time // until then no connection is kept

	dials, dialErrors, reuses     atomic.Uint64
	replays, closedIdle, poisoned atomic.Uint64
	surplus                       atomic.Uint64
}

// ErrTargetClosed is returned for calls on a replica that was removed.
var ErrTargetClosed = errors.New("upstream: target is closed")

// NewTarget prepares a replica; it does not connect.
func NewTarget(cfg TargetConfig) (*Target, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("cannot parse replica url %q: %w", cfg.URL, err)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	t := &Target{cfg: cfg, host: u.Host, basePath: strings.TrimSuffix(u.EscapedPath(), "/")}
	port := u.Port()
	switch u.Scheme {
	case "http":
		if port == "" {
			port = "80"
		}
	case "https":
		if port == "" {
			port = "443"
		}
		t.secure = clientTLS(cfg.TLS, u.Hostname())
	default:
		return nil, fmt.Errorf("cannot use replica url %q: scheme is not http or https", cfg.URL)
	}
	if u.Hostname() == "" {
		return nil, fmt.Errorf("cannot use replica url %q: no host", cfg.URL)
	}
	t.address = net.JoinHostPort(u.Hostname(), port)
	// Dialer.KeepAlive alone would leave the interval at 15 s, and a dead peer
	// is noticed at the second probe.
	keepAlive := net.KeepAliveConfig{Enable: cfg.KeepAlive > 0, Idle: cfg.KeepAlive, Interval: cfg.KeepAlive}
	t.dialer = net.Dialer{Timeout: cfg.DialTimeout, KeepAliveConfig: keepAlive, Control: t.control}
	return t, nil
}

func clientTLS(base *tls.Config, host string) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if base != nil {
		c = base.Clone()
	}
	if c.ServerName == "" {
		c.ServerName = host
	}
	c.NextProtos = []string{"http/1.1"}
	return c
}

// Host is the value of the Host header this replica expects.
func (t *Target) Host() string { return t.host }

// BasePath is put before every request path; it has no trailing slash.
func (t *Target) BasePath() string { return t.basePath }

// Stats returns the counters.
func (t *Target) Stats() Stats {
	t.mu.Lock()
	idle := len(t.idle)
	t.mu.Unlock()
	return Stats{
		Dials: t.dials.Load(), DialErrors: t.dialErrors.Load(), Reuses: t.reuses.Load(),
		StaleReplays: t.replays.Load(), ClosedIdle: t.closedIdle.Load(), Poisoned: t.poisoned.Load(),
		Surplus: t.surplus.Load(), Idle: idle,
	}
}

// Close drops the idle connections. Calls under way keep theirs.
func (t *Target) Close() {
	t.mu.Lock()
	idle := t.idle
	t.idle, t.closed = nil, true
	t.mu.Unlock()
	for _, c := range idle {
		c.close()
	}
}

// Sweep closes connections that have been idle too long. Someone must call it
// about once a second, or sockets that the engine closed stay open here.
func (t *Target) Sweep() {
	oldest := t.cfg.Now().Add(-t.cfg.IdleTimeout)
	t.mu.Lock()
	n := 0
	for n < len(t.idle) && t.idle[n].since.Before(oldest) {
		n++
	}
	old := append([]*conn(nil), t.idle[:n]...)
	t.idle = append(t.idle[:0], t.idle[n:]...)
	t.mu.Unlock()
	for _, c := range old {
		c.close()
	}
}

// takeIdle returns the connection that was used last and still looks clean.
func (t *Target) takeIdle(now time.Time) *conn {
	for {
		t.mu.Lock()
		n := len(t.idle)
		if n == 0 {
			t.mu.Unlock()
			return nil
		}
		c := t.idle[n-1]
		t.idle[n-1] = nil
		t.idle = t.idle[:n-1]
		t.mu.Unlock()
		if now.Sub(c.since) >= t.cfg.IdleTimeout {
			c.close()
			continue
		}
		switch c.check() {
		case socketClean:
			c.reused = true
			t.reuses.Add(1)
			return c
		case socketDirty:
			// Whatever this is, the replica answers out of turn: none of its
			// idle connections can be trusted.
			t.poisoned.Add(1)
			c.close()
			t.distrust()
		case socketClosed:
			t.closedIdle.Add(1)
			c.close()
		}
	}
}

// distrustTime is how long no connection of a replica is used twice after it
// answered out of turn.
const distrustTime = 5 * time.Minute

// distrust drops the idle connections and keeps no new ones for a while. The
// look at an idle socket cannot see what arrives right after it, so a replica
// that has sent bytes nobody asked for gets each request on a fresh connection.
func (t *Target) distrust() {
	t.mu.Lock()
	t.distrusted = t.cfg.Now().Add(distrustTime)
	idle := t.idle
	t.idle = nil
	t.mu.Unlock()
	for _, c := range idle {
		c.close()
	}
}

func (t *Target) putIdle(c *conn, now time.Time) {
	c.dropBuffer()
	c.since = now
	t.mu.Lock()
	keep := !t.closed && len(t.idle) < t.cfg.MaxIdle && !now.Before(t.distrusted)
	if keep {
		t.idle = append(t.idle, c)
	}
	t.mu.Unlock()
	if !keep {
		c.close()
	}
}

func (t *Target) dial(ctx context.Context) (*conn, error) {
	t.mu.Lock()
	closed := t.closed
	t.mu.Unlock()
	if closed {
		return nil, ErrTargetClosed
	}
	t.dials.Add(1)
	nc, err := t.dialer.DialContext(ctx, "tcp", t.address)
	if err != nil {
		t.dialErrors.Add(1)
		return nil, err
	}
	if t.secure == nil {
		return newConn(nc), nil
	}
	if t.cfg.DialTimeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, t.cfg.DialTimeout)
		defer stop()
	}
	sc := tls.Client(nc, t.secure)
	if err := sc.HandshakeContext(ctx); err != nil {
		t.dialErrors.Add(1)
		_ = nc.Close()
		return nil, fmt.Errorf("cannot complete tls handshake: %w", err)
	}
	return newConn(sc), nil
}

// control runs on the new socket before it connects.
func (t *Target) control(_, address string, raw syscall.RawConn) error {
	if t.cfg.AllowAddr != nil {
		ap, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("cannot check address %q: %w", address, err)
		}
		if err := t.cfg.AllowAddr(ap.Addr()); err != nil {
			return err
		}
	}
	if t.cfg.UserTimeout <= 0 {
		return nil
	}
	var serr error
	err := raw.Control(func(fd uintptr) { serr = setUserTimeout(int(fd), t.cfg.UserTimeout) })
	return errors.Join(err, serr)
}

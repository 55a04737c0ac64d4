package listen

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// Options configures a Listener. The zero value is usable.
type Options struct {
	// MaxConns is the number of connections open at once. Zero takes
	// DefaultMaxConns; there is no way to have no limit.
	MaxConns int
	// MaxConnsPerIP is the number of connections open at once from one IPv4
	// address or one IPv6 /64. Zero: no such limit.
	MaxConnsPerIP int
	// PerIPExempt lists peers that MaxConnsPerIP does not concern, such as the
	// load balancers in front.
	PerIPExempt []netip.Prefix
	// KeepAlive is the idle time before the first keep-alive probe. Zero takes
	// 15s, a negative value turns probes off. Later probes follow every third
	// of it.
	KeepAlive time.Duration
	// UserTimeout closes a connection whose sent data stays unacknowledged, or
	// whose receive window stays shut, for this long. Zero takes 20s, a
	// negative value leaves it to the kernel (about 15 minutes). Linux only.
	UserTimeout time.Duration
	// RetryAfter is what refused clients are told. Zero takes 1s.
	RetryAfter time.Duration
	// TLS says that the bytes are TLS, so a refused client is closed and not
	// answered in plain text.
	TLS bool
	// Wrap, when set, wraps each connection handed to the server. It gets a
	// connection whose NetConn is the *net.TCPConn, and its Close must call
	// the Close of what it got.
	Wrap func(net.Conn) net.Conn
}

const (
	defaultKeepAlive   = 15 * time.Second
	defaultUserTimeout = 20 * time.Second
	defaultRetryAfter  = time.Second
)

// withDefaults checks o and fills in what is zero.
func (o Options) withDefaults() (Options, error) {
	var errs []error
	if o.MaxConns < 0 {
		errs = append(errs, fmt.Errorf("cannot use a connection limit of %d", o.MaxConns))
	}
	if o.MaxConnsPerIP < 0 {
		errs = append(errs, fmt.Errorf("cannot use a per-address connection limit of %d", o.MaxConnsPerIP))
	}
	if o.RetryAfter < 0 {
		errs = append(errs, fmt.Errorf("cannot use a retry delay of %v", o.RetryAfter))
	}
	if o.MaxConns == 0 {
		o.MaxConns = DefaultMaxConns()
	}
	if o.KeepAlive == 0 {
		o.KeepAlive = defaultKeepAlive
	}
	if o.UserTimeout == 0 {
		o.UserTimeout = defaultUserTimeout
	}
	if o.RetryAfter == 0 {
		o.RetryAfter = defaultRetryAfter
	}
	return o, errors.Join(errs...)
}

// Reason says why a connection was refused.
type Reason uint8

// The reasons, which index Stats.Rejected.
const (
	// ReasonLimit: MaxConns connections are open.
	ReasonLimit Reason = iota
	// ReasonPerIP: the peer has MaxConnsPerIP connections open.
	ReasonPerIP
	// ReasonDescriptors: the process or the machine has no free descriptor.
	ReasonDescriptors
	// Reasons is the number of reasons.
	Reasons
)

// String returns the label value for metrics.
func (r Reason) String() string {
	switch r {
	case ReasonLimit:
		return "connection_limit"
	case ReasonPerIP:
		return "connection_limit_per_ip"
	case ReasonDescriptors:
		return "no_descriptors"
	default:
		return "unknown"
	}
}

// Stats is a reading of a Listener's counters.
type Stats struct {
	// Open is the number of accepted connections not closed yet.
	Open int
	// Accepted counts connections handed to the server.
	Accepted uint64
	// Rejected counts refused connections by Reason.
	Rejected [Reasons]uint64
	// AcceptErrors counts failed accepts, those for want of a descriptor
	// included.
	AcceptErrors uint64
}

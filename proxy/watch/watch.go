package watch

import "net"

// Options configures a Watcher. The zero value is the recommended setting.
type Options struct {
	// IgnoreHalfClose keeps a request alive when its client has sent FIN but
	// neither reset nor error. Default false: a half-close means gone, as
	// HAProxy's abortonclose takes it, because a FIN from close and a FIN from
	// shutdown(SHUT_WR) look the same from here. A client that sends its
	// request and at once half-closes is therefore cut off unless this is set.
	// When set, a client that closes in the ordinary way is noticed only after
	// the next write has drawn its reset.
	IgnoreHalfClose bool
}

// Canceler is told that the client of an armed request has gone.
type Canceler interface {
	// ClientGone is called at most once for each Arm, from the watcher's
	// goroutine or from within Arm itself. It must not block, because all
	// connections share that goroutine, and must not call Disarm, which waits
	// for it to return.
	ClientGone()
}

// Stats is a reading of a Watcher's counters.
type Stats struct {
	// Watched is how many open connections are being watched.
	Watched uint64
	// Gone counts peers seen to leave, busy or idle.
	Gone uint64
	// Cancelled counts ClientGone calls: clients that left during a request.
	Cancelled uint64
	// Unwatched counts connections that could not be watched, for which a lost
	// client shows only at the next write.
	Unwatched uint64
	// Wakeups counts the times that the watcher's goroutine woke with events.
	// It grows with lost clients, not with traffic.
	Wakeups uint64
}

// netConner is implemented by *tls.Conn and by this repository's wrappers.
type netConner interface{ NetConn() net.Conn }

// FromConn finds the watched connection inside c by following NetConn, so it
// accepts what RequestCtx.Conn returns, with or without TLS. It does not
// allocate.
func FromConn(c net.Conn) (*Conn, bool) {
	for {
		switch inner := c.(type) {
		case *Conn:
			return inner, true
		case netConner:
			c = inner.NetConn()
		default:
			return nil, false
		}
	}
}

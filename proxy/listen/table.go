package listen

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
)

// sitePrefix is how much of an IPv6 address names one customer; the rest is
// theirs to vary at will.
const sitePrefix = 64

// table counts open connections, in all and by peer.
type table struct {
	limit, perPeer int
	exempt         []netip.Prefix

	// mu guards open and peers. peers holds no zero counts, so it is no larger
	// than the number of open connections.
	mu    sync.Mutex
	open  int
	peers map[netip.Addr]int
}

func newTable(o Options) table {
	return table{
		limit:   o.MaxConns,
		perPeer: o.MaxConnsPerIP,
		exempt:  o.PerIPExempt,
		peers:   make(map[netip.Addr]int),
	}
}

// key returns what identifies the peer for the per-address limit. The zero Addr
// stands for peers that are not limited.
func (t *table) key(addr net.Addr) netip.Addr {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || t.perPeer == 0 {
		return netip.Addr{}
	}
	ip := tcp.AddrPort().Addr().Unmap().WithZone("")
	for _, p := range t.exempt {
		if p.Contains(ip) {
			return netip.Addr{}
		}
	}
	if ip.Is6() {
		// Prefix fails only for lengths that do not fit the family.
		site, _ := ip.Prefix(sitePrefix)
		return site.Addr()
	}
	return ip
}

// take counts one more connection, or says what forbids it.
func (t *table) take(peer netip.Addr) (Reason, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open >= t.limit {
		return ReasonLimit, false
	}
	if peer.IsValid() {
		if t.peers[peer] >= t.perPeer {
			return ReasonPerIP, false
		}
		t.peers[peer]++
	}
	t.open++
	return 0, true
}

func (t *table) give(peer netip.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open--
	if !peer.IsValid() {
		return
	}
	if t.peers[peer]--; t.peers[peer] == 0 {
		delete(t.peers, peer)
	}
}

func (t *table) size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open
}

// conn gives its place back when it is closed.
type conn struct {
	net.Conn
	table  *table
	peer   netip.Addr
	closed atomic.Bool
}

// Close closes the connection. The place is free only once the descriptor is.
func (c *conn) Close() error {
	err := c.Conn.Close()
	if c.closed.CompareAndSwap(false, true) {
		c.table.give(c.peer)
	}
	return err
}

// NetConn returns the accepted connection itself.
func (c *conn) NetConn() net.Conn { return c.Conn }

// SyscallConn gives access to the socket.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	if inner, ok := c.Conn.(syscall.Conn); ok {
		return inner.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// CloseWrite sends FIN and leaves the reading side open.
func (c *conn) CloseWrite() error {
	if inner, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return inner.CloseWrite()
	}
	return errors.ErrUnsupported
}

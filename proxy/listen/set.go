package listen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// SetOptions configures a Set. The zero value is usable.
type SetOptions struct {
	// StepTimeout bounds each message of a handover. Zero takes 5s.
	StepTimeout time.Duration
	// ReadyTimeout bounds the time that a new process may take from getting
	// the sockets to being ready. Zero takes 2m.
	ReadyTimeout time.Duration
	// OnFailure, when set, hears of each handover that came to nothing. It is
	// called from ServeHandover's goroutine.
	OnFailure func(error)
}

const (
	defaultStepTimeout  = 5 * time.Second
	defaultReadyTimeout = 2 * time.Minute
)

// Set is a process's listening sockets by name. It prefers sockets that the
// process was given to sockets of its own, so that a restart goes unnoticed.
type Set struct {
	options SetOptions

	// mu guards the fields below.
	mu      sync.Mutex
	sockets []*socket
	given   map[string]net.Listener // adopted and not used yet
	handed  bool
}

// NewSet returns an empty Set.
func NewSet(options SetOptions) *Set {
	if options.StepTimeout == 0 {
		options.StepTimeout = defaultStepTimeout
	}
	if options.ReadyTimeout == 0 {
		options.ReadyTimeout = defaultReadyTimeout
	}
	return &Set{options: options, given: make(map[string]net.Listener)}
}

// Adopt offers listeners from Inherited or Handed.Listeners to Listen. The Set
// owns them from here on. A later one replaces an earlier one of its name.
func (s *Set) Adopt(listeners map[string]net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, ln := range listeners {
		if old := s.given[name]; old != nil {
			_ = old.Close()
		}
		s.given[name] = ln
	}
}

// Listen returns the adopted listener of that name if it listens on address,
// and binds a new one otherwise. Port 0 matches any port. The result belongs to
// the Set, supports Stop, and may be closed early.
func (s *Set) Listen(ctx context.Context, name, network, address string) (net.Listener, error) {
	if name == "" || strings.Contains(name, duplicateMark) {
		return nil, fmt.Errorf("cannot name a listener %q", name)
	}
	ln, err := s.take(ctx, name, network, address)
	if err != nil {
		return nil, err
	}
	if ln == nil {
		// SO_REUSEADDR is on by default.
		var config net.ListenConfig
		if ln, err = config.Listen(ctx, network, address); err != nil {
			return nil, fmt.Errorf("cannot listen for %s: %w", name, err)
		}
	}
	sock := &socket{Listener: ln, name: name}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sockets = append(s.sockets, sock)
	return sock, nil
}

// take removes and returns the adopted listener that fits, or nil.
func (s *Set) take(ctx context.Context, name, network, address string) (net.Listener, error) {
	s.mu.Lock()
	empty := len(s.given) == 0
	taken := false
	for _, sock := range s.sockets {
		taken = taken || sock.name == name
	}
	s.mu.Unlock()
	if taken {
		return nil, fmt.Errorf("cannot have two listeners named %q", name)
	}
	if empty {
		return nil, nil //nolint:nilnil // nil means bind.
	}
	want, err := resolve(ctx, network, address)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, ln := range s.given {
		base, _, _ := strings.Cut(key, duplicateMark)
		if (base == name || base == unnamed) && want.matches(ln.Addr()) {
			delete(s.given, key)
			return ln, nil
		}
	}
	return nil, nil //nolint:nilnil // nil means bind.
}

// CloseUnused closes adopted listeners that no Listen call has taken: those of
// an address that the configuration no longer names. Clients in their backlog
// are reset.
func (s *Set) CloseUnused() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ln := range s.given {
		_ = ln.Close()
	}
	clear(s.given)
}

// Stop makes Accept of every listener return net.ErrClosed and leaves the
// sockets open.
func (s *Set) Stop() {
	for _, sock := range s.list() {
		sock.Stop()
	}
}

func (s *Set) list() []*socket {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*socket(nil), s.sockets...)
}

// Close closes every listener. Where another process holds the same socket,
// that process goes on accepting from it and nobody is reset.
func (s *Set) Close() error {
	s.CloseUnused()
	var errs []error
	for _, sock := range s.list() {
		if err := sock.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, fmt.Errorf("cannot close listener %s: %w", sock.name, err))
		}
	}
	return errors.Join(errs...)
}

// socket is a listener that can stop without closing.
type socket struct {
	net.Listener
	name string

	// mu guards stopped, so that clearing a deadline cannot undo Stop.
	mu      sync.Mutex
	stopped bool
}

type deadliner interface{ SetDeadline(time.Time) error }

// Accept waits for the next connection. A connection that the kernel has given
// to this process by the time of Stop is still returned.
func (s *socket) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err == nil {
		return c, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil, net.ErrClosed
	}
	return nil, err
}

// Stop makes Accept return net.ErrClosed.
func (s *socket) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	if d, ok := s.Listener.(deadliner); ok {
		// A deadline in the past wakes Accept and keeps it from taking
		// anything more out of the backlog.
		_ = d.SetDeadline(time.Unix(1, 0))
		return
	}
	_ = s.Listener.Close()
}

// SetDeadline bounds Accept, except after Stop.
func (s *socket) SetDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil
	}
	if d, ok := s.Listener.(deadliner); ok {
		return d.SetDeadline(t)
	}
	return errors.ErrUnsupported
}

// place is where a listener is asked to be.
type place struct {
	network string
	path    string // Unix sockets
	ip      netip.Addr
	port    uint16
}

func resolve(ctx context.Context, network, address string) (place, error) {
	if network == "unix" || network == "unixpacket" {
		return place{network: network, path: address}, nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return place{}, fmt.Errorf("cannot read listen address: %w", err)
	}
	number, err := net.DefaultResolver.LookupPort(ctx, network, port)
	if err != nil {
		return place{}, fmt.Errorf("cannot read listen port: %w", err)
	}
	want := place{network: network, port: uint16(number)}
	if host == "" {
		return want, nil
	}
	family := map[string]string{"tcp4": "ip4", "tcp6": "ip6"}[network]
	if family == "" {
		family = "ip"
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, family, host)
	if err != nil {
		return place{}, fmt.Errorf("cannot resolve listen address: %w", err)
	}
	want.ip = ips[0].Unmap()
	for _, ip := range ips { // like net.Listen, IPv4 first
		if ip.Unmap().Is4() {
			want.ip = ip.Unmap()
			break
		}
	}
	return want, nil
}

// matches reports whether a socket bound to addr serves the place. It prefers
// a fresh socket to a wrong one: what is not clearly the same is different.
func (p place) matches(addr net.Addr) bool {
	switch a := addr.(type) {
	case *net.UnixAddr:
		return p.network == a.Net && p.path == a.Name
	case *net.TCPAddr:
		have := a.AddrPort().Addr().Unmap()
		switch {
		case p.path != "" || p.port != 0 && p.port != a.AddrPort().Port():
			return false
		case p.network == "tcp4" && !have.Is4(), p.network == "tcp6" && !have.Is6():
			return false
		case !p.ip.IsValid():
			return have.IsUnspecified()
		default:
			return p.ip == have || p.ip.IsUnspecified() && have.IsUnspecified() && p.network == "tcp"
		}
	default:
		return false
	}
}

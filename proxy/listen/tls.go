package listen

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// TLSOptions configures a TLSListener.
type TLSOptions struct {
	// CertFile and KeyFile are PEM files: the certificate with its chain, and
	// its key. Required.
	CertFile, KeyFile string
	// ClientCAFile, when set, is a PEM file of the authorities that must have
	// signed a client's certificate; clients without one are refused.
	ClientCAFile string
	// MinVersion is tls.VersionTLS12 (also when zero) or tls.VersionTLS13.
	MinVersion uint16
	// HandshakeTimeout bounds a handshake from its first step to its last.
	// Zero takes 10s. The connection sets it as a deadline when the handshake
	// begins and clears all deadlines when it is done, so the server must set
	// its own after that, as fasthttp and net/http do for each request.
	HandshakeTimeout time.Duration
	// PollInterval is how often Run looks at the files. Zero takes 30s.
	PollInterval time.Duration
	// OnReload, when set, hears the outcome of each reload that Run starts.
	OnReload func(error)
}

const (
	defaultHandshakeTimeout = 10 * time.Second
	defaultPollInterval     = 30 * time.Second
)

// TLSStats is a reading of a TLSListener's counters.
type TLSStats struct {
	// Reloads and ReloadFailures count reloads after the first load.
	Reloads, ReloadFailures uint64
	// HandshakeFailures counts connections that never got past the handshake.
	HandshakeFailures uint64
	// NotAfter is when the certificate in use expires.
	NotAfter time.Time
	// LastError is why the last reload failed, nil after one that did not.
	LastError error
}

// TLSListener encrypts what an inner listener accepts, with a certificate and
// client authorities that can be replaced while it runs.
type TLSListener struct {
	net.Listener
	options TLSOptions
	base    *tls.Config
	current atomic.Pointer[material]

	// mu serialises reloads and guards lastErr.
	mu      sync.Mutex
	lastErr error

	reloads, reloadFailures, handshakeFailures atomic.Uint64
}

// material is what the files said at one time. It does not change.
type material struct {
	config   *tls.Config
	notAfter time.Time
	files    signature
}

// NewTLS loads the files and returns a listener on top of inner, which it
// closes in Close. Handshakes happen in the goroutine that first uses a
// connection, never in Accept.
func NewTLS(inner net.Listener, options TLSOptions) (*TLSListener, error) {
	switch options.MinVersion {
	case 0:
		options.MinVersion = tls.VersionTLS12
	case tls.VersionTLS12, tls.VersionTLS13:
	default:
		return nil, fmt.Errorf("cannot accept %s as lowest version", tls.VersionName(options.MinVersion))
	}
	if options.HandshakeTimeout <= 0 {
		options.HandshakeTimeout = defaultHandshakeTimeout
	}
	if options.PollInterval <= 0 {
		options.PollInterval = defaultPollInterval
	}
	first, err := load(options)
	if err != nil {
		return nil, err
	}
	l := &TLSListener{Listener: inner, options: options}
	l.current.Store(first)
	// Session ticket keys belong to the base, which is why it stays: a client
	// resumes across a reload of the certificate.
	l.base = &tls.Config{
		MinVersion: options.MinVersion,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return l.current.Load().config, nil
		},
	}
	return l, nil
}

// load reads and parses the files.
func load(o TLSOptions) (*material, error) {
	// The signature comes first: files that change while they are read are
	// read again.
	files := sign(o)
	pair, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("cannot load certificate %q: %w", o.CertFile, err)
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{pair},
		MinVersion:   o.MinVersion,
		NextProtos:   []string{"http/1.1"},
	}
	if o.ClientCAFile != "" {
		pool, err := loadPool(o.ClientCAFile)
		if err != nil {
			return nil, err
		}
		config.ClientCAs = pool
		config.ClientAuth = tls.RequireAndVerifyClientCert
		// A ticket would let a client in again after its authority has been
		// removed. Connections are long-lived, so full handshakes cost little.
		config.SessionTicketsDisabled = true
	}
	return &material{config: config, notAfter: pair.Leaf.NotAfter, files: files}, nil
}

func loadPool(path string) (*x509.CertPool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot load client authorities: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("cannot load client authorities: no certificate in %q", path)
	}
	return pool, nil
}

// Reload reads the files again. New handshakes use them at once; if they are
// bad nothing changes and the error is returned and kept for Stats.
func (l *TLSListener) Reload() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	next, err := load(l.options)
	l.lastErr = err
	if err != nil {
		l.reloadFailures.Add(1)
		return err
	}
	l.current.Store(next)
	l.reloads.Add(1)
	return nil
}

// Run reloads when the files have changed, until ctx ends, and returns nil. It
// looks at their times and sizes every PollInterval, which also sees the link
// swaps of Kubernetes secrets, where a watch of the directory would need care.
// Files that could not be loaded are tried again each time: a certificate and
// its key are often replaced one after the other.
func (l *TLSListener) Run(ctx context.Context) error {
	ticker := time.NewTicker(l.options.PollInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if sign(l.options) == l.current.Load().files {
			continue
		}
		err := l.Reload()
		if l.options.OnReload != nil {
			l.options.OnReload(err)
		}
	}
}

// signature tells versions of the files apart.
type signature [3]struct {
	modified, size int64
}

func sign(o TLSOptions) signature {
	var s signature
	for i, path := range []string{o.CertFile, o.KeyFile, o.ClientCAFile} {
		if info, err := os.Stat(path); err == nil {
			s[i].modified, s[i].size = info.ModTime().UnixNano(), info.Size()
		}
	}
	return s
}

// Accept returns the next connection, before its handshake.
func (l *TLSListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &tlsConn{Conn: tls.Server(c, l.base), listener: l}, nil
}

// Stop stops the inner listener as its own Stop does, or closes it if it has
// none.
func (l *TLSListener) Stop() {
	if s, ok := l.Listener.(interface{ Stop() }); ok {
		s.Stop()
		return
	}
	_ = l.Listener.Close()
}

// Stats reads the counters.
func (l *TLSListener) Stats() TLSStats {
	l.mu.Lock()
	lastErr := l.lastErr
	l.mu.Unlock()
	return TLSStats{
		Reloads:           l.reloads.Load(),
		ReloadFailures:    l.reloadFailures.Load(),
		HandshakeFailures: l.handshakeFailures.Load(),
		NotAfter:          l.current.Load().notAfter,
		LastError:         lastErr,
	}
}

// tlsConn bounds the handshake of a *tls.Conn, whichever call starts it. It has
// the Handshake and ConnectionState that fasthttp recognises TLS by, and the
// NetConn that leads to the watched connection.
type tlsConn struct {
	*tls.Conn
	listener *TLSListener
	done     atomic.Bool

	// mu serialises the first handshake and guards failed, its error: the
	// server may ask again before it gives up.
	mu     sync.Mutex
	failed error
}

// Handshake runs the handshake if it has not run yet.
func (c *tlsConn) Handshake() error { return c.HandshakeContext(context.Background()) }

// HandshakeContext is Handshake, given up when ctx ends.
func (c *tlsConn) HandshakeContext(ctx context.Context) error {
	if c.done.Load() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done.Load() || c.failed != nil {
		return c.failed
	}
	if err := c.NetConn().SetDeadline(time.Now().Add(c.listener.options.HandshakeTimeout)); err != nil {
		return err
	}
	if err := c.Conn.HandshakeContext(ctx); err != nil {
		if !errors.Is(err, net.ErrClosed) {
			c.listener.handshakeFailures.Add(1)
		}
		c.failed = err
		return err
	}
	c.done.Store(true)
	return c.NetConn().SetDeadline(time.Time{})
}

// Read runs the handshake if need be and reads.
func (c *tlsConn) Read(p []byte) (int, error) {
	if err := c.Handshake(); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write runs the handshake if need be and writes.
func (c *tlsConn) Write(p []byte) (int, error) {
	if err := c.Handshake(); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

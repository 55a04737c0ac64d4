package listen

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// authority signs certificates for tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(time.Now().UnixNano()),
		Subject:               pkix.Name{CommonName: "test authority"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert: cert, key: key, pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// issue returns a certificate for localhost and its key, in PEM.
func (a *authority) issue(t *testing.T, name string) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		DNSNames:     []string{"localhost"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, private.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
}

// files is a directory with the PEM files of a TLSListener.
type files struct{ cert, key, ca string }

func newFiles(t *testing.T) files {
	dir := t.TempDir()
	return files{cert: filepath.Join(dir, "tls.crt"), key: filepath.Join(dir, "tls.key"), ca: filepath.Join(dir, "ca.crt")}
}

// issue fills the certificate and key files.
func (f files) issue(t *testing.T, a *authority, name string) {
	t.Helper()
	cert, key := a.issue(t, name)
	put(t, f.cert, cert)
	put(t, f.key, key)
}

func put(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// serveTLS echoes one byte on each connection and returns the listener.
func serveTLS(t *testing.T, options TLSOptions) *TLSListener {
	t.Helper()
	l, err := NewTLS(limited(t, bind(t), Options{MaxConns: 100, TLS: true}), options)
	if err != nil {
		t.Fatalf("cannot create a TLS listener: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				b := make([]byte, 1)
				if _, err := c.Read(b); err == nil {
					_, _ = c.Write(b)
				}
			}()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-ended })
	return l
}

// greetTLS exchanges a byte and returns the state of the connection.
func greetTLS(t *testing.T, addr net.Addr, config *tls.Config) (tls.ConnectionState, error) {
	t.Helper()
	config = config.Clone()
	config.ServerName = "localhost"
	c := tls.Client(dial(t, addr), config)
	defer c.Close()
	if _, err := c.Write([]byte{1}); err != nil {
		return tls.ConnectionState{}, err
	}
	if _, err := c.Read(make([]byte, 1)); err != nil {
		return tls.ConnectionState{}, err
	}
	return c.ConnectionState(), nil
}

func trusting(a *authority) *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
}

func TestCertificateIsReplacedAndABadOneIsNot(t *testing.T) {
	t.Parallel()
	ca, f := newAuthority(t), newFiles(t)
	f.issue(t, ca, "first")
	l := serveTLS(t, TLSOptions{CertFile: f.cert, KeyFile: f.key})
	name := func() string {
		t.Helper()
		state, err := greetTLS(t, l.Addr(), trusting(ca))
		if err != nil {
			t.Fatalf("cannot use TLS: %v", err)
		}
		if state.NegotiatedProtocol != "http/1.1" || state.Version != tls.VersionTLS13 {
			t.Errorf("negotiated %q, %s", state.NegotiatedProtocol, tls.VersionName(state.Version))
		}
		return state.PeerCertificates[0].Subject.CommonName
	}
	if got := name(); got != "first" {
		t.Fatalf("got certificate %q", got)
	}
	second, secondKey := ca.issue(t, "second")
	put(t, f.cert, second) // the key does not fit yet
	if err := l.Reload(); err == nil {
		t.Error("a certificate without its key was loaded")
	}
	if s := l.Stats(); s.ReloadFailures != 1 || s.LastError == nil || s.NotAfter.IsZero() {
		t.Errorf("stats are %+v, want one failure with its error", s)
	}
	if got := name(); got != "first" {
		t.Errorf("after a bad reload: got certificate %q, want the first", got)
	}
	put(t, f.key, secondKey)
	if err := l.Reload(); err != nil {
		t.Fatalf("cannot reload: %v", err)
	}
	if got := name(); got != "second" {
		t.Errorf("after a reload: got certificate %q, want the second", got)
	}
	if s := l.Stats(); s.Reloads != 1 || s.LastError != nil {
		t.Errorf("stats are %+v, want one reload and no error", s)
	}
}

func TestRunReloadsWhatHasChanged(t *testing.T) {
	ca, f := newAuthority(t), newFiles(t)
	next, nextKey := ca.issue(t, "second")
	f.issue(t, ca, "first")
	// The clock is the test's, so that polls happen when it says.
	synctest.Test(t, func(t *testing.T) {
		outcomes := make(chan error, 10)
		l, err := NewTLS(nil, TLSOptions{
			CertFile: f.cert, KeyFile: f.key, PollInterval: time.Minute,
			OnReload: func(err error) { outcomes <- err },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- l.Run(ctx) }()
		poll := func(want string) {
			t.Helper()
			<-time.After(time.Minute)
			synctest.Wait()
			got := "nothing"
			if len(outcomes) > 0 {
				got = "reload"
				if <-outcomes != nil {
					got = "failure"
				}
			}
			if got != want {
				t.Errorf("a poll brought %s, want %s", got, want)
			}
		}
		poll("nothing")
		put(t, f.cert, next[:len(next)-40])
		poll("failure")
		poll("failure") // tried again
		put(t, f.cert, next)
		put(t, f.key, nextKey)
		poll("reload")
		poll("nothing")
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
}

func TestClientAuthoritiesAreReplaced(t *testing.T) {
	t.Parallel()
	ca, other, f := newAuthority(t), newAuthority(t), newFiles(t)
	f.issue(t, ca, "server")
	put(t, f.ca, ca.pem)
	l := serveTLS(t, TLSOptions{CertFile: f.cert, KeyFile: f.key, ClientCAFile: f.ca})
	client := func(a *authority) *tls.Config {
		config := trusting(ca)
		config.ClientSessionCache = tls.NewLRUClientSessionCache(4)
		if a != nil {
			pair, err := tls.X509KeyPair(a.issue(t, "client"))
			if err != nil {
				t.Fatal(err)
			}
			config.Certificates = []tls.Certificate{pair}
		}
		return config
	}
	ours, theirs := client(ca), client(other)
	f2 := func(name string, config *tls.Config, want bool) {
		t.Helper()
		if _, err := greetTLS(t, l.Addr(), config); (err == nil) != want {
			t.Errorf("%s: got %v, want admission %v", name, err, want)
		}
	}
	f2("no certificate", client(nil), false)
	f2("ours", ours, true)
	f2("theirs", theirs, false)
	put(t, f.ca, []byte("no certificate in here"))
	if err := l.Reload(); err == nil {
		t.Error("an empty authority file was loaded")
	}
	f2("ours after a bad reload", ours, true)
	put(t, f.ca, other.pem)
	if err := l.Reload(); err != nil {
		t.Fatal(err)
	}
	f2("ours after removal, with a session to resume", ours, false)
	f2("theirs after addition", theirs, true)
}

func TestSessionResumesAcrossAReload(t *testing.T) {
	t.Parallel()
	ca, f := newAuthority(t), newFiles(t)
	f.issue(t, ca, "server")
	l := serveTLS(t, TLSOptions{CertFile: f.cert, KeyFile: f.key})
	config := trusting(ca)
	config.ClientSessionCache = tls.NewLRUClientSessionCache(4)
	for i, want := range []bool{false, true} {
		state, err := greetTLS(t, l.Addr(), config)
		if err != nil || state.DidResume != want {
			t.Errorf("connection %d: resumed %v, %v; want %v", i, state.DidResume, err, want)
		}
		if err := l.Reload(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSilentClientHoldsUpNobody(t *testing.T) {
	t.Parallel()
	ca, f := newAuthority(t), newFiles(t)
	f.issue(t, ca, "server")
	l := serveTLS(t, TLSOptions{CertFile: f.cert, KeyFile: f.key})
	_ = dial(t, l.Addr())
	if _, err := greetTLS(t, l.Addr(), trusting(ca)); err != nil {
		t.Errorf("another client was not served: %v", err)
	}
}

func TestSilentClientIsDropped(t *testing.T) {
	t.Parallel()
	ca, f := newAuthority(t), newFiles(t)
	f.issue(t, ca, "server")
	l := serveTLS(t, TLSOptions{CertFile: f.cert, KeyFile: f.key, HandshakeTimeout: 20 * time.Millisecond})
	silent := dial(t, l.Addr())
	if n, err := silent.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("read %d bytes, %v; want the end of the stream", n, err)
	}
	if n := l.Stats().HandshakeFailures; n != 1 {
		t.Errorf("%d failed handshakes, want 1", n)
	}
}

func TestHandshakeLeavesNoDeadline(t *testing.T) {
	t.Parallel()
	ca, f := newAuthority(t), newFiles(t)
	f.issue(t, ca, "server")
	l, err := NewTLS(bind(t), TLSOptions{CertFile: f.cert, KeyFile: f.key, HandshakeTimeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	config := trusting(ca)
	config.ServerName = "localhost"
	client := tls.Client(dial(t, l.Addr()), config)
	go func() { _ = client.Handshake() }()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	spy := &deadlines{Conn: c.(*tlsConn).NetConn()}
	spied := &tlsConn{Conn: tls.Server(spy, l.base), listener: l}
	if err := spied.Handshake(); err != nil {
		t.Fatal(err)
	}
	if len(spy.set) != 2 || spy.set[0].IsZero() || !spy.set[1].IsZero() {
		t.Errorf("deadlines were %v, want one and then none", spy.set)
	}
	if _, ok := net.Conn(spied).(interface {
		Handshake() error
		ConnectionState() tls.ConnectionState
		NetConn() net.Conn
	}); !ok {
		t.Error("the connection does not look like TLS to the server")
	}
}

type deadlines struct {
	net.Conn
	set []time.Time
}

func (d *deadlines) SetDeadline(t time.Time) error {
	d.set = append(d.set, t)
	return d.Conn.SetDeadline(t)
}

func TestOldVersionsAreRefused(t *testing.T) {
	t.Parallel()
	ca, f := newAuthority(t), newFiles(t)
	f.issue(t, ca, "server")
	l := serveTLS(t, TLSOptions{CertFile: f.cert, KeyFile: f.key, MinVersion: tls.VersionTLS13})
	config := trusting(ca)
	config.MaxVersion = tls.VersionTLS12
	if _, err := greetTLS(t, l.Addr(), config); err == nil {
		t.Error("TLS 1.2 was accepted below the lowest version")
	}
	_, err := NewTLS(nil, TLSOptions{CertFile: f.cert, KeyFile: f.key, MinVersion: tls.VersionTLS11})
	if err == nil || !strings.Contains(err.Error(), "TLS 1.1") {
		t.Errorf("got %v, want TLS 1.1 to be refused as lowest version", err)
	}
}

//go:build linux

package faults

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"penstock/bench/enginesim"
	"penstock/configs"
)

// certificate writes a certificate for 127.0.0.1 and returns who trusts it.
func certificate(t *testing.T) (certFile, keyFile string, trust *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	for path, text := range map[string][]byte{
		certFile: certPEM, keyFile: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}),
	} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certPEM)
	return certFile, keyFile, &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}
}

// secure runs a gateway with TLS and returns how to connect to it.
func secure(t *testing.T, url string, change configure) (g *rig, connect func() *Client) {
	t.Helper()
	cert, key, trust := certificate(t)
	g = launch(t, []string{url}, func(c *configs.Config) {
		c.Listen.TLS = &configs.ServerTLS{CertFile: cert, KeyFile: key, ReloadInterval: ms(30_000)}
		if change != nil {
			change(c)
		}
	})
	t.Cleanup(func() {
		if !t.Failed() {
			g.settles()
		}
		g.neverPanicked()
	})
	return g, func() *Client {
		c := g.dial()
		if err := c.Secure(t.Context(), trust); err != nil {
			t.Fatal(err)
		}
		return c
	}
}

// Streams over TLS take another way through the gateway than those whose bytes
// it can move from socket to socket. The same must hold there.
func TestFaultsUnderTLS(t *testing.T) {
	real(t)
	t.Run("a killed replica is an error, not an end", func(t *testing.T) {
		t.Parallel()
		p := process(t)
		g, connect := secure(t, p.URL, nil)
		c := connect()
		g.send(c, (&Chat{Tokens: 5000, Stream: true}).Raw())
		a := g.follow(c, 5)
		signal(t, p, syscall.SIGKILL)
		a.Rest()
		if a.Failed == "" || a.Done || a.Clean {
			t.Errorf("got %s", a)
		}
	})
	for way, leave := range ways {
		t.Run("a client that leaves is aborted, "+way, func(t *testing.T) {
			t.Parallel()
			e := engine(t, 5*time.Millisecond)
			received, aborted := make(chan struct{}, 16), make(chan struct{}, 16)
			e.OnRequest(func(enginesim.RequestInfo) { received <- struct{}{} })
			e.OnAbort(func(enginesim.RequestInfo) { aborted <- struct{}{} })
			g, connect := secure(t, e.URL, nil)
			for _, stream := range []bool{true, false} {
				c := connect()
				g.send(c, (&Chat{Tokens: 5000, Stream: stream}).Raw())
				await(t, received, "the request at the engine")
				if stream {
					g.follow(c, 3)
				}
				if err := leave(c); err != nil {
					t.Fatal(err)
				}
				await(t, aborted, "the abort at the engine")
				_ = c.Close()
			}
			g.neutral(2)
		})
	}
	t.Run("a client that does not read is cut", func(t *testing.T) {
		t.Parallel()
		cut := make(chan struct{}, 4)
		piece := chunk(event(strings.Repeat("x", 4000)))
		s := script(t, func(c *tcp, _ *http.Request, _ []byte) bool {
			for ok := say(c, sseHead("Transfer-Encoding: chunked")); ok; {
				ok = say(c, piece)
			}
			cut <- struct{}{}
			return false
		})
		g, connect := secure(t, s.URL, func(c *configs.Config) { c.Listen.WriteTimeout = ms(1500) })
		c := connect()
		if err := c.Conn.SetReadBuffer(4 << 10); err != nil {
			t.Fatal(err)
		}
		g.send(c, (&Chat{Stream: true}).Raw())
		await(t, cut, "the engine's connection closed")
	})
	t.Run("a gap ends the stream with an error", func(t *testing.T) {
		t.Parallel()
		e := engine(t, 0)
		e.SetFault(enginesim.Fault{Cut: enginesim.CutHangAfter, After: 4})
		g, connect := secure(t, e.URL, pool(func(p *configs.Pool) { p.Timeouts.Gap = ms(500) }))
		c := connect()
		g.send(c, (&Chat{Tokens: 50, Stream: true}).Raw())
		a := g.follow(c, 1)
		a.Rest()
		if a.Failed == "" || a.Done || a.Clean {
			t.Errorf("got %s", a)
		}
	})
	t.Run("a handshake that does not come is given up", func(t *testing.T) {
		t.Parallel()
		e := engine(t, 0)
		g, _ := secure(t, e.URL, func(c *configs.Config) { c.Listen.HeaderTimeout, c.Listen.IdleTimeout = ms(1000), ms(1000) })
		var all []*Client
		for _, text := range []string{"", "\x16\x03\x01", "GET / HTTP/1.1\r\n\r\n"} {
			c := g.dial()
			g.send(c, text)
			all = append(all, c)
		}
		for i, c := range all {
			if _, err := c.Conn.Read(make([]byte, 1)); err != nil && !closedByPeer(err) {
				t.Errorf("client %d: %v", i, err)
			}
		}
		g.settles()
	})
}

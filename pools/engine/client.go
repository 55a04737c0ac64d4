package engine

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"penstock/configs"
	"penstock/pools"
)

// MaxBody is the most that is read of an answer. The metrics page of an engine
// with many series has some hundred KiB.
const MaxBody = 4 << 20

// ErrTooLarge is an answer beyond MaxBody.
var ErrTooLarge = errors.New("engine: answer is too large")

// Options is how a Client reaches engines.
type Options struct {
	TLS *tls.Config // for https replicas; nil: the system's trust
	// AllowAddr is asked about the resolved address of replicas that were added
	// at run time, at every dial: a name may change what it resolves to. nil
	// allows all.
	AllowAddr func(netip.Addr) error
	// IdleTimeout keeps a connection for the next request; 0 closes it after
	// each, which also tests that the engine still accepts.
	IdleTimeout time.Duration
}

// Client makes small requests with bounded answers. It follows no redirect and uses no proxy
// of the environment, so it reaches the replica or nothing.
type Client struct {
	configured, registered *http.Client
}

// NewClient returns a client. Close releases its connections.
func NewClient(o Options) *Client {
	return &Client{configured: o.client(nil), registered: o.client(o.AllowAddr)}
}

func (o Options) client(allow func(netip.Addr) error) *http.Client {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	if allow != nil {
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("cannot check address %q: %w", address, err)
			}
			return allow(at.Addr().Unmap())
		}
	}
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSClientConfig: o.TLS,
			DisableKeepAlives: o.IdleTimeout == 0, IdleConnTimeout: o.IdleTimeout,
			MaxIdleConnsPerHost: 1, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10,
			TLSHandshakeTimeout: 5 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Answer is what an engine said.
type Answer struct {
	Status int
	Body   []byte
}

// OK reports a 2xx.
func (a Answer) OK() bool { return a.Status >= 200 && a.Status < 300 }

// Get asks a replica for a path below its base path, or for a whole URL, which
// then gets no credentials unless it is on the replica's own host and port.
func (c *Client) Get(ctx context.Context, r pools.Replica, secret configs.Secret, path string) (Answer, error) {
	return c.do(ctx, http.MethodGet, r, secret, path, nil)
}

// PostJSON is Get with a JSON body.
func (c *Client) PostJSON(ctx context.Context, r pools.Replica, secret configs.Secret, path string, body []byte) (Answer, error) {
	return c.do(ctx, http.MethodPost, r, secret, path, body)
}

func (c *Client) do(ctx context.Context, method string, r pools.Replica, secret configs.Secret, path string, content []byte) (Answer, error) {
	target, own := resolve(r.URL, path)
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(content))
	if err != nil {
		return Answer{}, fmt.Errorf("cannot ask %q: %w", target, err)
	}
	if content != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("User-Agent", "penstock")
	req.Header.Set("Accept-Encoding", "identity")
	if own && secret.Set() {
		req.Header.Set("Authorization", "Bearer "+secret.Reveal())
	}
	client := c.configured
	if r.Registered {
		client = c.registered
	}
	resp, err := client.Do(req)
	if err != nil {
		return Answer{}, fmt.Errorf("cannot ask the engine: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxBody+1))
	if err != nil {
		return Answer{}, fmt.Errorf("cannot read the engine's answer: %w", err)
	}
	if len(body) > MaxBody {
		return Answer{}, ErrTooLarge
	}
	return Answer{Status: resp.StatusCode, Body: body}, nil
}

// resolve joins a path to a base, or takes a whole URL; own says that the
// result is on the base's host.
func resolve(base, path string) (target string, own bool) {
	u, err := url.Parse(path)
	if err != nil || u.Host == "" {
		return base + path, true
	}
	b, err := url.Parse(base)
	return path, err == nil && b.Host == u.Host && b.Scheme == u.Scheme
}

// Close closes idle connections.
func (c *Client) Close() {
	c.configured.CloseIdleConnections()
	c.registered.CloseIdleConnections()
}

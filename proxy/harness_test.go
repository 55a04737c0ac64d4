package proxy

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"penstock/configs"
	"penstock/pools"
	"penstock/proxy/listen"
	"penstock/proxy/watch"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// fasthttp starts these once and never ends them.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
	)
}

// gateway is a whole data plane in this process.
type gateway struct {
	t        *testing.T
	server   *Server
	fleet    *pools.Fleet
	watcher  *watch.Watcher
	registry *prometheus.Registry
	addr     string
	url      string
	access   *syncBuffer
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// poolYAML is a pool of the given engines without probes.
func poolYAML(extra string, urls ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "pools:\n- name: main\n  engine: openai\n  models: [{id: m, aliases: [alias]}]\n  health: {disabled: true}\n  load: {disabled: true}\n%s  replicas:\n", extra)
	for i, u := range urls {
		fmt.Fprintf(&b, "  - {id: r%d, url: %q}\n", i, u)
	}
	return b.String()
}

func parse(t *testing.T, text string) *configs.Config {
	t.Helper()
	cfg, err := configs.Parse([]byte(text), configs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func startGateway(t *testing.T, text string) *gateway {
	t.Helper()
	return startGatewayWith(t, text, func(*gateway, *Deps) {})
}

// startGatewayWith lets change what the server is made of.
func startGatewayWith(t *testing.T, text string, change func(*gateway, *Deps)) *gateway {
	t.Helper()
	cfg := parse(t, text)
	g := &gateway{t: t, registry: prometheus.NewRegistry(), access: &syncBuffer{}}
	log := slog.New(slog.DiscardHandler)
	var err error
	if g.watcher, err = watch.New(watch.Options{IgnoreHalfClose: !cfg.Listen.HalfCloseIsGone}); err != nil {
		t.Fatal(err)
	}
	if g.fleet, err = pools.NewFleet(cfg.Pools, pools.Deps{Log: log}); err != nil {
		t.Fatal(err)
	}
	deps := Deps{Fleet: g.fleet, Watcher: g.watcher, Log: log, Metrics: g.registry, Access: g.access}
	change(g, &deps)
	g.server, err = New(cfg, deps)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln, err := listen.New(inner, listen.Options{Wrap: g.server.WrapConn})
	if err != nil {
		t.Fatal(err)
	}
	g.addr = inner.Addr().String()
	g.url = "http://" + g.addr
	var wg sync.WaitGroup
	wg.Go(func() { _ = g.watcher.Run(t.Context()) })
	wg.Go(func() {
		if err := g.server.Serve(ln); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		ln.Stop()
		_ = ln.Close()
		g.server.Close()
		_ = g.watcher.Close()
		wg.Wait()
		g.fleet.Close()
		if n := g.fleet.Leases(); n != 0 {
			t.Errorf("%d leases leaked", n)
		}
		if n := g.server.InFlight(); n != 0 {
			t.Errorf("%d requests never settled", n)
		}
	})
	return g
}

// engine is a hand-made engine whose handler the test writes.
func engine(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Serve(ln) })
	t.Cleanup(func() { _ = s.Close(); wg.Wait() })
	return "http://" + ln.Addr().String()
}

// client makes requests without sharing connections between tests.
func client(t *testing.T) *http.Client {
	t.Helper()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// box carries a value from an engine's handler to the test.
type box[T any] struct {
	mu sync.Mutex
	v  T
}

func (b *box[T]) set(v T) { b.mu.Lock(); b.v = v; b.mu.Unlock() }
func (b *box[T]) get() T  { b.mu.Lock(); defer b.mu.Unlock(); return b.v }

type reply struct {
	status int
	header http.Header
	body   string
	err    error // from reading the body
}

func (g *gateway) post(path, body string, header ...string) reply {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.t.Context(), http.MethodPost, g.url+path, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return g.do(req)
}

func (g *gateway) do(req *http.Request) reply {
	g.t.Helper()
	resp, err := client(g.t).Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(b), err}
}

// raw sends bytes on a fresh connection and returns it.
func (g *gateway) raw(text string) net.Conn {
	g.t.Helper()
	c, err := net.Dial("tcp", g.addr)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		g.t.Fatal(err)
	}
	return c
}

// eventually polls a condition that another goroutine brings about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("never happened: %s", what)
		case <-tick.C:
		}
	}
}

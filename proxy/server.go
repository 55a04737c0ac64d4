package proxy

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"

	"penstock/configs"
	"penstock/pools"
	"penstock/proxy/relay"
	"penstock/proxy/watch"
	"penstock/routing/keying"
)

// Deps are what a Server works with.
type Deps struct {
	Fleet   *pools.Fleet
	Watcher *watch.Watcher
	Log     *slog.Logger
	Metrics prometheus.Registerer
	// Access receives one JSON line per request; nil: no access log.
	Access io.Writer
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// AllowAddr is asked before connecting to a replica that was registered at
	// run time; nil: all addresses.
	AllowAddr func(netip.Addr) error
	// Keys turns prompts into block keys; nil: prompts are not keyed.
	Keys *keying.Manager
	// Local answers requests that the gateway serves itself on the data
	// listener besides its own routes (the worker API of the router family);
	// nil: none. It reports whether it did.
	Local func(ctx *fasthttp.RequestCtx) bool
}

// Server is the data plane. Serve may be called for several listeners.
type Server struct {
	fleet   *pools.Fleet
	watcher *watch.Watcher
	log     *slog.Logger
	now     func() time.Time
	local   func(ctx *fasthttp.RequestCtx) bool
	keys    *keying.Manager

	allowAddr func(netip.Addr) error

	http      *fasthttp.Server
	relay     *relay.Relay
	metrics   *metrics
	access    *accessLog
	state     atomic.Pointer[state]
	ids       requestIDs
	exchanges sync.Pool
	sessions  *sessions

	inFlight  atomic.Int64 // requests begun and not settled, streams included
	bodyBytes atomic.Int64
	stopping  atomic.Bool
	unready   atomic.Bool

	handing    atomic.Int64 // streams on their way from the handler to the relay
	background sync.WaitGroup
	stop       context.CancelFunc

	apply sync.Mutex // serialises Apply
}

// New builds a server; nothing listens yet.
func New(cfg *configs.Config, d Deps) (*Server, error) {
	if d.Now == nil {
		d.Now = time.Now
	}
	r, err := relay.New(relay.Config{Now: d.Now, Buffer: int(cfg.Limits.StreamBuffer)})
	if err != nil {
		return nil, err
	}
	s := &Server{
		fleet: d.Fleet, watcher: d.Watcher, log: d.Log, now: d.Now, local: d.Local, allowAddr: d.AllowAddr, relay: r,
		keys:     d.Keys,
		metrics:  newMetrics(d.Metrics, cfg.Limits.MaxMetricNames),
		sessions: newSessions(cfg.Limits.MaxSessions, cfg.Limits.SessionTTL.D(), d.Now),
	}
	s.exchanges.New = func() any { return newExchange() }
	if err := s.ids.init(); err != nil {
		r.Close()
		return nil, err
	}
	if err := s.Apply(cfg); err != nil {
		r.Close()
		return nil, err
	}
	if d.Access != nil && cfg.Log.Access {
		s.access = newAccessLog(d.Access)
	}
	d.Metrics.MustRegister(newCollector(s))
	s.http = s.newHTTP(&cfg.Listen)
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.background.Go(func() { s.janitor(ctx) })
	if s.access != nil {
		s.background.Go(func() { s.access.run(ctx) })
	}
	return s, nil
}

// bodyPoolLimit keeps one huge body from staying with an idle connection
// (reliability.md: 20 connections held 320 MiB).
const bodyPoolLimit = 1 << 20

func (s *Server) newHTTP(l *configs.Listen) *fasthttp.Server {
	fasthttp.SetBodySizePoolLimit(bodyPoolLimit, bodyPoolLimit)
	return &fasthttp.Server{
		Handler: s.handle, ErrorHandler: s.protocolError,
		HeaderReceived: s.requestConfig, ExpectHandler: s.expect,
		NoDefaultServerHeader: true, NoDefaultContentType: true,
		DisablePreParseMultipartForm: true, SecureErrorLogMessage: true, LazyRequestTime: true,
		CloseOnShutdown: true,
		// fasthttp closes a hijacked connection when its handler returns, and takes
		// its buffers back. On plain connections that close is ignored (see
		// lingerConn), and the buffers serve again; a TLS connection cannot ignore
		// one, so there the buffers are left to it.
		KeepHijackedConns:  l.TLS != nil,
		ReadBufferSize:     int(l.MaxHeaderBytes),
		ReadTimeout:        l.HeaderTimeout.D(),
		IdleTimeout:        l.IdleTimeout.D(),
		WriteTimeout:       l.WriteTimeout.D(), // of an answer written whole; streams have their own limits
		MaxRequestBodySize: int(l.MaxBodyBytes),
		Concurrency:        maxConcurrency,
		Logger:             quietLogger{s.log},
	}
}

// maxConcurrency is out of the way: the listener has the limit that counts and
// answers properly above it.
const maxConcurrency = 1 << 20

// Serve accepts on ln until it is closed.
func (s *Server) Serve(ln net.Listener) error {
	err := s.http.Serve(ln)
	if errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot serve on %s: %w", ln.Addr(), err)
	}
	return nil
}

// WrapConn prepares an accepted connection: watched, and able to close gently.
func (s *Server) WrapConn(c net.Conn) net.Conn {
	if s.watcher == nil {
		return &lingerConn{Conn: c}
	}
	return &lingerConn{Conn: s.watcher.Wrap(c)}
}

// InFlight is the number of requests begun and not settled.
func (s *Server) InFlight() int64 { return s.inFlight.Load() }

// StopKeepAlive makes every answer from now on the last of its connection.
func (s *Server) StopKeepAlive() { s.stopping.Store(true) }

// Drain waits until no request is left or ctx ends, then cuts what remains. The
// listeners must have stopped accepting. It is the end of the server.
func (s *Server) Drain(ctx context.Context) error {
	s.StopKeepAlive()
	err := s.http.ShutdownWithContext(ctx)
	tick := time.NewTicker(drainPoll)
	defer tick.Stop()
	for s.inFlight.Load() > 0 && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	cut := s.inFlight.Load()
	s.Close()
	if cut > 0 {
		return fmt.Errorf("cannot finish %d requests in time: %w", cut, context.Cause(ctx))
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return nil // connections without a request do not matter
	}
	return err
}

const drainPoll = 20 * time.Millisecond

// Close cuts streams, tells their clients, and ends the background work.
func (s *Server) Close() {
	s.stopping.Store(true)
	s.relay.Close()
	s.await(func() bool { return s.handing.Load() == 0 })
	s.stop()
	s.background.Wait()
	for _, be := range s.state.Load().backends {
		be.targets.close()
	}
}

// await polls a condition that other goroutines bring about soon.
func (s *Server) await(done func() bool) {
	tick := time.NewTicker(drainPoll)
	defer tick.Stop()
	for !done() {
		<-tick.C
	}
}

// janitor does what must happen now and then.
func (s *Server) janitor(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, be := range s.state.Load().backends {
			be.targets.refresh(be.set.View())
			be.targets.each(sweepTarget)
		}
		s.sessions.sweep()
	}
}

// requestIDs makes ids that are unique over gateways and restarts.
type requestIDs struct {
	prefix string
	n      atomic.Uint64
}

func (r *requestIDs) init() error {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return fmt.Errorf("cannot make request ids: %w", err)
	}
	r.prefix = "ps-" + hex.EncodeToString(b[:]) + "-"
	return nil
}

func (r *requestIDs) next() string {
	return r.prefix + strconv.FormatUint(r.n.Add(1), 36)
}

// quietLogger keeps fasthttp's messages, which can quote a request, to the
// debug level and out of the ordinary log.
type quietLogger struct{ log *slog.Logger }

// Printf logs that there was a message, not the message.
func (q quietLogger) Printf(format string, _ ...any) {
	q.log.Debug("http server message", slog.String("format", format))
}

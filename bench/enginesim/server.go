package enginesim

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
)

// Server is one simulated inference server. Its methods may be called from any
// goroutine.
type Server struct {
	cfg    Config
	wire   wire
	routes map[string]route
	ranks  []*runner
	faults faultBox
	log    requestLog
	store  responseStore
	ids    atomic.Uint64

	health  atomic.Int64 // requests in HTTP handlers, for /load
	hooks   hooks
	closing chan struct{}
	start   sync.Once
	stop    sync.Once
	runners sync.WaitGroup
	jobs    sync.WaitGroup // background responses

	mu   sync.Mutex // guards what follows
	http *http.Server
}

// New returns a server that is not running yet.
func New(cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("cannot build simulated engine: %w", err)
	}
	s := &Server{cfg: cfg, closing: make(chan struct{}), log: requestLog{limit: cfg.LogTail}}
	s.faults.put(Fault{})
	s.store.init()
	switch cfg.Dialect {
	case VLLM:
		s.wire = vllmWire{cacheReport: cfg.CacheReport}
		s.routes = s.vllmRoutes()
	case SGLang:
		s.wire = sglangWire{cacheReport: cfg.CacheReport}
		s.routes = s.sglangRoutes()
	case TRTLLM:
		s.wire = trtllmWire{}
		s.routes = s.trtllmRoutes()
	}
	for rank := range cfg.Ranks {
		r, err := newRunner(rank, &cfg)
		if err != nil {
			return nil, fmt.Errorf("cannot build simulated engine: %w", err)
		}
		s.ranks = append(s.ranks, r)
	}
	return s, nil
}

// Handler serves requests without the connection faults (resets, surplus
// bytes, refused connections), which need Serve. Close must be called.
func (s *Server) Handler() http.Handler {
	s.startRunners()
	return s
}

func (s *Server) startRunners() {
	s.start.Do(func() {
		for _, r := range s.ranks {
			s.runners.Go(func() { r.run(s.closing) })
		}
	})
}

// Serve answers on ln until Close; it returns nil then.
func (s *Server) Serve(ln net.Listener) error {
	s.startRunners()
	srv := &http.Server{
		Handler:     s,
		IdleTimeout: s.cfg.KeepAlive,
		ConnContext: withConn,
		ConnState:   onState,
	}
	s.mu.Lock()
	select {
	case <-s.closing:
		s.mu.Unlock()
		_ = ln.Close()
		return nil
	default:
	}
	s.http = srv
	s.mu.Unlock()
	err := srv.Serve(&listener{Listener: ln, faults: &s.faults})
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("cannot serve simulated engine: %w", err)
}

// Close aborts every request, closes every connection and waits for the runners
// and background answers; handlers end as their connections do. It may be
// called more than once.
func (s *Server) Close() error {
	var err error
	s.stop.Do(func() {
		close(s.closing)
		s.mu.Lock()
		srv := s.http
		s.mu.Unlock()
		if srv != nil {
			err = srv.Close()
		}
	})
	s.runners.Wait()
	s.jobs.Wait()
	return err
}

// SetDraining makes the engine end each new request at once with finish reason
// "abort" and status 200, as vLLM does while it shuts down.
func (s *Server) SetDraining(on bool) {
	for _, r := range s.ranks {
		r.setDraining(on)
	}
}

// SetFault replaces the standing fault; the zero Fault ends it. A restart
// happens at once, here.
func (s *Server) SetFault(f Fault) {
	s.faults.put(f)
	for _, r := range s.ranks {
		slow := f.Slow
		if slow == 0 {
			slow = 1
		}
		r.setSlow(slow)
	}
	if f.Restart {
		s.restart()
	}
}

// restart drops all requests with their connections, and the cache.
func (s *Server) restart() {
	s.log.eachOpen(func(x *exchange) {
		if x.conn != nil {
			x.conn.reset()
		}
	})
	for _, r := range s.ranks {
		r.abortAll()
	}
	s.store.init()
}

// route is one path of a dialect.
type route struct {
	methods   []string
	generates bool // faults without a path apply
	open      bool // needs no API key
	serve     func(x *exchange) error
}

func (r *route) allows(method string) bool {
	return slices.Contains(r.methods, method) // FastAPI adds no HEAD to its GET routes
}

// ServeHTTP finds the route and applies the faults that act before it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header()["server"] = []string{"uvicorn"}
	if s.serveControl(w, r) {
		return
	}
	x := &exchange{s: s, w: w, r: r, conn: connOf(r), left: r.Context().Done()}
	path := r.URL.Path
	rt, ok := s.find(path)
	x.fault, x.cleared = s.faults.take(path, rt.generates)
	if h := r.Header.Get("X-Sim-Fault"); h != "" && s.cfg.AllowHeaderFaults {
		f, err := ParseFault(h)
		if err != nil {
			x.status(http.StatusBadRequest, mustJSON(map[string]string{"detail": err.Error()}))
			return
		}
		x.fault = f
	}
	if !x.before() {
		return
	}
	switch {
	case !ok:
		x.status(http.StatusNotFound, []byte(`{"detail":"Not Found"}`))
	case !rt.allows(r.Method):
		w.Header().Set("Allow", rt.methods[0])
		x.status(http.StatusMethodNotAllowed, []byte(`{"detail":"Method Not Allowed"}`))
	case !rt.open && !s.authorized(r):
		x.status(http.StatusUnauthorized, []byte(`{"error":"Unauthorized"}`))
	default:
		s.health.Add(1)
		defer s.health.Add(-1)
		x.run(rt.serve)
	}
}

func (s *Server) authorized(r *http.Request) bool {
	return s.cfg.APIKey == "" || r.Header.Get("Authorization") == "Bearer "+s.cfg.APIKey
}

// before applies faults that act before the route does; false means the
// request is over.
func (x *exchange) before() bool {
	f := &x.fault
	if x.conn != nil {
		x.conn.poison.Store(f.Surplus)
		x.conn.closeIdle.Store(f.CloseIdle)
	}
	switch {
	case f.Cut == CutHang:
		x.hang()
		x.sever()
	case f.Restart && x.r.Header.Get("X-Sim-Fault") != "":
		x.s.restart()
		x.sever()
	case f.Status != 0:
		if f.RetryAfter != "" {
			x.w.Header().Set("Retry-After", f.RetryAfter)
		}
		x.status(f.Status, x.s.wire.errorBody(nil, x.r.URL.Path, plainStatus(f.Status)))
		return false
	}
	return true
}

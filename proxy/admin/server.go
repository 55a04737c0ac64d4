package admin

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"penstock/configs"
)

// LevelVar is the level of the log; *slog.LevelVar is one.
type LevelVar interface {
	Level() slog.Level
	Set(slog.Level)
}

var _ LevelVar = (*slog.LevelVar)(nil)

// Deps is what the admin side works on. All are required unless said otherwise.
type Deps struct {
	Ready     func() (ready bool, why string) // why is told when not ready
	Metrics   http.Handler
	Fleet     Fleet
	Reload    func(context.Context) error // parses, validates and swaps; an error changed nothing
	Effective func() []byte               // the configuration in force as YAML, secrets hidden
	LogLevel  LevelVar
	Workers   *WorkerAPI     // nil: no worker API on this listener
	Token     configs.Secret // not set: no token asked
	Pprof     bool
	Log       *slog.Logger
}

// Server is the handler of the admin listener.
type Server struct {
	deps  Deps
	token [sha256.Size]byte
	cross *http.CrossOriginProtection
	open  map[string]methods // no token asked
	paths map[string]methods
}

var _ http.Handler = (*Server)(nil)

// New returns the handler of the admin listener.
func New(d Deps) (*Server, error) {
	if d.Ready == nil || d.Metrics == nil || d.Fleet == nil || d.Reload == nil ||
		d.Effective == nil || d.LogLevel == nil || d.Log == nil {
		return nil, errors.New("cannot build the admin API: a dependency is missing")
	}
	s := &Server{
		deps:  d,
		token: sha256.Sum256([]byte(d.Token.Reveal())),
		cross: http.NewCrossOriginProtection(),
	}
	s.open = map[string]methods{
		"/healthz": {http.MethodGet: s.live},
		"/livez":   {http.MethodGet: s.live},
		"/readyz":  {http.MethodGet: s.ready},
	}
	s.paths = map[string]methods{
		"/metrics":                 {http.MethodGet: d.Metrics.ServeHTTP},
		"/api/v1/pools":            {http.MethodGet: s.pools},
		"/api/v1/replicas":         {http.MethodGet: s.replicas},
		"/api/v1/replicas/drain":   {http.MethodPost: s.drain},
		"/api/v1/replicas/undrain": {http.MethodPost: s.undrain},
		"/api/v1/config":           {http.MethodGet: s.effective},
		"/api/v1/reload":           {http.MethodPost: s.reload},
		"/api/v1/log-level":        {http.MethodGet: s.logLevel, http.MethodPut: s.setLogLevel},
	}
	if d.Pprof {
		addPprof(s.paths)
	}
	return s, nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	guard(w)
	if m, ok := s.open[r.URL.Path]; ok {
		m.serve(w, r)
		return
	}
	// Unknown paths ask for the token too: without it nothing is told.
	if !s.authorized(r) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="penstock admin"`)
		writeError(w, &apiError{Status: http.StatusUnauthorized, Code: codeToken, Message: "a valid bearer token is required"})
		return
	}
	if s.cross.Check(r) != nil {
		writeError(w, &apiError{Status: http.StatusForbidden, Code: codeCrossSite, Message: "requests from another site are refused"})
		return
	}
	if m, ok := s.paths[r.URL.Path]; ok {
		m.serve(w, r)
		return
	}
	if s.deps.Workers != nil {
		s.deps.Workers.ServeHTTP(w, r)
		return
	}
	writeError(w, notFound("there is nothing at this path"))
}

// authorized compares digests, so that neither the text nor the length of the
// token shows in the time it takes.
func (s *Server) authorized(r *http.Request) bool {
	if !s.deps.Token.Set() {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	digest := sha256.Sum256([]byte(strings.TrimSpace(token)))
	same := subtle.ConstantTimeCompare(digest[:], s.token[:]) == 1
	return same && strings.EqualFold(scheme, "bearer")
}

// live says that the process answers; it is not about the replicas.
func (s *Server) live(w http.ResponseWriter, _ *http.Request) {
	writeText(w, http.StatusOK, "ok\n")
}

// ready says whether a load balancer should send traffic here.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if ok, why := s.deps.Ready(); !ok {
		writeText(w, http.StatusServiceUnavailable, "not ready: "+why+"\n")
		return
	}
	writeText(w, http.StatusOK, "ok\n")
}

package admin

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// resolveTimeout bounds the look-up of a new worker's host name.
const resolveTimeout = 2 * time.Second

// workersPrefix starts the path of one worker; the rest is its escaped id.
const workersPrefix = "/workers/"

// WorkerDeps is what the worker API works on. All are required.
type WorkerDeps struct {
	Fleet     Fleet
	Engines   Engines
	Ready     func() (ready bool, why string)
	Addresses *AddressPolicy
	Resolver  Resolver
	Log       *slog.Logger
}

// WorkerAPI is the API by which the router family's tools manage workers, in
// its new style (/workers) and its old one (/add_worker). It serves absolute
// paths and may be mounted on any listener. It asks for no credentials: whoever
// mounts it does.
type WorkerAPI struct {
	deps  WorkerDeps
	cross *http.CrossOriginProtection
	jobs  atomic.Int64 // changes accepted so far; numbers the jobs
	paths map[string]methods
	one   methods // below workersPrefix
}

var _ http.Handler = (*WorkerAPI)(nil)

// NewWorkerAPI returns the worker API.
func NewWorkerAPI(d WorkerDeps) (*WorkerAPI, error) {
	if d.Fleet == nil || d.Engines == nil || d.Ready == nil || d.Addresses == nil || d.Resolver == nil || d.Log == nil {
		return nil, errors.New("cannot build the worker API: a dependency is missing")
	}
	a := &WorkerAPI{deps: d, cross: http.NewCrossOriginProtection()}
	a.paths = map[string]methods{
		"/workers":         {http.MethodGet: a.list, http.MethodPost: a.add},
		"/add_worker":      {http.MethodPost: a.addOld},
		"/remove_worker":   {http.MethodPost: a.removeOld},
		"/list_workers":    {http.MethodGet: a.listOld},
		"/flush_cache":     {http.MethodPost: a.flushCache},
		"/get_loads":       {http.MethodGet: a.loads},
		"/liveness":        {http.MethodGet: a.liveness},
		"/readiness":       {http.MethodGet: a.readiness},
		"/health":          {http.MethodGet: a.health},
		"/get_model_info":  {http.MethodGet: a.fromOneWorker},
		"/get_server_info": {http.MethodGet: a.fromOneWorker},
	}
	a.one = methods{
		http.MethodGet:    a.show,
		http.MethodPut:    a.replace,
		http.MethodPatch:  a.patch,
		http.MethodDelete: a.remove,
	}
	return a, nil
}

// workerPaths says which methods the paths of the worker API take, for
// IsWorkerAPI; a test holds it against the table of NewWorkerAPI.
var workerPaths = map[string]string{
	"/workers":         "GET POST",
	"/add_worker":      "POST",
	"/remove_worker":   "POST",
	"/list_workers":    "GET",
	"/flush_cache":     "POST",
	"/get_loads":       "GET",
	"/liveness":        "GET",
	"/readiness":       "GET",
	"/health":          "GET",
	"/get_model_info":  "GET",
	"/get_server_info": "GET",
}

// IsWorkerAPI reports whether a request belongs to the worker API, for a
// listener that serves other things too. path is as on the request line,
// without the query.
func IsWorkerAPI(method, path string) bool {
	allowed := workerPaths[path]
	if strings.HasPrefix(path, workersPrefix) && len(path) > len(workersPrefix) {
		allowed = "GET PUT PATCH DELETE"
	}
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for one := range strings.FieldsSeq(allowed) {
		if one == method {
			return true
		}
	}
	return false
}

// ServeHTTP answers one request.
func (a *WorkerAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	guard(w)
	if a.cross.Check(r) != nil {
		writeError(w, &apiError{Status: http.StatusForbidden, Code: codeCrossSite, Message: "requests from another site are refused"})
		return
	}
	if m, ok := a.paths[r.URL.Path]; ok {
		m.serve(w, r)
		return
	}
	if workerName(r) != "" {
		a.one.serve(w, r)
		return
	}
	writeError(w, notFound("there is nothing at this path"))
}

// workerName returns the id in /workers/{id}, "" if there is none. An id may
// hold slashes (a base path), so it is taken from the escaped path.
func workerName(r *http.Request) string {
	escaped, ok := strings.CutPrefix(r.URL.EscapedPath(), workersPrefix)
	if !ok || strings.Contains(escaped, "/") {
		return ""
	}
	name, err := url.PathUnescape(escaped)
	if err != nil {
		return ""
	}
	return name
}

// target finds the worker that the path names.
func (a *WorkerAPI) target(r *http.Request) (Pool, Replica, *apiError) {
	return find(a.deps.Fleet.Snapshot(), r.URL.Query().Get("pool"), workerName(r))
}

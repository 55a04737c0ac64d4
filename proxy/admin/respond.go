package admin

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// apiError is what a caller of the API is told.
type apiError struct {
	Status  int    `json:"-"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (e *apiError) Error() string { return e.Message }

// The codes of apiError; scripts may branch on them.
const (
	codeBadRequest  = "bad_request"
	codeNotFound    = "not_found"
	codeMethod      = "method_not_allowed"
	codeToken       = "token_required"
	codeCrossSite   = "cross_site"
	codeConflict    = "conflict"
	codeBadConfig   = "bad_config"
	codeUnavailable = "unavailable"
	codeUpstream    = "engine_failed"
	codeInternal    = "internal"
)

func badRequest(message string) *apiError {
	return &apiError{Status: http.StatusBadRequest, Code: codeBadRequest, Message: message}
}

func notFound(message string) *apiError {
	return &apiError{Status: http.StatusNotFound, Code: codeNotFound, Message: message}
}

// writeJSON answers with v. Encoding cannot fail for the types used here; a
// client that left is not an error of ours.
func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic("BUG: cannot encode an admin answer: " + err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) //nolint:gosec // G705: plain text under nosniff is no script
}

func writeError(w http.ResponseWriter, e *apiError) {
	writeJSON(w, e.Status, map[string]*apiError{"error": e})
}

// methods maps a method to what serves it on one path.
type methods map[string]http.HandlerFunc

// allow lists the methods for the Allow header, in a stable order.
func (m methods) allow() string {
	names := make([]string, 0, len(m)+1)
	for name := range m {
		names = append(names, name)
	}
	if m[http.MethodGet] != nil {
		names = append(names, http.MethodHead)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// find returns the handler for a method; HEAD is GET without the body, which
// net/http leaves out.
func (m methods) find(method string) http.HandlerFunc {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	return m[method]
}

// serve runs the method's handler, or answers 405.
func (m methods) serve(w http.ResponseWriter, r *http.Request) {
	h := m.find(r.Method)
	if h == nil {
		w.Header().Set("Allow", m.allow())
		writeError(w, &apiError{Status: http.StatusMethodNotAllowed, Code: codeMethod, Message: "this path takes " + m.allow()})
		return
	}
	h(w, r)
}

// guard sets the headers that every answer carries.
func guard(w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
}

package admin

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"penstock/configs"
)

func TestProbesNeedNoToken(t *testing.T) {
	t.Parallel()
	r := newRig(t, "secret")
	for _, path := range []string{"/healthz", "/livez", "/readyz"} {
		r.expect(t, "GET "+path, "", 200, "ok")
		r.expect(t, "HEAD "+path, "", 200, "")
	}
	r.ready = errors.New("draining")
	r.expect(t, "GET /readyz", "", 503, "draining")
	r.expect(t, "GET /livez", "", 200, "ok")
}

func TestEverythingElseNeedsTheToken(t *testing.T) {
	t.Parallel()
	r := newRig(t, "secret")
	for _, head := range []string{
		"GET /metrics", "GET /api/v1/pools", "POST /api/v1/reload", "GET /api/v1/config", "GET /debug/pprof/heap",
		"GET /workers", "POST /add_worker?url=http://127.0.0.1:1", "GET /nothing", "GET /healthz/", "GET //healthz",
	} {
		for _, header := range []string{"", "\nAuthorization: Bearer wrong", "\nAuthorization: Basic secret", "\nAuthorization: secret", "\nAuthorization: Bearer secret2"} {
			res := r.expect(t, head+header, "", 401, codeToken)
			if res.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s: 401 without WWW-Authenticate", head)
			}
		}
	}
	r.expect(t, "GET /metrics\nAuthorization: Bearer secret", "", 200, "penstock_up 1")
	r.expect(t, "GET /metrics\nAuthorization: bearer secret", "", 200, "penstock_up 1")
}

func TestPathsAreExact(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	for _, path := range []string{
		"/", "/metrics/", "//metrics", "/METRICS", "/api/v1/../v1/pools", "/api/v1", "/api/v1/", "/metrics%2f",
		"/debug/pprof", "/debug/pprof/cmdline", "/debug/pprof/../heap", "/ui/../../etc/passwd", "/%2e%2e/etc/passwd",
		"/workers/", "/workers/a/b",
	} {
		r.expect(t, "GET "+path, "", 404, "there is nothing at this path")
	}
}

func TestMethodsAreStrict(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	f := func(head, allow string) {
		t.Helper()
		res := r.expect(t, head, "", 405, codeMethod)
		if got := res.Header.Get("Allow"); got != allow {
			t.Errorf("%s: Allow %q, want %q", head, got, allow)
		}
	}
	f("POST /metrics", "GET, HEAD")
	f("POST /healthz", "GET, HEAD")
	f("GET /api/v1/reload", "POST")
	f("DELETE /api/v1/log-level", "GET, HEAD, PUT")
	f("GET /api/v1/replicas/drain", "POST")
	f("PUT /workers", "GET, HEAD, POST")
	f("POST /workers/a:8000", "DELETE, GET, HEAD, PATCH, PUT")
	f("GET /add_worker", "POST")
	f("GET /flush_cache", "POST")
}

// A page in the operator's browser can reach loopback; it must change nothing.
func TestOtherSitesCannotChangeAnything(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	for _, header := range []string{"Sec-Fetch-Site: cross-site", "Origin: http://evil.example"} {
		r.expect(t, "POST /add_worker?url=http://127.0.0.1:1\n"+header, "", 403, codeCrossSite)
		r.expect(t, "POST /api/v1/reload\n"+header, "", 403, codeCrossSite)
	}
	if len(r.fleet.calls) != 0 {
		t.Errorf("the fleet was changed: %v", r.fleet.calls)
	}
}

func TestReload(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	r.expect(t, "POST /api/v1/reload", "", 200, "reloaded")
	r.reload = &configs.Errors{File: "penstock.yaml", Problems: []configs.Problem{
		{Line: 3, Column: 1, Path: "pools[0]", Message: "has no replica"}, {Line: 9, Column: 4, Path: "limits", Message: "unknown key"},
	}}
	r.expect(t, "POST /api/v1/reload", "", 422, `{"line":3,"column":1,"path":"pools[0]","message":"has no replica"},{"line":9`)
	r.reload = errors.Join(errors.New("one"), errors.Join(errors.New("two"), errors.New("three")))
	r.expect(t, "POST /api/v1/reload", "", 422, `"three"`)
}

func TestConfigAndPools(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	r.expect(t, "GET /api/v1/config", "", 200, "listen: {}")
	r.expect(t, "GET /api/v1/pools", "", 200, `"name":"embed"`)
	res := r.expect(t, "GET /api/v1/replicas", "", 200, `"pool":"chat","id":"a:8000"`)
	if res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("an answer may be cached")
	}
}

func TestDrain(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	r.expect(t, "POST /api/v1/replicas/drain", `{"pool":"chat","id":"a:8000"}`, 200, "draining")
	r.expect(t, "POST /api/v1/replicas/undrain", `{"id":"http://c:30000/"}`, 200, "undrained")
	if got := strings.Join(r.fleet.calls, ";"); got != "drain chat a:8000;undrain embed c:30000" {
		t.Errorf("fleet saw %q", got)
	}
	r.expect(t, "POST /api/v1/replicas/drain", `{"pool":"none","id":"a:8000"}`, 404, "no pool")
	r.expect(t, "POST /api/v1/replicas/drain", `{"id":"zzz"}`, 404, "no replica")
	r.expect(t, "POST /api/v1/replicas/drain", `{}`, 400, "missing")
	r.expect(t, "POST /api/v1/replicas/drain", `{"id":"a:8000","now":true}`, 400, "now")
	r.expect(t, "POST /api/v1/replicas/drain", `{"id":"a:8000"} x`, 400, "after")
	r.expect(t, "POST /api/v1/replicas/drain", strings.Repeat(" ", maxBody+1), 413, "larger")
	r.fleet.fail = ErrNoReplica
	r.expect(t, "POST /api/v1/replicas/drain", `{"id":"a:8000"}`, 404, "no such replica")
	r.fleet.pools[1].Replicas[0].ID = "a:8000"
	r.expect(t, "POST /api/v1/replicas/drain", `{"id":"a:8000"}`, 409, "more than one pool")
}

func TestLogLevel(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	r.expect(t, "GET /api/v1/log-level", "", 200, `"info"`)
	r.expect(t, "PUT /api/v1/log-level", `{"level":"debug"}`, 200, `"debug"`)
	if r.level.Level() != slog.LevelDebug {
		t.Errorf("level is %v", r.level.Level())
	}
	r.expect(t, "PUT /api/v1/log-level", `{"level":"loud"}`, 400, "level must be")
}

func TestPprof(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	r.expect(t, "GET /debug/pprof/", "", 200, "goroutine")
	r.expect(t, "GET /debug/pprof/goroutine?debug=1", "", 200, "goroutine profile")
}

func TestMissingDependenciesAreRefused(t *testing.T) {
	t.Parallel()
	if _, err := New(Deps{Metrics: http.NotFoundHandler()}); err == nil {
		t.Error("New accepted a half-built Deps")
	}
	if _, err := NewWorkerAPI(WorkerDeps{}); err == nil {
		t.Error("NewWorkerAPI accepted an empty WorkerDeps")
	}
}

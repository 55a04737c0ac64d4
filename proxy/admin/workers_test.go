package admin

import (
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestRegisterNewStyle(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	res := r.expect(t, "POST /workers", `{"url":"http://new.local:8000/","worker_type":"regular","models":["m",{"id":"n"}],"weight":4,"labels":{"zone":"a"},"priority":50,"health":{}}`,
		202, `"ignored":["health","priority"]`)
	if got := res.Header.Get("Location"); got != "/workers/new.local:8000" {
		t.Errorf("Location %q", got)
	}
	r.expect(t, "GET "+res.Header.Get("Location"), "", 200, `"models":["m","n"]`)
	r.expect(t, "POST /workers", `{"url":"http://NEW.local:8000"}`, 409, codeConflict)
	r.expect(t, "POST /workers", `{"url":"http://127.0.0.1:9","model_id":"bge"}`, 202, `"worker_id":"127.0.0.1:9"`)
	r.expect(t, "POST /workers", `{"url":"http://127.0.0.1:10","pool":"embed"}`, 202, "job-3")
	if got := strings.Join(r.fleet.calls, ";"); got != "add chat http://new.local:8000;add embed http://127.0.0.1:9;add embed http://127.0.0.1:10" {
		t.Errorf("fleet saw %q", got)
	}
}

func TestRegistrationsThatAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	f := func(body string, status int, part string) {
		t.Helper()
		r.expect(t, "POST /workers", body, status, part)
	}
	f(`{"url":"http://169.254.169.254/latest"}`, 400, "not allowed")
	f(`{"url":"http://[::ffff:169.254.169.254]"}`, 400, "not allowed")
	f(`{"url":"http://metadata.local"}`, 400, "not allowed")
	f(`{"url":"http://8.8.8.8"}`, 400, "no allowed range")
	f(`{"url":"file:///etc/passwd"}`, 400, "scheme")
	f(`{"url":""}`, 400, "scheme")
	f(`{}`, 400, "url is missing")
	f(`[]`, 400, "not a worker")
	f(`null`, 400, "not a JSON object")
	f(`{"url":1}`, 400, "not a worker")
	f(`{"url":"http://127.0.0.1:1","worker_type":"prefill"}`, 400, "regular")
	f(`{"url":"http://127.0.0.1:1","api_key":"k"}`, 400, "secret")
	f(`{"url":"http://127.0.0.1:1","connection_mode":{"type":"grpc"}}`, 400, "gRPC")
	f(`{"url":"http://127.0.0.1:1","weight":0}`, 400, "weight")
	f(`{"url":"http://127.0.0.1:1","dp_size":0}`, 400, "dp_size")
	f(`{"url":"http://127.0.0.1:1","max_concurrency":-1}`, 400, "max_concurrency")
	f(`{"url":"http://127.0.0.1:1","pool":"none"}`, 404, "no pool")
	if len(r.fleet.calls) != 0 {
		t.Errorf("the fleet was changed: %v", r.fleet.calls)
	}
	r.fleet.pools[0].Default = false
	f(`{"url":"http://127.0.0.1:1"}`, 400, "say which pool: chat, embed")
	r.fleet.fail = errors.New("disk full")
	f(`{"url":"http://127.0.0.1:1","pool":"chat"}`, 500, "disk full")
}

func TestListFiltersByModel(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	f := func(query string, want ...string) {
		t.Helper()
		var got workerList
		res := r.do(t, "GET /workers"+query, "")
		if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
			t.Fatal(err)
		}
		ids := []string{}
		for _, w := range got.Workers {
			ids = append(ids, w.ID)
		}
		if !slices.Equal(ids, want) || got.Total != len(want) || got.Stats.ByType["regular"] != len(want) {
			t.Errorf("GET /workers%s: %v, total %d", query, ids, got.Total)
		}
	}
	f("", "a:8000", "b:8000/base", "c:30000")
	f("?model=llama", "a:8000", "b:8000/base")
	f("?model=bge-m3", "c:30000")
	f("?model=none", []string{}...)
}

func TestOneWorker(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	r.expect(t, "GET /workers/b:8000%2Fbase", "", 200, `"is_healthy":true,"status":"ready","load":5`)
	r.expect(t, "GET /workers/http:%2F%2Fb:8000%2Fbase", "", 200, `"id":"b:8000/base"`)
	r.expect(t, "GET /workers/none", "", 404, codeNotFound)
	r.expect(t, "GET /workers/a:8000?pool=embed", "", 404, codeNotFound)

	r.expect(t, "PATCH /workers/a:8000", `{"weight":7}`, 202, "updated")
	seven := 7
	if want := (Change{Weight: &seven}); !reflect.DeepEqual(r.fleet.change, want) {
		t.Errorf("PATCH changed %+v", r.fleet.change)
	}
	r.expect(t, "PUT /workers/a:8000", `{"url":"http://A:8000/","labels":{"x":"y"}}`, 202, "updated")
	if c := r.fleet.change; c.Weight == nil || *c.Weight != 1 || c.Models == nil || c.Labels == nil || (*c.Labels)["x"] != "y" || *c.MaxConcurrency != 0 {
		t.Errorf("PUT changed %+v", c)
	}
	r.expect(t, "PUT /workers/a:8000", `{"url":"http://other:8000"}`, 400, "cannot change")
	r.expect(t, "PATCH /workers/a:8000", `{"url":"http://other:8000"}`, 400, "cannot change")
	r.expect(t, "PATCH /workers/a:8000", `{"pool":"embed"}`, 400, "cannot change")
	r.expect(t, "PATCH /workers/none", `{}`, 404, codeNotFound)

	r.expect(t, "DELETE /workers/a:8000", "", 202, "accepted")
	if last := r.fleet.calls[len(r.fleet.calls)-1]; last != "remove chat a:8000" {
		t.Errorf("fleet saw %q", last)
	}
	r.fleet.fail = ErrNoReplica
	r.expect(t, "DELETE /workers/a:8000", "", 404, "no such replica")
	r.expect(t, "PATCH /workers/a:8000", `{}`, 404, "no such replica")
}

func TestOldStyle(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	r.expect(t, "POST /add_worker?url=http://127.0.0.1:8001", "", 200, "Added worker: http://127.0.0.1:8001")
	r.expect(t, "POST /add_worker?url=http%3A%2F%2F127.0.0.1%3A8001%2F", "", 409, codeConflict)
	r.expect(t, "POST /add_worker", "", 400, "scheme")
	r.expect(t, "POST /add_worker?url=http://169.254.169.254", "", 400, "not allowed")
	r.expect(t, "GET /list_workers", "", 200, `{"urls":["http://a:8000","http://b:8000/base","http://127.0.0.1:8001","http://c:30000"]}`)
	r.expect(t, "POST /remove_worker?url=http://127.0.0.1:8001/", "", 200, "Removed worker")
	r.expect(t, "POST /remove_worker?url=http://127.0.0.1:9", "", 404, codeNotFound)
	r.expect(t, "POST /remove_worker", "", 400, "missing")
}

func TestFlushTellsEveryEngineItsOwnWay(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	r.expect(t, "POST /flush_cache", "", 502, `{"worker":"http://a:8000","error":"connection refused"}`)
	r.fleet.pools[0].Replicas = r.fleet.pools[0].Replicas[1:]
	r.expect(t, "POST /flush_cache", "", 200, `"status":"success","total_workers":2`)
	r.fleet.pools[0].Engine = "trtllm"
	r.expect(t, "POST /flush_cache", "", 502, "no way to flush")
}

func TestSharedRoutes(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	r.expect(t, "GET /get_loads", "", 200, `{"worker":"http://b:8000/base","load":5,"tokens":70,"running":0,"waiting":0}`)
	r.expect(t, "GET /liveness", "", 200, "OK")
	r.expect(t, "GET /readiness", "", 200, `{"status":"ready","healthy_workers":2}`)
	r.expect(t, "GET /health", "", 200, "OK")
	r.expect(t, "GET /get_model_info", "", 200, `{"model_path":"llama"}`)
	r.expect(t, "GET /get_server_info", "", 502, codeUpstream)

	r.ready = errors.New("draining")
	r.expect(t, "GET /health", "", 503, "draining")
	r.expect(t, "GET /readiness", "", 503, `"reason":"draining"`)
	r.ready = nil
	r.fleet.pools = nil
	r.expect(t, "GET /readiness", "", 503, "no healthy workers")
	r.expect(t, "GET /get_model_info", "", 503, codeUnavailable)
}

func TestIsWorkerAPIAgreesWithTheTable(t *testing.T) {
	t.Parallel()
	api, err := NewWorkerAPI(WorkerDeps{Fleet: newFleet(), Engines: fakeEngines{}, Ready: func() (bool, string) { return true, "" }, Addresses: &AddressPolicy{}, Resolver: &fakeResolver{}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	paths := maps.Clone(api.paths)
	paths["/workers/x"], paths["/workers/x%2Fy"] = api.one, api.one
	for path, m := range paths {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
			if got, want := IsWorkerAPI(method, path), m.find(method) != nil; got != want {
				t.Errorf("IsWorkerAPI(%s %s) = %v, want %v", method, path, got, want)
			}
		}
	}
	for path := range workerPaths {
		if api.paths[path] == nil {
			t.Errorf("%s is claimed but not served", path)
		}
	}
	for _, path := range []string{"/", "/v1/models", "/workersx", "/workers/", "/metrics"} {
		if IsWorkerAPI("GET", path) {
			t.Errorf("IsWorkerAPI claims %s", path)
		}
	}
}

// Whatever the body, parsing ends in a worker within its bounds or a refusal
// of the client.
func FuzzParseSpec(f *testing.F) {
	f.Add([]byte(`{"url":"http://a","models":["m",{"id":"n"}],"labels":{"a":"b"},"weight":2}`))
	f.Add([]byte(`{"connection_mode":"grpc"}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, body []byte) {
		s, e := parseSpec(body)
		if e != nil {
			if e.Status != 400 {
				t.Fatalf("status %d", e.Status)
			}
			return
		}
		w := s.worker("http://a")
		if w.Weight < 1 || w.Weight > 1000 || w.Ranks < 1 || w.MaxConcurrency < 0 {
			t.Fatalf("worker out of bounds: %+v", w)
		}
	})
}

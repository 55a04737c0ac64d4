package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"penstock/configs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeFleet holds pools in memory.
type fakeFleet struct {
	mu     sync.Mutex // guards the rest
	pools  []Pool
	change Change // the last Update
	calls  []string
	fail   error // returned by every change
}

var _ Fleet = (*fakeFleet)(nil)

func newFleet() *fakeFleet {
	return &fakeFleet{pools: []Pool{
		{Name: "chat", Engine: "vllm", Policy: "session", Models: []string{"llama"}, Default: true, Replicas: []Replica{
			{ID: "a:8000", URL: "http://a:8000", State: "down", Weight: 1, Ranks: 1, InFlight: 2, Running: -1, Waiting: -1},
			{ID: "b:8000/base", URL: "http://b:8000/base", State: "ready", Healthy: true, Weight: 3, Ranks: 1, InFlight: 5, Tokens: 70},
		}},
		{Name: "embed", Engine: "sglang", Models: []string{"bge"}, Replicas: []Replica{
			{ID: "c:30000", URL: "http://c:30000", State: "ready", Healthy: true, Weight: 1, Ranks: 1, Models: []string{"bge-m3"}},
		}},
	}}
}

func (f *fakeFleet) Snapshot() []Pool {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := slices.Clone(f.pools)
	for i := range out {
		out[i].Replicas = slices.Clone(out[i].Replicas)
	}
	return out
}

func (f *fakeFleet) note(call string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, call)
	return f.fail
}

func (f *fakeFleet) Add(_ context.Context, pool string, w Worker) (string, error) {
	if err := f.note("add " + pool + " " + w.URL); err != nil {
		return "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	id := strings.TrimPrefix(w.URL, "http://")
	i := slices.IndexFunc(f.pools, func(p Pool) bool { return p.Name == pool })
	f.pools[i].Replicas = append(f.pools[i].Replicas, Replica{ID: id, URL: w.URL, State: "pending", Registered: true, Weight: w.Weight, Ranks: w.Ranks, Models: w.Models, Labels: w.Labels})
	return id, nil
}

func (f *fakeFleet) Update(_ context.Context, pool, id string, c Change) error {
	err := f.note("update " + pool + " " + id)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.change = c
	return err
}

func (f *fakeFleet) Remove(_ context.Context, pool, id string) error {
	return f.note("remove " + pool + " " + id)
}
func (f *fakeFleet) Drain(pool, id string) error   { return f.note("drain " + pool + " " + id) }
func (f *fakeFleet) Undrain(pool, id string) error { return f.note("undrain " + pool + " " + id) }

// fakeEngines answers from a table keyed "METHOD id path".
type fakeEngines map[string]Answer

func (f fakeEngines) Call(_ context.Context, _, id, method, path string) (Answer, error) {
	a, ok := f[method+" "+id+" "+path]
	if !ok {
		return Answer{}, errors.New("connection refused")
	}
	return a, nil
}

// fakeResolver answers from a table; a name that is asked again moves on to its
// next set, as a rebinding name does.
type fakeResolver struct {
	mu    sync.Mutex // guards names
	names map[string][][]string
}

func (f *fakeResolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	sets, ok := f.names[host]
	if !ok {
		return nil, errors.New("no such host")
	}
	if len(sets) > 1 {
		f.names[host] = sets[1:]
	}
	var out []netip.Addr
	for _, s := range sets[0] {
		out = append(out, netip.MustParseAddr(s))
	}
	return out, nil
}

// rig is a server with everything faked.
type rig struct {
	fleet   *fakeFleet
	ready   error
	reload  error
	level   slog.LevelVar
	handler http.Handler
}

func newRig(t *testing.T, token string) *rig {
	t.Helper()
	r := &rig{fleet: newFleet()}
	ready := func() (bool, string) {
		if r.ready != nil {
			return false, r.ready.Error()
		}
		return true, ""
	}
	policy, err := NewAddressPolicy(nil)
	if err != nil {
		t.Fatal(err)
	}
	workers, err := NewWorkerAPI(WorkerDeps{
		Fleet: r.fleet,
		Engines: fakeEngines{
			"POST b:8000/base /reset_prefix_cache": {Status: 200},
			"POST c:30000 /flush_cache":            {Status: 200},
			"GET b:8000/base /get_model_info":      {Status: 200, ContentType: "application/json", Body: []byte(`{"model_path":"llama"}`)},
		},
		Ready: ready, Addresses: policy,
		Resolver: &fakeResolver{names: map[string][][]string{"new.local": {{"10.0.0.7"}}, "metadata.local": {{"169.254.169.254"}}}},
		Log:      slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	r.handler, err = New(Deps{
		Ready: ready, Fleet: r.fleet, Workers: workers, LogLevel: &r.level,
		Metrics:   http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "penstock_up 1\n") }),
		Reload:    func(context.Context) error { return r.reload },
		Effective: func() []byte { return []byte("listen: {}\n") },
		Token:     configs.NewSecret(token), Pprof: true, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// do sends one request; head is "METHOD path" and may end in header lines.
func (r *rig) do(t *testing.T, head, body string) *http.Response {
	t.Helper()
	lines := strings.Split(head, "\n")
	method, target, _ := strings.Cut(lines[0], " ")
	req := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	rec := httptest.NewRecorder()
	r.handler.ServeHTTP(rec, req)
	return rec.Result()
}

// expect sends a request and compares status and, as a part, body.
func (r *rig) expect(t *testing.T, head, body string, status int, part string) *http.Response {
	t.Helper()
	res := r.do(t, head, body)
	got, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != status || !strings.Contains(string(got), part) {
		t.Errorf("%s: %d %q, want %d with %q", head, res.StatusCode, got, status, part)
	}
	if res.StatusCode >= 400 && strings.HasPrefix(cmp.Or(res.Header.Get("Content-Type"), "none"), "application/json") && !json.Valid(got) {
		t.Errorf("%s: the error is not JSON: %q", head, got)
	}
	return res
}

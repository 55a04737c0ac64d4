package health

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"penstock/configs"
	"penstock/pools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is an engine whose answers a test writes.
type fake struct {
	*httptest.Server
	mu     sync.Mutex // guards the two below
	routes map[string]string
	asked  []string
	auth   atomic.Pointer[string]
}

func newFake(t *testing.T, routes map[string]string) *fake {
	t.Helper()
	f := &fake{routes: routes}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		body, ok := f.routes[r.URL.Path]
		f.asked = append(f.asked, r.URL.Path)
		f.mu.Unlock()
		auth := r.Header.Get("Authorization")
		f.auth.Store(&auth)
		switch {
		case !ok:
			w.WriteHeader(http.StatusNotFound)
		case body == "503":
			w.WriteHeader(http.StatusServiceUnavailable)
		case body == "401":
			w.WriteHeader(http.StatusUnauthorized)
		case body == "redirect":
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		default:
			_, _ = w.Write([]byte(body))
		}
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) set(path, body string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.routes[path] = body
}

func (f *fake) wasAsked(path string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.asked, path)
}

// start runs a prober over the replicas until the test ends.
func start(t *testing.T, change func(*configs.Pool), urls ...string) *pools.Set {
	t.Helper()
	cfg := configs.Pool{Engine: configs.EngineAuto, Health: configs.Health{
		Fall: 2, Rise: 2, Interval: configs.Duration(10 * time.Millisecond), Timeout: configs.Duration(5 * time.Second),
	}}
	for _, u := range urls {
		cfg.Replicas = append(cfg.Replicas, configs.Replica{URL: u})
	}
	if change != nil {
		change(&cfg)
	}
	set, err := pools.New("p", cfg, pools.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		New(set, Options{}).Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done; set.Close() })
	return set
}

// await waits until the pool's first replica satisfies f. It asks again at
// short intervals because what an engine is shows in no view.
func await(t *testing.T, set *pools.Set, what string, f func(pools.Status) bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(5 * time.Second)
	defer limit.Stop()
	for {
		s := set.Snapshot()
		if len(s) > 0 && f(s[0]) {
			return
		}
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("never came to pass: %s; last %+v", what, s)
		}
	}
}

func inState(state string) func(pools.Status) bool {
	return func(s pools.Status) bool { return s.State == state }
}

func TestReplicaGoesDownAndComesBack(t *testing.T) {
	t.Parallel()
	f := newFake(t, map[string]string{"/health": ""})
	set := start(t, nil, f.URL)
	await(t, set, "ready", inState("ready"))
	f.set("/health", "503")
	await(t, set, "down", func(s pools.Status) bool { return s.State == "down" && s.Detail == "status 503" })
	f.set("/health", "")
	await(t, set, "ready again", inState("ready"))
}

func TestRefusedConnectionIsDown(t *testing.T) {
	t.Parallel()
	f := newFake(t, nil)
	f.Close()
	await(t, start(t, nil, f.URL), "down", inState("down"))
}

func TestSilentEngineIsDown(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(release); s.Close() })
	set := start(t, func(c *configs.Pool) { c.Health.Timeout = configs.Duration(20 * time.Millisecond) }, s.URL)
	await(t, set, "down", func(s pools.Status) bool { return s.State == "down" && s.Detail == "no answer within 20ms" })
}

func TestRedirectIsNotHealth(t *testing.T) {
	t.Parallel()
	f := newFake(t, map[string]string{"/health": "redirect", "/elsewhere": ""})
	await(t, start(t, nil, f.URL), "down", func(s pools.Status) bool { return s.State == "down" && s.Detail == "status 302" })
	if f.wasAsked("/elsewhere") {
		t.Error("the redirect was followed")
	}
}

func TestServerWithoutHealthIsAskedForItsModels(t *testing.T) {
	t.Parallel()
	for name, models := range map[string]string{"open": `{"data":[{"id":"m"}]}`, "guarded": "401"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, map[string]string{"/v1/models": models})
			await(t, start(t, nil, f.URL), "ready", inState("ready"))
		})
	}
}

func TestHealthURLAndBasePathAndSecret(t *testing.T) {
	t.Parallel()
	f := newFake(t, map[string]string{"/base/health": "", "/base/v1/models": `{"data":[{"id":"m"}]}`})
	set := start(t, func(c *configs.Pool) { c.Secret = configs.NewSecret("s3cret") }, f.URL+"/base")
	await(t, set, "ready", inState("ready"))
	if got := *f.auth.Load(); got != "Bearer s3cret" {
		t.Errorf("authorization %q", got)
	}

	other := newFake(t, map[string]string{"/alive": ""})
	engine := newFake(t, map[string]string{})
	set = start(t, func(c *configs.Pool) {
		c.Secret = configs.NewSecret("s3cret")
		c.Replicas[0].HealthURL = other.URL + "/alive"
	}, engine.URL)
	await(t, set, "ready", inState("ready"))
	if got := *other.auth.Load(); got != "" {
		t.Errorf("another host was sent the engine's secret: %q", got)
	}
}

func TestEngineIsToldByItsAnswers(t *testing.T) {
	t.Parallel()
	for want, routes := range map[configs.Engine]map[string]string{
		configs.EngineVLLM:   {"/v1/models": `{"data":[{"id":"m","owned_by":"vllm","max_model_len":4096},{"id":"lora","owned_by":"vllm"}]}`},
		configs.EngineSGLang: {"/v1/models": `{"data":[{"id":"m","owned_by":"sglang"}]}`},
		configs.EngineTRTLLM: {"/v1/models": `{"data":[{"id":"m","owned_by":"tensorrt_llm"}]}`, "/version": `{"version":"1"}`},
		configs.EngineOpenAI: {"/v1/models": `{"data":[{"id":"m","owned_by":"me"}]}`},
	} {
		t.Run(string(want), func(t *testing.T) {
			t.Parallel()
			routes["/health"] = ""
			f := newFake(t, routes)
			await(t, start(t, nil, f.URL), "found", func(s pools.Status) bool {
				return s.Engine == want && slices.Contains(s.Models, "m") && (want != configs.EngineVLLM || (s.MaxModelLen == 4096 && len(s.Models) == 2))
			})
		})
	}
	for want, routes := range map[configs.Engine]map[string]string{ // with the models guarded
		configs.EngineVLLM:   {"/v1/models": "401", "/version": `{"version":"0.29"}`},
		configs.EngineSGLang: {"/v1/models": "401", "/get_server_info": `{"internal_states":[]}`},
		configs.EngineTRTLLM: {"/v1/models": "401", "/server_info": `{"kv_cache_hash_algo":"v1"}`, "/version": `{"version":"1"}`},
	} {
		t.Run("guarded "+string(want), func(t *testing.T) {
			t.Parallel()
			routes["/health"] = ""
			f := newFake(t, routes)
			await(t, start(t, nil, f.URL), "found", func(s pools.Status) bool { return s.Engine == want })
		})
	}
}

func TestProbesFollowMembership(t *testing.T) {
	t.Parallel()
	a, b := newFake(t, map[string]string{"/health": ""}), newFake(t, map[string]string{"/health": ""})
	set := start(t, nil, a.URL)
	await(t, set, "ready", inState("ready"))
	if err := set.Add(pools.Replica{ID: "b", URL: b.URL}); err != nil {
		t.Fatal(err)
	}
	if _, err := set.Remove(pools.IDFromURL(a.URL)); err != nil {
		t.Fatal(err)
	}
	await(t, set, "the new one is ready", func(s pools.Status) bool { return s.ID == "b" && s.State == "ready" })
}

func FuzzParseModels(f *testing.F) {
	f.Add([]byte(`{"data":[{"id":"m","owned_by":"vllm","max_model_len":1}]}`))
	f.Add([]byte(`{"data":null}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, body []byte) {
		names, _, _, err := parseModels(body)
		if err != nil && names != nil {
			t.Fatal("names beside an error")
		}
		if len(names) > maxModels {
			t.Fatalf("%d names", len(names))
		}
		for _, n := range names {
			if n == "" || len(n) > maxModelName {
				t.Fatalf("name of %d bytes", len(n))
			}
		}
	})
}

package load

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"penstock/configs"
	"penstock/pools"
	"penstock/pools/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const vllmPage = `# HELP vllm:num_requests_running Number of requests
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a}\"b"} 3.0
vllm:num_requests_running{engine="1",model_name="m"} 4.0
vllm:num_requests_waiting{engine="0",model_name="m"} 2.0 1700000000000
vllm:num_requests_waiting_by_reason{reason="capacity"} 99
vllm:kv_cache_usage_perc{engine="0"} 0.25
vllm:kv_cache_usage_perc{engine="1"} 0.75
vllm:num_requests_waiting{engine="1"} NaN
`

// reading of one round against a server with the given routes.
func readOnce(t *testing.T, kind configs.Engine, change func(*configs.Pool), routes map[string]string) (pools.Status, error) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := routes[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte(body))
	}))
	defer srv.Close()
	cfg := configs.Pool{Engine: kind, Replicas: []configs.Replica{{ID: "r", URL: srv.URL}}, Load: configs.Load{Timeout: configs.Duration(10 * time.Second)}}
	if change != nil {
		change(&cfg)
	}
	set, err := pools.New("p", cfg, pools.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	client := engine.NewClient(engine.Options{})
	defer client.Close()
	m := set.View().Members[0]
	r := &reader{set: set, client: client, id: m.ID, epoch: m.Epoch, now: time.Now}
	err = r.round(context.Background(), &cfg, m.Replica)
	return set.Snapshot()[0], err
}

func TestReadingsByEngine(t *testing.T) {
	t.Parallel()
	trtllm := func(c *configs.Pool) { c.Load.TRTLLMMetrics = true }
	for name, c := range map[string]struct {
		kind             configs.Engine
		change           func(*configs.Pool)
		routes           map[string]string
		running, waiting int
		usage            float64
	}{
		"vllm sums over its engines": {configs.EngineVLLM, nil, map[string]string{"/metrics": vllmPage}, 7, 2, 0.5},
		"sglang by loads": {configs.EngineSGLang, nil, map[string]string{
			"/v1/loads": `{"loads":[{"dp_rank":0,"num_running_reqs":3,"num_waiting_reqs":1,"token_usage":0.2},{"dp_rank":1,"num_running_reqs":2,"num_waiting_reqs":0,"token_usage":0.4}]}`,
		}, 5, 1, 0.3},
		"older sglang by text": {configs.EngineSGLang, nil, map[string]string{
			"/metrics": "sglang:num_running_reqs{tp_rank=\"0\"} 4\nsglang:num_queue_reqs 6\nsglang:token_usage 0.5\n",
		}, 4, 6, 0.5},
		"trtllm by its Prometheus page": {configs.EngineTRTLLM, nil, map[string]string{
			"/prometheus/metrics": "trtllm_num_requests_running 1\ntrtllm_num_requests_waiting 2\ntrtllm_kv_cache_utilization 0.1\n",
			"/metrics":            "must not be read",
		}, 1, 2, 0.1},
		"trtllm by iterations when allowed": {configs.EngineTRTLLM, trtllm, map[string]string{
			"/metrics": `[{"numActiveRequests":9},{"numActiveRequests":2,"numQueuedRequests":3,"kvCacheStats":{"usedNumBlocks":5,"maxNumBlocks":10}}]`,
		}, 2, 3, 0.5},
		"llama.cpp": {configs.EngineOpenAI, nil, map[string]string{
			"/metrics": "llamacpp:requests_processing 2\nllamacpp:requests_deferred 1",
		}, 2, 1, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := readOnce(t, c.kind, c.change, c.routes)
			if err != nil {
				t.Fatal(err)
			}
			if s.Running != c.running || s.Waiting != c.waiting || s.KVUsage-c.usage > 1e-9 || c.usage-s.KVUsage > 1e-9 {
				t.Fatalf("running %d, waiting %d, usage %v; want %d, %d, %v", s.Running, s.Waiting, s.KVUsage, c.running, c.waiting, c.usage)
			}
		})
	}
}

func TestFailedReadingIsUnknownAndNotUnhealthy(t *testing.T) {
	t.Parallel()
	for name, routes := range map[string]map[string]string{
		"no route":       {},
		"nothing useful": {"/metrics": "up 1\n"},
	} {
		s, err := readOnce(t, configs.EngineVLLM, nil, routes)
		if err == nil || s.Running != -1 || s.Waiting != -1 || s.KVUsage != -1 || s.State != "pending" {
			t.Errorf("%s: %v, %+v", name, err, s)
		}
	}
	if s, err := readOnce(t, configs.EngineAuto, nil, map[string]string{"/metrics": vllmPage}); err != nil || s.Running != -1 {
		t.Errorf("an engine of unknown kind was read: %v, %+v", err, s)
	}
}

func TestIdleTRTLLMKeepsItsLastReading(t *testing.T) {
	t.Parallel()
	pages := []string{`[]`, `[{"numActiveRequests":4,"numQueuedRequests":0}]`, `[]`}
	var n atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(pages[n.Add(1)-1]))
	}))
	defer srv.Close()
	cfg := configs.Pool{
		Engine: configs.EngineTRTLLM, Replicas: []configs.Replica{{ID: "r", URL: srv.URL}},
		Load: configs.Load{TRTLLMMetrics: true, Timeout: configs.Duration(10 * time.Second)},
	}
	set, err := pools.New("p", cfg, pools.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	client := engine.NewClient(engine.Options{})
	defer client.Close()
	m := set.View().Members[0]
	r := &reader{set: set, client: client, id: m.ID, epoch: m.Epoch, now: time.Now}
	for i, want := range []int{-1, 4, 4} {
		_ = r.round(context.Background(), &cfg, m.Replica)
		if got := set.Snapshot()[0].Running; got != want {
			t.Fatalf("round %d: running %d, want %d", i, got, want)
		}
	}
}

func TestScraperRunsAndEnds(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 100)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(vllmPage))
		select {
		case asked <- struct{}{}:
		default:
		}
	}))
	defer srv.Close()
	set, err := pools.New("p", configs.Pool{Engine: configs.EngineVLLM, Replicas: []configs.Replica{{URL: srv.URL}}}, pools.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		New(set, Options{}).Run(ctx)
	}()
	<-asked
	cancel()
	<-done
}

func TestLabelsAndBrokenLines(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]int{
		`vllm:num_requests_running 5`:                   5,
		"  vllm:num_requests_running\t5\r":              5,
		`vllm:num_requests_running{a="x y",b="}"} 5 17`: 5,
		`vllm:num_requests_running{a="\\"} 5`:           5,
		`vllm:num_requests_running{a="unfinished 5`:     -1,
		`vllm:num_requests_running`:                     -1,
		`vllm:num_requests_running{} x`:                 -1,
		`vllm:num_requests_running -5`:                  -1,
		`vllm:num_requests_running_total 5`:             -1,
		`#vllm:num_requests_running 5`:                  -1,
		`vllm:num_requests_running 1e300`:               1e6,
	} {
		l, _ := (&reader{now: time.Now}).loadOf(scanText([]byte(line)))
		if l.Running != want {
			t.Errorf("%q: %d, want %d", line, l.Running, want)
		}
	}
}

// Appending a line that has no gauge in it changes nothing, and no page makes
// the scan panic or give a negative or unbounded load.
func FuzzScanText(f *testing.F) {
	f.Add([]byte(vllmPage))
	f.Add([]byte("vllm:num_requests_running{"))
	f.Add([]byte("sglang:token_usage 0x1p-2\n"))
	f.Fuzz(func(t *testing.T, page []byte) {
		s := scanText(page)
		if again := scanText([]byte(string(page) + "\n# comment\nup 1\n")); again != s {
			t.Fatalf("a comment changed the sums: %+v, %+v", s, again)
		}
		l, err := (&reader{now: time.Now}).loadOf(s)
		if err == nil && (l.Running < -1 || l.Waiting < -1 || l.Running > 1e6 || l.KVUsage > 1 || (l.KVUsage < 0 && l.KVUsage != -1)) {
			t.Fatalf("load %+v", l)
		}
		if n := strings.Count(string(page), "\n") + 1; s.count[gaugeRunning] > n {
			t.Fatal("more series than lines")
		}
	})
}

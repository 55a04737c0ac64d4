package proxy

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestStoredResponseStaysWithItsReplica(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	// Each replica knows only the responses that it made.
	store := func() string {
		var mu sync.Mutex
		known := map[string]bool{}
		return engine(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if id, ok := strings.CutPrefix(r.URL.Path, "/v1/responses/"); ok {
				if !known[strings.TrimSuffix(id, "/cancel")] {
					w.WriteHeader(http.StatusNotFound)
				}
				_, _ = io.WriteString(w, id)
				return
			}
			b, _ := io.ReadAll(r.Body)
			var req struct {
				Previous string `json:"previous_response_id"`
				Stream   bool
			}
			_ = json.Unmarshal(b, &req)
			if req.Previous != "" && !known[req.Previous] {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			id := fmt.Sprintf("resp_%d", n.Add(1))
			known[id] = true
			if req.Stream {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = fmt.Fprintf(w, "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":%q}}\n\n"+
					"event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":%q}}\n\n", id, id)
				return
			}
			_, _ = fmt.Fprintf(w, `{"id":%q,"object":"response"}`, id)
		})
	}
	g := startGateway(t, poolYAML("  policy: round_robin\n", store(), store(), store()))
	for _, stream := range []bool{false, true} {
		id := ""
		for range 5 {
			r := g.post("/v1/responses", fmt.Sprintf(`{"model":"m","input":"x","stream":%v,"previous_response_id":%q}`, stream, id))
			if r.status != 200 || r.err != nil {
				t.Fatalf("stream=%v previous=%q: %+v", stream, id, r)
			}
			if id = responseIDIn([]byte(r.body)); id == "" {
				t.Fatalf("no id in %q", r.body)
			}
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, g.url+"/v1/responses/"+id, http.NoBody)
			if r := g.do(req); r.status != 200 || r.body != id {
				t.Fatalf("%+v", r)
			}
		}
	}
	// What this gateway never saw is found by asking.
	g.server.sessions = newSessions(10, 0, g.server.now)
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, g.url+"/v1/responses/resp_1", http.NoBody)
	if r := g.do(req); r.status != 200 {
		t.Fatalf("%+v", r)
	}
	req, _ = http.NewRequestWithContext(t.Context(), http.MethodGet, g.url+"/v1/responses/resp_none", http.NoBody)
	if r := g.do(req); r.status != 404 {
		t.Fatalf("%+v", r)
	}
}

func modelsEngine(t *testing.T, calls *atomic.Int64, up *atomic.Bool, ids ...string) string {
	t.Helper()
	return engine(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		if !up.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		var b strings.Builder
		for i, id := range ids {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"id":%q,"object":"model","extra":[1.0]}`, id)
		}
		_, _ = fmt.Fprintf(w, `{"object":"list","data":[%s]}`, b.String())
	})
}

func TestModelsAreMergedAndOutliveTheirEngines(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	var up atomic.Bool
	up.Store(true)
	g := startGateway(t, fmt.Sprintf(`
limits: {models_cache_ttl: 1h}
pools:
- {name: a, default: true, engine: openai, models: [{id: m, aliases: [alias]}], health: {disabled: true}, load: {disabled: true}, replicas: [{url: %q}]}
- {name: b, engine: openai, models: [{id: n}], health: {disabled: true}, load: {disabled: true}, replicas: [{url: %q}]}
`, modelsEngine(t, &calls, &up, "m"), modelsEngine(t, &calls, &up, "n")))
	get := func() reply {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, g.url+"/v1/models", http.NoBody)
		return g.do(req)
	}
	r := get()
	for _, want := range []string{`{"id":"m","object":"model","extra":[1.0]}`, `{"id":"n"`, `"id":"alias"`} {
		if !strings.Contains(r.body, want) {
			t.Fatalf("no %s in %s", want, r.body)
		}
	}
	if get(); calls.Load() != 2 {
		t.Fatalf("%d calls: not cached", calls.Load())
	}
	up.Store(false)
	list := g.server.state.Load().models
	list.mu.Lock()
	list.at = list.at.AddDate(-1, 0, 0)
	list.mu.Unlock()
	if r := get(); r.status != 200 || !strings.Contains(r.body, `"id":"m"`) {
		t.Fatalf("%+v", r)
	}
}

func TestModelsOfTheOnlyPoolAreKeptToo(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	var up atomic.Bool
	up.Store(true)
	g := startGateway(t, strings.Replace(poolYAML("", modelsEngine(t, &calls, &up, "m")), ", aliases: [alias]", "", 1))
	get := func() reply {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, g.url+"/v1/models", http.NoBody)
		return g.do(req)
	}
	fresh := get()
	if fresh.status != 200 || !strings.Contains(fresh.body, `"extra":[1.0]`) {
		t.Fatalf("%+v", fresh)
	}
	for i := range g.fleet.Pools()[0].View().Members {
		if err := g.fleet.Pools()[0].Drain(g.fleet.Pools()[0].View().Members[i].ID); err != nil {
			t.Fatal(err)
		}
	}
	if r := get(); r.status != 200 || r.body != fresh.body {
		t.Fatalf("%+v", r)
	}
}

func TestRankIsPinnedForReplicasThatHaveSeveral(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]int{}
	url := engine(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		defer mu.Unlock()
		seen[strings.Join(r.Header.Values("X-Data-Parallel-Rank"), ",")]++
		_, _ = io.WriteString(w, "{}")
	})
	start := func(policy string) *gateway {
		text := poolYAML("  policy: "+policy+"\n", url)
		return startGateway(t, strings.Replace(text, "{id: r0,", "{id: r0, ranks: 4,", 1))
	}
	ranks := func() string {
		mu.Lock()
		defer mu.Unlock()
		defer clear(seen)
		return fmt.Sprint(seen)
	}
	g := start("round_robin")
	for range 8 {
		g.post("/v1/chat/completions", chat, "X-Data-Parallel-Rank", "9")
	}
	if got := ranks(); got != "map[0:2 1:2 2:2 3:2]" {
		t.Fatalf("in turn: %s", got)
	}
	g = start("session")
	for range 8 {
		g.post("/v1/chat/completions", chat, "X-Session-Id", "s")
	}
	if got := ranks(); !strings.HasSuffix(got, ":8]") {
		t.Fatalf("by session: %s", got)
	}
}

func TestUsageIsAskedForAndTakenOutAgain(t *testing.T) {
	t.Parallel()
	var got box[string]
	const content = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n"
	g := startGateway(t, "usage: {audit: inject}\n"+poolYAML("", engine(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got.set(string(b))
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, content+
			"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n")
	})))
	r := g.post("/v1/chat/completions", `{"model":"m","stream":true,"messages":[]}`)
	if r.err != nil || r.body != content+"data: [DONE]\n\n" {
		t.Fatalf("%+v", r)
	}
	if !strings.Contains(got.get(), `"include_usage":true`) {
		t.Fatal(got.get())
	}
	eventually(t, "logged", func() bool {
		return strings.Contains(g.access.String(), `"prompt_tokens":7`) && strings.Contains(g.access.String(), `"usage_estimated":false`)
	})
}

func TestUsageThatIsNotReportedIsEstimated(t *testing.T) {
	t.Parallel()
	g := startGateway(t, poolYAML("", engine(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 3 {
			_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n")
		}
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	})))
	g.post("/v1/chat/completions", `{"model":"m","stream":true,"messages":[]}`)
	eventually(t, "logged", func() bool {
		return strings.Contains(g.access.String(), `"completion_tokens":3`) && strings.Contains(g.access.String(), `"usage_estimated":true`)
	})
}

func TestReloadSwapsAllOrNothing(t *testing.T) {
	t.Parallel()
	name := func(s string) string {
		return engine(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, s)
		})
	}
	a, b := name("a"), name("b")
	g := startGateway(t, poolYAML("", a))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if r := g.post("/v1/chat/completions", chat); r.status != 200 {
					t.Errorf("during reloads: %+v", r)
					return
				}
			}
		})
	}
	for i := range 20 {
		url := a
		if i%2 == 0 {
			url = b
		}
		next := parse(t, poolYAML("", url))
		if err := g.fleet.Apply(next.Pools); err != nil {
			t.Fatal(err)
		}
		if err := g.server.Apply(next); err != nil {
			t.Fatal(err)
		}
	}
	bad := parse(t, poolYAML("", a))
	bad.Pools[0].TLS.CAFile = "/nonexistent.pem"
	if err := g.server.Apply(bad); err == nil {
		t.Fatal("a missing CA file was accepted")
	}
	close(stop)
	wg.Wait()
	if r := g.post("/v1/chat/completions", chat); r.body != "a" {
		t.Fatalf("%+v", r)
	}
}

func TestFailedReloadLeavesTheFleetAlone(t *testing.T) {
	t.Parallel()
	url := engine(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "{}") })
	g := startGateway(t, poolYAML("", url))
	before := g.fleet.Pools()[0]
	bad := parse(t, strings.Replace(poolYAML("", url), "name: main", "name: renamed", 1))
	bad.Pools[0].TLS.CAFile = "/nonexistent.pem"
	if err := g.server.Apply(bad); err == nil {
		t.Fatal("a missing CA file was accepted")
	}
	if r := g.post("/v1/chat/completions", chat); r.status != 200 || g.fleet.Pools()[0] != before {
		t.Fatalf("%+v", r)
	}
	if err := g.server.Apply(parse(t, strings.Replace(poolYAML("", url), "name: main", "name: renamed", 1))); err != nil {
		t.Fatal(err)
	}
	if r := g.post("/v1/chat/completions", chat); r.status != 200 {
		t.Fatalf("%+v", r)
	}
}

func TestInventedModelsGetNoLabel(t *testing.T) {
	t.Parallel()
	text := strings.Replace(poolYAML("", engine(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(b), `"model":"m"`) {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, "{}")
	})), "models: [{id: m, aliases: [alias]}]", "models: []", 1)
	g := startGateway(t, "limits: {max_metric_models: 2}\n"+text)
	for i := range 5 {
		g.post("/v1/chat/completions", fmt.Sprintf(`{"model":"invented-%d","messages":[]}`, i))
	}
	g.post("/v1/chat/completions", chat)
	families, err := g.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var labels []string
	for _, f := range families {
		if f.GetName() != "penstock_tokens_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "model" {
					labels = append(labels, l.GetValue())
				}
			}
		}
	}
	if all := strings.Join(labels, " "); strings.Contains(all, "invented") || !strings.Contains(all, "m") {
		t.Fatalf("labels: %s", all)
	}
}

func TestStreamOfARemovedReplicaIsCutWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	g := startGateway(t, poolYAML("  drain_timeout: 20ms\n", engine(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})))
	var wg sync.WaitGroup
	wg.Go(func() {
		r := g.post("/v1/chat/completions", `{"model":"m","stream":true,"messages":[]}`)
		if r.err == nil || !strings.Contains(r.body, codeRemoved) {
			t.Errorf("%+v", r)
		}
	})
	eventually(t, "streaming", func() bool { return g.server.relay.Active() == 1 })
	if _, err := g.fleet.Pools()[0].Remove("r0"); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
}

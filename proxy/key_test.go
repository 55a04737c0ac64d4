package proxy

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"penstock/routing/chattemplate"
	"penstock/routing/keying"
	"penstock/routing/keys"
	"penstock/routing/tokenizer"
)

// tiny is a byte-level tokenizer of 269 tokens with a BOS.
const tiny = "../routing/keying/testdata/tiny"

// countingEngine answers completions with usage, and /tokenize, by the tiny tokenizer.
type countingEngine struct {
	url   string
	model *tokenizer.Model
	chats *chattemplate.Renderer
	extra box[int]    // prompt tokens told beyond those there are
	body  box[string] // of the last completion
	mute  box[bool]   // it does not tokenize
}

func newCountingEngine(t *testing.T) *countingEngine {
	t.Helper()
	m, err := keying.Load(tiny, 16)
	if err != nil {
		t.Fatal(err)
	}
	e := &countingEngine{model: m}
	files, _, err := keying.Sources(tiny, "")
	if err == nil {
		e.chats, err = chattemplate.New(files, chattemplate.Profile{})
	}
	if err != nil {
		t.Fatal(err)
	}
	e.url = engine(t, e.serve)
	return e
}

func (e *countingEngine) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var q struct {
		Prompt   string          `json:"prompt"`
		Messages json.RawMessage `json:"messages"`
		Special  *bool           `json:"add_special_tokens"`
		Stream   bool            `json:"stream"`
	}
	if json.Unmarshal(body, &q) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	p := &chattemplate.Prompt{Parts: []chattemplate.Part{{Text: []byte(q.Prompt), AddSpecial: q.Special == nil || *q.Special}}}
	if q.Messages != nil {
		p = e.chats.NewWorker().Render(&chattemplate.Request{Kind: chattemplate.KindChat, Body: body})
	}
	ids, _ := keys.AppendIDs(nil, e.model.NewEncoder(), p)
	switch {
	case r.URL.Path == "/tokenize" && !e.mute.get():
		_ = json.NewEncoder(w).Encode(map[string]any{"tokens": ids})
		return
	case r.URL.Path != "/v1/completions":
		w.WriteHeader(http.StatusNotFound)
		return
	}
	e.body.set(string(body))
	usage := fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":1}`, len(ids)+e.extra.get())
	if !q.Stream {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"c","choices":[{"text":"x","finish_reason":"stop"}],"usage":`+usage+`}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, `data: {"id":"c","choices":[{"text":"x","finish_reason":"stop"}]}`+"\n\n"+
		`data: {"id":"c","choices":[],"usage":`+usage+"}\n\ndata: [DONE]\n\n")
}

// startKeyed is a gateway whose pool has the tiny tokenizer.
func startKeyed(t *testing.T, settings, more string, urls ...string) (*gateway, *keying.Source) {
	t.Helper()
	var manager *keying.Manager
	text := strings.Replace(more+poolYAML("  tokenizer: {"+settings+"}\n", urls...), "engine: openai", "engine: vllm", 1)
	g := startGatewayWith(t, text, func(g *gateway, d *Deps) {
		var err error
		manager, err = keying.New(keying.Deps{Log: slog.New(slog.DiscardHandler), Metrics: g.registry})
		if err != nil {
			t.Fatal(err)
		}
		d.Keys = manager
	})
	var wg sync.WaitGroup
	wg.Go(func() { manager.Run(t.Context()) })
	t.Cleanup(wg.Wait)
	return g, manager.Find(g.fleet.Pool("main"))
}

func completion(prompt string) string { return `{"model":"m","prompt":"` + prompt + `"}` }

func TestPromptIsCountedAsTheEngineCounts(t *testing.T) {
	t.Parallel()
	e := newCountingEngine(t)
	g, source := startKeyed(t, "budget: 0, path: "+tiny, "", e.url)
	eventually(t, "parity", func() bool { return source.Status().Parity == keying.ParityPassed })
	body := completion("hello the water")
	if r := g.post("/v1/completions", body); r.status != 200 || e.body.get() != body {
		t.Fatalf("%+v, the engine got %q", r, e.body.get())
	}
	if r := g.post("/v1/completions", `{"stream":true,`+body[1:]); r.status != 200 {
		t.Fatalf("%+v", r)
	}
	eventually(t, "two lines", func() bool { return strings.Count(g.access.String(), "\n") == 2 })
	for line := range strings.Lines(g.access.String()) {
		if !strings.Contains(line, `"prompt_tokens":6,"key_source":"exact","keyed_tokens":6`) {
			t.Errorf("%s", line)
		}
	}
	if n := g.counter("penstock_tokenizer_comparisons_total", "usage", "equal"); n != 2 {
		t.Errorf("%v equal counts", n)
	}
}

func TestUsageThatDiffersTakesTheTokenizerOut(t *testing.T) {
	t.Parallel()
	e := newCountingEngine(t)
	e.mute.set(true)
	g, source := startKeyed(t, "budget: 0, path: "+tiny, "", e.url)
	eventually(t, "a verdict", func() bool { return source.Status().Parity == keying.ParityUnsupported })
	e.extra.set(1)
	for i := range 15 {
		if r := g.post("/v1/completions", completion("hello the water"+strings.Repeat(" x", i))); r.status != 200 {
			t.Fatalf("%+v", r)
		}
	}
	eventually(t, "degraded", func() bool { return source.Status().State == keying.StateDegraded })
	if r := g.post("/v1/completions", completion(strings.Repeat("hello the water ", 20))); r.status != 200 {
		t.Fatalf("%+v", r)
	}
	eventually(t, "keys over text", func() bool { return g.counter("penstock_keying_total", "bytes", "degraded") >= 1 })
}

// TestClientsCannotTakeTheTokenizerOut: usage that differs has the engines asked, and
// what they say counts.
func TestClientsCannotTakeTheTokenizerOut(t *testing.T) {
	t.Parallel()
	e := newCountingEngine(t)
	g, source := startKeyed(t, "budget: 0, path: "+tiny, "", e.url)
	eventually(t, "parity", func() bool { return source.Status().Parity == keying.ParityPassed })
	e.extra.set(1)
	asked := func() float64 { return g.counter("penstock_tokenizer_comparisons_total", "parity", "equal") }
	before := asked()
	for i := range 30 {
		if r := g.post("/v1/completions", completion("hello the water"+strings.Repeat(" x", i))); r.status != 200 {
			t.Fatalf("%+v", r)
		}
	}
	eventually(t, "a fresh comparison", func() bool { return asked() > before })
	if s := source.Status(); s.State != keying.StateReady {
		t.Errorf("%+v", s)
	}
}

func TestTokenizerThatCannotBeUsedFailsNoRequest(t *testing.T) {
	t.Parallel()
	e := newCountingEngine(t)
	g, source := startKeyed(t, "path: "+t.TempDir(), "", e.url)
	eventually(t, "refused", func() bool { return source.Status().State == keying.StateRefused })
	for _, body := range []string{completion("hello"), `{"model":"m","prompt":[1,2,3]}`, `{"model":"m"}`, `{"model":"m","prompt":{"a":[]}}`, `{"model":"m","messages":1}`} {
		for _, path := range []string{"/v1/completions", "/v1/chat/completions", "/v1/responses", "/v1/messages", "/generate", "/inference/v1/generate"} {
			if r := g.post(path, body); r.status >= 500 {
				t.Errorf("%s %s: %d", path, body, r.status)
			}
		}
	}
	if n := g.counter("penstock_panics_total"); n != 0 {
		t.Errorf("%v panics", n)
	}
}

func TestReloadSwitchesKeysOnAndOff(t *testing.T) {
	t.Parallel()
	e := newCountingEngine(t)
	g, source := startKeyed(t, "", "", e.url)
	if source.Active() {
		t.Fatal("keys without a tokenizer")
	}
	apply := func(settings string) {
		t.Helper()
		text := strings.Replace(poolYAML("  tokenizer: {"+settings+"}\n", e.url), "engine: openai", "engine: vllm", 1)
		if err := g.server.Apply(parse(t, text)); err != nil {
			t.Fatal(err)
		}
	}
	apply("budget: 0, path: " + tiny)
	eventually(t, "a tokenizer", func() bool { return source.Status().State == keying.StateReady })
	g.post("/v1/completions", completion("hello the water"))
	apply("")
	g.post("/v1/completions", completion("hello the water"))
	eventually(t, "two lines", func() bool { return strings.Count(g.access.String(), "\n") == 2 })
	if a := g.access.String(); strings.Count(a, `"key_source":"exact"`) != 1 || strings.Count(a, `"key_source":"none"`) != 1 {
		t.Error(a)
	}
}

func TestAdaptersShareTheTokenizerAndNotTheKeys(t *testing.T) {
	t.Parallel()
	be := &backend{bases: map[string]string{"lora": "m"}}
	be.cfg.Models = parse(t, poolYAML("", "http://a")).Pools[0].Models
	f := func(name, model, adapter string) {
		t.Helper()
		if m, a := be.base(name); m != model || a != adapter {
			t.Errorf("%q: %q, %q", name, m, a)
		}
	}
	f("m", "m", "")
	f("lora", "m", "lora")
	f("", "m", "")
	f("other", "other", "")
}

func TestKeyingAllocatesNothingWhenWarm(t *testing.T) {
	g, source := startKeyed(t, "budget: 0, path: "+tiny+", parity: off", "log: {access: false}\n", rawEngine(t))
	eventually(t, "a tokenizer", func() bool { return source.Status().State == keying.StateReady })
	c := g.raw("")
	body := completion(strings.Repeat("hello the water ", 30))
	request := []byte(strings.Replace(rawPost("1.1", "", body), "/v1/chat/completions", "/v1/completions", 1))
	buf := make([]byte, 4096)
	const requests = 500
	run := func() {
		for range requests {
			if err := exchangeRaw(c, request, buf); err != nil {
				t.Fatal(err)
			}
		}
	}
	run() // warm
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	n := float64(after.Mallocs-before.Mallocs) / requests
	t.Logf("%.1f allocations per request", n)
	// The race detector empties pools at random, and a worker is several objects.
	if n > allocationBudget*raceSlack*raceSlack {
		t.Errorf("%.1f allocations per request, want at most %d", n, allocationBudget*raceSlack*raceSlack)
	}
	if g.counter("penstock_keying_total", "exact", "ok") < 2*requests {
		t.Error("prompts were not keyed")
	}
}

// counter is the value of a counter with these label values.
func (g *gateway) counter(name string, labels ...string) float64 {
	g.t.Helper()
	families, err := g.registry.Gather()
	if err != nil {
		g.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
	metrics:
		for _, m := range f.GetMetric() {
			got := map[string]bool{}
			for _, l := range m.GetLabel() {
				got[l.GetValue()] = true
			}
			for _, want := range labels {
				if !got[want] {
					continue metrics
				}
			}
			return m.GetCounter().GetValue()
		}
	}
	return 0
}

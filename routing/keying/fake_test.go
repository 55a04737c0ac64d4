package keying

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"penstock/configs"
	"penstock/pools"
	"penstock/routing/chattemplate"
	"penstock/routing/keys"
	"penstock/routing/tokenizer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeFiles is a tokenizer whose ids are the bytes of the text, and a template that
// writes role and content of each message.
type fakeFiles struct {
	mu    sync.Mutex
	loads int
	built int
	shift uint32 // added to each id: another vocabulary
	fail  error
	wait  chan struct{} // vocabulary blocks on it, nil: does not
	// unknown is the reason that chats are not rendered for.
	unknown chattemplate.Reason
	onKey   func()
	onLoad  func()
	// onRender is called with the bound of the memory.
	onRender      func(memory int)
	encoder       string // "" template
	failTemplates error
	renders       int
}

func (f *fakeFiles) set(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

func (f *fakeFiles) vocabulary(path string, _ int) (*vocabulary, error) {
	f.mu.Lock()
	f.loads++
	shift, fail, wait, on := f.shift, f.fail, f.wait, f.onLoad
	f.mu.Unlock()
	if on != nil {
		on()
	}
	if wait != nil {
		<-wait
	}
	if fail != nil {
		return nil, fail
	}
	v := &vocabulary{info: tokenizer.Info{Kind: "fake", Family: path, Vocabulary: 256}}
	v.ids = func(p *chattemplate.Prompt) ([]uint32, error) { return fakeIDs(p, shift), nil }
	v.index = func(o keys.Options) (*index, error) {
		seen := map[string]bool{}
		var mu sync.Mutex
		return &index{
			memo: func() (int, int64) { mu.Lock(); defer mu.Unlock(); return len(seen), int64(len(seen)) },
			worker: func(expired func() bool) keyer {
				return &fakeKeyer{f: f, size: o.BlockSize, shift: shift, expired: expired, known: func(text string) bool {
					mu.Lock()
					defer mu.Unlock()
					was := seen[text]
					seen[text] = true
					return was
				}}
			},
		}, nil
	}
	return v, nil
}

func fakeIDs(p *chattemplate.Prompt, shift uint32) []uint32 {
	var ids []uint32
	for _, part := range p.Parts {
		if part.AddSpecial {
			ids = append(ids, 1000)
		}
		for _, c := range part.Text {
			ids = append(ids, uint32(c)+shift)
		}
		ids = append(ids, part.IDs...)
	}
	return ids
}

type fakeKeyer struct {
	f       *fakeFiles
	size    int
	shift   uint32
	expired func() bool
	known   func(string) bool
}

func (k *fakeKeyer) Key(p *chattemplate.Prompt, namespace uint64, dst *keys.Keys) error {
	k.f.mu.Lock()
	on := k.f.onKey
	k.f.mu.Unlock()
	if on != nil {
		on()
	}
	if k.expired() {
		return tokenizer.ErrExpired
	}
	keys.FromTokens(fakeIDs(p, k.shift), k.size, namespace, dst)
	if k.known(string(p.Parts[0].Text)) {
		dst.KnownTokens, dst.NewTokens = dst.Tokens, 0
	}
	return nil
}

func (f *fakeFiles) sources(string, string) (chattemplate.Sources, []byte, error) {
	return chattemplate.Sources{}, nil, nil
}

func (f *fakeFiles) templates(_ chattemplate.Sources, p *chattemplate.Profile) (*templates, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.built++
	version := p.Version
	encoder := f.encoder
	if encoder == "" {
		encoder = "template"
	}
	if f.failTemplates != nil {
		return nil, f.failTemplates
	}
	return &templates{encoder: encoder, worker: func(expired func() bool) renderer {
		return &fakeRenderer{f: f, version: version, expired: expired}
	}}, nil
}

type fakeRenderer struct {
	f       *fakeFiles
	version string
	expired func() bool
	memory  int
}

func (r *fakeRenderer) Bound(memory int) { r.memory = memory }

type fakeBody struct {
	Prompt   json.RawMessage `json:"prompt"`
	Salt     string          `json:"cache_salt"`
	Special  *bool           `json:"add_special_tokens"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
}

func (r *fakeRenderer) Render(q *chattemplate.Request) *chattemplate.Prompt {
	var b fakeBody
	if err := json.Unmarshal(q.Body, &b); err != nil {
		return &chattemplate.Prompt{Reason: chattemplate.ReasonBadJSON}
	}
	r.f.mu.Lock()
	unknown, on := r.f.unknown, r.f.onRender
	r.f.renders++
	r.f.mu.Unlock()
	if on != nil {
		on(r.memory)
	}
	if r.expired != nil && r.expired() {
		return &chattemplate.Prompt{Reason: chattemplate.ReasonBudget}
	}
	p := &chattemplate.Prompt{Status: chattemplate.Exact, Prompts: 1, Salt: []byte(b.Salt)}
	switch {
	case q.Kind == chattemplate.KindChat && unknown != "":
		return &chattemplate.Prompt{Reason: unknown, Salt: p.Salt}
	case q.Kind == chattemplate.KindChat:
		p.Parts = []chattemplate.Part{{Text: []byte(fakeChat(&b))}}
	case len(b.Prompt) > 0 && b.Prompt[0] == '[':
		var ids []uint32
		if err := json.Unmarshal(b.Prompt, &ids); err != nil {
			return &chattemplate.Prompt{Reason: chattemplate.ReasonBadRequest}
		}
		p.Parts = []chattemplate.Part{{IDs: ids}}
	default:
		var text string
		_ = json.Unmarshal(b.Prompt, &text)
		p.Parts = []chattemplate.Part{{Text: []byte(text), AddSpecial: true}}
	}
	return p
}

func fakeChat(b *fakeBody) string {
	var s strings.Builder
	for _, m := range b.Messages {
		s.WriteString("<" + m.Role + ">" + string(m.Content))
	}
	return s.String()
}

// fakeEngine answers like vLLM with the fake tokenizer.
type fakeEngine struct {
	*httptest.Server
	mu      sync.Mutex
	shift   uint32
	status  int             // of every answer; 0: 200
	lacks   map[string]bool // routes
	asked   map[string]int
	version string
	hold    chan struct{} // answers wait for it
	// chatShift is added to ids of chats that /tokenize is asked about.
	chatShift  uint32
	lacksModel bool // 404 of status is about the model
	texts      map[string][]string
}

// bodies are the questions that came to a path.
func (e *fakeEngine) bodies(path string) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.texts[path])
}

func newFakeEngine(t *testing.T) *fakeEngine {
	t.Helper()
	e := &fakeEngine{asked: map[string]int{}, lacks: map[string]bool{}, texts: map[string][]string{}, version: "0.32.0"}
	e.Server = httptest.NewServer(e)
	t.Cleanup(e.Close)
	return e
}

func (e *fakeEngine) set(do func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	do()
}

func (e *fakeEngine) count(path string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.asked[path]
}

func (e *fakeEngine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	e.mu.Lock()
	e.asked[r.URL.Path]++
	if len(body) > 0 {
		e.texts[r.URL.Path] = append(e.texts[r.URL.Path], string(body))
	}
	shift, status, lacks, hold, version := e.shift, e.status, e.lacks[r.URL.Path], e.hold, e.version
	chatShift, lacksModel := e.chatShift, e.lacksModel
	e.mu.Unlock()
	if hold != nil && r.Method == http.MethodPost {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}
	switch {
	case lacks:
		w.WriteHeader(http.StatusNotFound)
	case status != 0:
		w.WriteHeader(status)
		if lacksModel {
			_, _ = io.WriteString(w, `{"error":{"type":"NotFoundError","code":404}}`)
		}
	case r.URL.Path == "/version":
		_ = json.NewEncoder(w).Encode(map[string]string{"version": version})
	default:
		var b fakeBody
		if json.Unmarshal(body, &b) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		p := &chattemplate.Prompt{}
		if b.Messages != nil {
			if r.URL.Path == pathTokenize {
				shift += chatShift
			}
			p.Parts = []chattemplate.Part{{Text: []byte(fakeChat(&b))}}
		} else {
			var text string
			_ = json.Unmarshal(b.Prompt, &text)
			p.Parts = []chattemplate.Part{{Text: []byte(text), AddSpecial: b.Special == nil || *b.Special}}
		}
		name := "tokens"
		if strings.HasSuffix(r.URL.Path, "/render") {
			name = "token_ids"
		}
		_ = json.NewEncoder(w).Encode(map[string]any{name: fakeIDs(p, shift)})
	}
}

// clock is a time that tests move.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.t }
func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// bench is a manager with one pool.
type bench struct {
	t        *testing.T
	set      *pools.Set
	cfg      configs.Pool
	manager  *Manager
	source   *Source
	files    *fakeFiles
	clock    *clock
	registry *prometheus.Registry
	expire   chan time.Time // what Deps.After returns
}

func start(t *testing.T, change func(*configs.Pool), engines ...*fakeEngine) *bench {
	t.Helper()
	cfg := configs.DefaultPool()
	cfg.Engine, cfg.Health.Disabled = configs.EngineVLLM, true
	cfg.Tokenizer.Path, cfg.Tokenizer.BlockSize = "fake", 4
	for i, e := range engines {
		cfg.Replicas = append(cfg.Replicas, configs.Replica{ID: string(rune('a' + i)), URL: e.URL, Weight: 1, Ranks: 1})
	}
	if change != nil {
		change(&cfg)
	}
	set, err := pools.New("p", cfg, pools.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{
		t: t, set: set, cfg: cfg, files: &fakeFiles{}, clock: &clock{t: time.Unix(1e9, 0)},
		registry: prometheus.NewRegistry(), expire: make(chan time.Time, 1),
	}
	b.manager, err = New(Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: b.registry, Now: b.clock.now, files: b.files,
		After: func(time.Duration) <-chan time.Time { return b.expire },
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// run starts the manager and waits for the state.
func (b *bench) run(state State) {
	b.t.Helper()
	b.source = b.manager.Source(b.set, &b.cfg)
	var wg sync.WaitGroup
	wg.Go(func() { b.manager.Run(b.t.Context()) })
	b.t.Cleanup(func() { wg.Wait(); b.set.Close() })
	b.await(state)
}

func (b *bench) await(state State) {
	b.t.Helper()
	b.eventually("state "+state.String(), func() bool { return b.source.Status().State == state })
}

func (b *bench) eventually(what string, ok func() bool) {
	b.t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			b.t.Fatalf("never happened: %s; status %+v", what, b.source.Status())
		case <-tick.C:
		}
	}
}

// reload applies new settings.
func (b *bench) reload(change func(*configs.Pool)) {
	change(&b.cfg)
	b.manager.Source(b.set, &b.cfg)
}

func chat(content string) *Request {
	body := `{"model":"m","messages":[{"role":"user","content":"` + content + `"}]}`
	return &Request{Kind: chattemplate.KindChat, Model: "m", Body: []byte(body), Prompt: []byte(body[24 : len(body)-1])}
}

func (b *bench) key(q *Request) *Result {
	r := &Result{}
	b.source.Key(q, r)
	return r
}

func (b *bench) expect(q *Request, origin Origin, reason Reason) *Result {
	b.t.Helper()
	r := b.key(q)
	if r.Origin != origin || r.Reason != reason {
		b.t.Errorf("got %v, %q; want %v, %q", r.Origin, r.Reason, origin, reason)
	}
	return r
}

// metric is the value of a counter or gauge with these label values.
func (b *bench) metric(name string, labels ...string) float64 {
	b.t.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		b.t.Fatal(err)
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
			return m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return 0
}

var errBroken = errors.New("no such family")

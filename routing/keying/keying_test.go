package keying

import (
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"penstock/configs"
	"penstock/routing/chattemplate"
	"penstock/routing/keys"
)

func TestKeysAreThoseOfTheTokens(t *testing.T) {
	t.Parallel()
	b := start(t, nil, newFakeEngine(t))
	b.run(StateReady)
	q := chat("hello there")
	r := b.expect(q, OriginExact, ReasonOK)
	var want keys.Keys
	ids := fakeIDs(&chattemplate.Prompt{Parts: []chattemplate.Part{{Text: []byte(`<user>"hello there"`)}}}, 0)
	keys.FromTokens(ids, 4, keys.Namespace("m", "", ""), &want)
	if r.Tokens != len(ids) || !slices.Equal(r.Blocks, want.Blocks) || !r.Comparable {
		t.Errorf("got %+v, want %+v", r, want)
	}
	b.expect(q, OriginMemo, ReasonOK)
	if b.metric("penstock_keying_total", "p", "memo", "ok") != 1 {
		t.Error("the memo's prompt was not counted")
	}
}

func TestNamespacesKeepModelsAndSaltsApart(t *testing.T) {
	t.Parallel()
	b := start(t, nil, newFakeEngine(t))
	b.run(StateReady)
	plain := b.key(chat("hello there"))
	adapter := chat("hello there")
	adapter.Adapter = "lora"
	salted := chat("hello there")
	salted.Body = []byte(strings.Replace(string(salted.Body), `{"model"`, `{"cache_salt":"s","model"`, 1))
	for name, q := range map[string]*Request{"adapter": adapter, "salt": salted} {
		if r := b.key(q); r.Namespace == plain.Namespace || r.Blocks[0] == plain.Blocks[0] {
			t.Errorf("%s: same keys", name)
		}
	}
}

func TestIDsNeedNoTokenizer(t *testing.T) {
	t.Parallel()
	b := start(t, func(p *configs.Pool) { p.Tokenizer.Path, p.Tokenizer.Text = "", configs.SwitchOn }, newFakeEngine(t))
	b.run(StateOff)
	b.eventually("templates", func() bool {
		q := &Request{Kind: chattemplate.KindCompletions, Body: []byte(`{"prompt":[1,2,3,4,5,6,7,8]}`)}
		r := b.key(q)
		return r.Origin == OriginExact && r.Tokens == 8 && len(r.Blocks) == 2
	})
	if r := b.expect(chat("0123456789abcdef"), OriginBytes, ReasonAbsent); len(r.Blocks) == 0 {
		t.Error("no keys over text")
	}
}

func TestNothingIsDoneUnlessAsked(t *testing.T) {
	t.Parallel()
	b := start(t, func(p *configs.Pool) { p.Tokenizer = configs.DefaultTokenizer() }, newFakeEngine(t))
	b.run(StateOff)
	if r := b.key(chat("hello")); r.Origin != OriginNone || r.Reason != "" || b.source.Active() {
		t.Errorf("got %+v", r)
	}
	if n := b.metric("penstock_keying_total"); n != 0 {
		t.Errorf("%v prompts counted", n)
	}
}

func TestTextServesWhileLoading(t *testing.T) {
	t.Parallel()
	b := start(t, nil, newFakeEngine(t))
	b.files.wait = make(chan struct{})
	b.run(StateLoading)
	first := b.expect(chat("hello there, gate"), OriginBytes, ReasonLoading)
	again := b.expect(chat("hello there, gate and turbine"), OriginBytes, ReasonLoading)
	if len(first.Blocks) < 2 || first.Blocks[0] != again.Blocks[0] || first.Comparable {
		t.Errorf("%+v and %+v", first, again)
	}
	tools := chat("hello there, gate")
	tools.Tools = []byte(`[{}]`)
	if r := b.key(tools); r.Blocks[0] == first.Blocks[0] {
		t.Error("other tools, same keys")
	}
	close(b.files.wait)
	b.await(StateReady)
	b.expect(chat("hello there, gate"), OriginExact, ReasonOK)
}

func TestRefusedTokenizerIsToldAndPassedBy(t *testing.T) {
	t.Parallel()
	b := start(t, nil, newFakeEngine(t))
	b.files.fail = errBroken
	b.run(StateRefused)
	if s := b.source.Status(); s.Detail != errBroken.Error() || s.Reason != string(ReasonRefused) {
		t.Errorf("%+v", s)
	}
	b.expect(chat("hello there, gate"), OriginBytes, ReasonRefused)
	if b.metric("penstock_tokenizer_state", "p", "refused") != 1 {
		t.Error("no metric")
	}
	// New settings are another chance.
	b.files.set(func() { b.files.fail = nil })
	b.reload(func(p *configs.Pool) { p.Tokenizer.Unicode = 14 })
	b.await(StateReady)
}

func TestBudgetEndsInRoutingByLoad(t *testing.T) {
	t.Parallel()
	b := start(t, nil, newFakeEngine(t))
	b.run(StateReady)
	b.files.set(func() { b.files.onKey = func() { b.clock.add(time.Second) } })
	r := b.expect(chat("hello there"), OriginNone, ReasonBudget)
	if len(r.Blocks) != 0 || r.Tokens != 0 || r.Comparable {
		t.Errorf("%+v", r)
	}
	b.files.set(func() { b.files.onKey = nil })
	b.expect(chat("hello there"), OriginExact, ReasonOK) // the worker's next user has a budget of its own
}

// TestBudgetIsForAllOfIt: a prompt that waited for its seat has that much less time.
func TestBudgetIsForAllOfIt(t *testing.T) {
	t.Parallel()
	b := start(t, func(p *configs.Pool) { p.Tokenizer.Parity = configs.ParityOff }, newFakeEngine(t))
	b.run(StateReady)
	half := b.cfg.Tokenizer.Budget.D() * 6 / 10
	b.files.set(func() {
		b.files.onRender = func(int) { b.clock.add(half) }
		b.files.onKey = func() { b.clock.add(half) }
	})
	b.expect(chat("hello there"), OriginNone, ReasonBudget)
	b.files.set(func() { b.files.onKey = nil })
	b.expect(chat("hello there"), OriginExact, ReasonOK)
	b.files.set(func() { b.files.onRender = func(int) { b.clock.add(2 * half) } })
	b.expect(chat("hello there"), OriginNone, ReasonBudget) // the renderer asks too
}

func TestBudgetOfZeroEndsToo(t *testing.T) {
	t.Parallel()
	b := start(t, func(p *configs.Pool) { p.Tokenizer.Budget = 0 }, newFakeEngine(t))
	b.run(StateReady)
	b.files.set(func() { b.files.onKey = func() { b.clock.add(longestBudget) } })
	b.expect(chat("hello there"), OriginNone, ReasonBudget)
	b.files.set(func() { b.files.onKey = nil })
	stock := b.source.serving.Load().stock
	for range cap(stock.seats) {
		stock.seats <- struct{}{}
	}
	b.expire <- time.Time{}
	b.expect(chat("hello there"), OriginNone, ReasonBudget) // and without a seat
}

func TestWorkingMemoryIsBounded(t *testing.T) {
	t.Parallel()
	b := start(t, func(p *configs.Pool) { p.Tokenizer.Parity = configs.ParityOff }, newFakeEngine(t))
	b.run(StateReady)
	var got atomic.Int64
	b.files.set(func() { b.files.onRender = func(memory int) { got.Store(int64(memory)) } })
	q := chat("hello there")
	b.key(q)
	if want := int64(4*len(q.Body) + 16<<20); got.Load() != want {
		t.Errorf("%d bytes, want %d", got.Load(), want)
	}
	stock := b.source.serving.Load().stock
	if cap(stock.seats) > maxSeats {
		t.Errorf("%d seats", cap(stock.seats))
	}
	for range cap(stock.large) {
		stock.large <- struct{}{}
	}
	b.expire <- time.Time{}
	b.expect(chat(strings.Repeat("x", largeBody)), OriginNone, ReasonBudget)
	b.expect(q, OriginMemo, ReasonOK)
	cfg := configs.DefaultTokenizer()
	if n := maxRendered(&cfg); n > int(cfg.MaxPrompt)*3/2 {
		t.Errorf("%d bytes of a prompt", n)
	}
}

// TestRefusedFilesAreReadAgain: they may have been on their way to the disk.
func TestRefusedFilesAreReadAgain(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*fakeFiles, error){
		"vocabulary": func(f *fakeFiles, err error) { f.fail = err },
		"templates":  func(f *fakeFiles, err error) { f.failTemplates = err },
	} {
		b := start(t, nil, newFakeEngine(t))
		fail(b.files, errBroken)
		b.run(StateRefused)
		read := func() int { b.files.mu.Lock(); defer b.files.mu.Unlock(); return b.files.loads }
		before := read()
		b.source.signal()
		b.eventually("nothing", func() bool { return len(b.source.wake) == 0 })
		if n := read(); n != before {
			t.Errorf("%s: read %d times more at once", name, n-before)
		}
		b.reload(func(*configs.Pool) {}) // the same settings
		b.eventually("an attempt", func() bool { return read() > before })
		b.eventually("a time", func() bool { return b.source.untilRetry() > firstRetry })
		b.files.set(func() { fail(b.files, nil) })
		b.clock.add(3 * firstRetry)
		b.source.signal()
		b.await(StateReady)
		b.expect(chat("hello there"), OriginExact, ReasonOK)
	}
}

func TestNothingIsRenderedForNobody(t *testing.T) {
	t.Parallel()
	b := start(t, func(p *configs.Pool) {
		p.Tokenizer.Text, p.Tokenizer.Remote, p.Tokenizer.Parity = configs.SwitchOff, configs.RemoteOff, configs.ParityStrict
	})
	b.run(StateReady)
	b.expect(chat("hello there"), OriginNone, ReasonUnproven)
	b.files.mu.Lock()
	renders := b.files.renders
	b.files.mu.Unlock()
	if renders != 0 {
		t.Errorf("%d prompts rendered", renders)
	}
	b.expect(&Request{Kind: chattemplate.KindCompletions, Body: []byte(`{"prompt":[1,2,3,4]}`)}, OriginExact, ReasonOK)
}

func TestPanicsCostOnlyTheKeys(t *testing.T) {
	t.Parallel()
	b := start(t, nil, newFakeEngine(t))
	b.run(StateReady)
	b.files.set(func() { b.files.onKey = func() { panic("BUG: a test") } })
	for range 3 {
		b.expect(chat("hello there"), OriginNone, ReasonPanic)
	}
	b.files.set(func() { b.files.onKey = nil })
	b.expect(chat("hello there"), OriginExact, ReasonOK)
	b.files.set(func() { b.files.onLoad = func() { panic("BUG: a test") } })
	b.reload(func(p *configs.Pool) { p.Tokenizer.Path = "other" })
	b.await(StateRefused)
	if d := b.source.Status().Detail; !strings.Contains(d, "fault in the gateway (string)") {
		t.Error(d)
	}
}

// TestPanicsDoNotQuoteThePrompt: their values may.
func TestPanicsDoNotQuoteThePrompt(t *testing.T) {
	t.Parallel()
	b := start(t, func(p *configs.Pool) { p.Tokenizer.Parity = configs.ParityOff }, newFakeEngine(t))
	var text strings.Builder
	b.manager.deps.Log = slog.New(slog.NewTextHandler(&text, nil))
	b.run(StateReady)
	b.files.set(func() { b.files.onKey = func() { panic("cannot read a secret prompt") } })
	b.expect(chat("hello there"), OriginNone, ReasonPanic)
	if got := text.String(); strings.Contains(got, "secret prompt") || !strings.Contains(got, "panic=string") || len(got) > 2*maxStack {
		t.Errorf("logged %q", got)
	}
}

func TestWorkersInUseAreBounded(t *testing.T) {
	t.Parallel()
	// Without comparisons nothing is learnt, and the workers stay the same ones.
	b := start(t, func(p *configs.Pool) { p.Tokenizer.Parity = configs.ParityOff }, newFakeEngine(t))
	b.run(StateReady)
	var used, most atomic.Int64
	hold := make(chan struct{})
	b.files.set(func() {
		b.files.onKey = func() {
			most.Store(max(most.Load(), used.Add(1)))
			<-hold
			used.Add(-1)
		}
	})
	seats := cap(b.source.serving.Load().stock.seats)
	var wg sync.WaitGroup
	for range seats {
		wg.Go(func() { b.key(chat("hello there")) })
	}
	b.eventually("all seats", func() bool { return int(used.Load()) == seats })
	b.expire <- time.Time{}
	b.expect(chat("hello there"), OriginNone, ReasonBudget)
	close(hold)
	wg.Wait()
	if int(most.Load()) > seats {
		t.Errorf("%d workers in use, %d seats", most.Load(), seats)
	}
}

func TestLargeBodiesAreRoutedByLoad(t *testing.T) {
	t.Parallel()
	b := start(t, func(p *configs.Pool) { p.Tokenizer.MaxPrompt = 1 << 10 }, newFakeEngine(t))
	b.run(StateReady)
	b.expect(chat(strings.Repeat("x", 1<<10)), OriginNone, ReasonTooLarge)
}

func TestReloadKeepsWhatDidNotChange(t *testing.T) {
	t.Parallel()
	b := start(t, nil, newFakeEngine(t))
	b.run(StateReady)
	b.eventually("the engine's version", func() bool { return b.source.Status().EngineVersion == "0.32.0" })
	b.key(chat("hello there"))
	loads := func() (int, int) {
		b.files.mu.Lock()
		defer b.files.mu.Unlock()
		return b.files.loads, b.files.built
	}
	read, built := loads()
	b.reload(func(p *configs.Pool) { p.Tokenizer.Budget, p.Tokenizer.Remote = 0, configs.RemoteOff })
	b.eventually("settings", func() bool { return b.source.serving.Load().cfg.Remote == configs.RemoteOff })
	b.expect(chat("hello there"), OriginMemo, ReasonOK)
	b.reload(func(p *configs.Pool) { p.Tokenizer.TemplateKwargs = `{"a": 1}` })
	b.eventually("new templates", func() bool { _, n := loads(); return n > built })
	b.expect(chat("hello there"), OriginMemo, ReasonOK)
	if n, _ := loads(); n != read {
		t.Errorf("the tokenizer was read %d times more", n-read)
	}
	b.reload(func(p *configs.Pool) { p.Tokenizer.BlockSize = 8 })
	b.eventually("a new memo", func() bool { return b.key(chat("hello there")).Origin == OriginExact })
}

func TestOldTokenizerServesUntilTheNewOneIsThere(t *testing.T) {
	t.Parallel()
	b := start(t, nil, newFakeEngine(t))
	b.run(StateReady)
	before := b.expect(chat("hello there"), OriginExact, ReasonOK)
	wait := make(chan struct{})
	b.files.set(func() { b.files.wait, b.files.shift = wait, 7 })
	b.reload(func(p *configs.Pool) { p.Tokenizer.Path, p.Tokenizer.Parity = "other", configs.ParityOff })
	during := b.expect(chat("hello there"), OriginMemo, ReasonOK)
	if !slices.Equal(before.Blocks, during.Blocks) {
		t.Error("other keys before the new tokenizer was read")
	}
	close(wait)
	b.eventually("the new tokenizer", func() bool { return b.source.Status().Info.Family == "other" })
	if after := b.key(chat("hello there")); slices.Equal(before.Blocks, after.Blocks) {
		t.Error("the old keys")
	}
	b.reload(func(p *configs.Pool) { p.Tokenizer = configs.DefaultTokenizer() })
	if b.source.Active() {
		t.Error("keys after the section was taken out")
	}
}

func TestPoolsThatGoEnd(t *testing.T) {
	t.Parallel()
	b := start(t, nil, newFakeEngine(t))
	b.run(StateReady)
	b.expect(chat("hello"), OriginExact, ReasonOK)
	b.manager.Keep(nil)
	if b.manager.Find(b.set) != nil {
		t.Error("still there")
	}
	b.expect(chat("hello there"), OriginExact, ReasonOK) // a request that had it goes on
	for _, name := range []string{"penstock_tokenizer_state", "penstock_keying_total", "penstock_tokenizer_comparisons_total"} {
		if n := b.metric(name, "p"); n != 0 {
			t.Errorf("still in the metrics: %s", name)
		}
	}
}

func TestWarmKeyingDoesNotAllocate(t *testing.T) {
	b := start(t, func(p *configs.Pool) {
		p.Tokenizer.Path, p.Tokenizer.Text, p.Tokenizer.Remote = "", configs.SwitchOn, configs.RemoteOff
	}, newFakeEngine(t))
	b.source = b.manager.Source(b.set, &b.cfg) // not run: keys over text only
	q, r := chat(strings.Repeat("water ", 200)), &Result{}
	b.source.Key(q, r)
	if n := testing.AllocsPerRun(200, func() { b.source.Key(q, r) }); n > 0 && raceSlack == 1 {
		t.Errorf("%v allocations", n)
	}
	if r.Origin != OriginBytes {
		t.Error(r.Origin)
	}
}

func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{"a":1,"b":[1,{"c":"}"}],"d":"\"\\"}`, ` { "x" : null , "y":true}`, `{}`, `[]`, `{"a":`, `{"a":"b`, `{"a" 1}`, ``, `{"a":1e5,"b":-0.1}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m := newMembers(body)
		var names, values []string
		for {
			one, ok := m.next()
			if !ok {
				break
			}
			names, values = append(names, string(one.name)), append(values, string(one.value))
		}
		var doc map[string]json.RawMessage
		if json.Unmarshal(body, &doc) != nil {
			return // only that it ends is promised
		}
		dec := json.NewDecoder(strings.NewReader(string(body)))
		if _, err := dec.Token(); err != nil || doc == nil {
			return
		}
		for i := 0; dec.More(); i++ {
			key, err := dec.Token()
			var value json.RawMessage
			if err != nil || dec.Decode(&value) != nil {
				t.Fatal(err)
			}
			if i >= len(names) || string(value) != values[i] {
				t.Fatalf("member %d of %q: %q, got %q", i, body, value, values)
			}
			var name string
			if json.Unmarshal([]byte(`"`+names[i]+`"`), &name) == nil && name != key {
				t.Fatalf("member %d of %q: name %q, got %q", i, body, key, name)
			}
			if !dec.More() && i+1 != len(names) {
				t.Fatalf("%q has %d members, got %d", body, i+1, len(names))
			}
		}
	})
}

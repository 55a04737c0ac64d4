package keying

import (
	"strings"
	"sync"
	"testing"
	"time"

	"penstock/configs"
	"penstock/routing/chattemplate"
)

// unrendered is a pool whose chats only the engine can render.
func unrendered(t *testing.T, change func(*configs.Pool), e *fakeEngine) *bench {
	t.Helper()
	b := start(t, func(p *configs.Pool) {
		p.Tokenizer.Parity = configs.ParityOff
		if change != nil {
			change(p)
		}
	}, e)
	b.files.unknown = chattemplate.ReasonEncoder
	b.run(StateReady)
	return b
}

func TestEngineIsAskedForTheNextTime(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	b := unrendered(t, nil, e)
	b.expect(chat("hello there, gate"), OriginBytes, chattemplate.ReasonEncoder)
	if n := b.metric("penstock_keying_remote_total", askOnce); n != 1 || e.count(pathRenderChat) != 0 {
		t.Errorf("a prompt that came once: %v, asked %d times", n, e.count(pathRenderChat))
	}
	b.expect(chat("hello there, gate"), OriginBytes, chattemplate.ReasonEncoder)
	b.eventually("an answer", func() bool { return b.metric("penstock_keying_remote_total", askAnswered) == 1 })
	r := b.expect(chat("hello there, gate"), OriginEngine, chattemplate.ReasonEncoder)
	if want := len(`<user>"hello there, gate"`); r.Tokens != want || len(r.Blocks) != want/4 || !r.Comparable {
		t.Errorf("%+v", r)
	}
	// Sampling does not change a prompt, kwargs do.
	q := chat("hello there, gate")
	q.Body = []byte(strings.Replace(string(q.Body), `{"model"`, `{"temperature":1,"stream":true,"model"`, 1))
	b.expect(q, OriginEngine, chattemplate.ReasonEncoder)
	q.Body = []byte(strings.Replace(string(q.Body), `{"temp`, `{"chat_template_kwargs":{"a":1},"temp`, 1))
	b.expect(q, OriginBytes, chattemplate.ReasonEncoder)
	other := chat("hello there, gate")
	other.Adapter = "lora"
	b.expect(other, OriginBytes, chattemplate.ReasonEncoder)
}

func TestTokenizeStandsInForRender(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	e.lacks[pathRenderChat] = true
	b := unrendered(t, nil, e)
	b.key(chat("hello there, gate"))
	b.eventually("an answer", func() bool { return b.key(chat("hello there, gate")).Origin == OriginEngine })
	b.key(chat("another one"))
	b.eventually("an answer", func() bool { return b.key(chat("another one")).Origin == OriginEngine })
	if n := e.count(pathRenderChat); n != 1 {
		t.Errorf("the missing route was asked for %d times", n)
	}
	// What /tokenize would leave out cannot be asked there.
	q := chat("hello there, gate")
	q.Body = []byte(strings.Replace(string(q.Body), `{"model"`, `{"reasoning_effort":"low","model"`, 1))
	b.key(q)
	b.key(q)
	b.eventually("nothing to ask", func() bool { return b.metric("penstock_keying_remote_total", askUnsupported) > 0 })
}

func TestEqualPromptsAreAskedAboutOnce(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	e.hold = make(chan struct{})
	b := unrendered(t, nil, e)
	for range 10 {
		b.expect(chat("hello there, gate"), OriginBytes, chattemplate.ReasonEncoder)
	}
	if n := b.metric("penstock_keying_remote_total", askJoined); n != 8 {
		t.Errorf("%v joined", n)
	}
	close(e.hold)
	b.eventually("an answer", func() bool { return b.key(chat("hello there, gate")).Origin == OriginEngine })
	if n := e.count(pathRenderChat); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

func TestAlwaysWaitsForTheAnswer(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	b := unrendered(t, func(p *configs.Pool) { p.Tokenizer.Remote, p.Tokenizer.Budget = configs.RemoteAlways, 0 }, e)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { b.expect(chat("hello there, gate"), OriginEngine, chattemplate.ReasonEncoder) })
	}
	wg.Wait()
	e.set(func() { e.hold = make(chan struct{}) })
	b.expire <- time.Time{}
	b.expect(chat("an answer that is late"), OriginBytes, chattemplate.ReasonEncoder)
	if b.metric("penstock_keying_remote_total", askLate) != 1 {
		t.Error("not counted")
	}
	close(e.hold)
}

func TestQuestionsAreBounded(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	e.hold = make(chan struct{})
	b := unrendered(t, nil, e)
	for i := range maxJobs + 5 {
		b.key(chat(strings.Repeat("x", i+1)))
		b.key(chat(strings.Repeat("x", i+1)))
	}
	b.key(chat("y"))
	if n := b.metric("penstock_keying_remote_total", askDropped); n != 11 {
		t.Errorf("%v dropped", n)
	}
	close(e.hold)
	b.eventually("all answers", func() bool { return b.metric("penstock_keying_remote_total", askAnswered) == maxJobs })
	large := chat(strings.Repeat("x", maxQuestion))
	b.expect(large, OriginBytes, chattemplate.ReasonEncoder)
}

func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	b := unrendered(t, func(p *configs.Pool) { p.Tokenizer.RemoteCache = 64 << 10 }, newFakeEngine(t))
	text := strings.Repeat("water ", 1000) // 1,500 blocks: 12 KB
	for _, c := range "abcdefgh" {
		q := chat(string(c) + text)
		b.eventually("an answer", func() bool { return b.key(q).Origin == OriginEngine })
		if n := b.source.remote.size(); n > 64<<10 {
			t.Fatalf("%d bytes", n)
		}
	}
	b.expect(chat("a"+text), OriginBytes, chattemplate.ReasonEncoder)
	b.expect(chat("h"+text), OriginEngine, chattemplate.ReasonEncoder)
}

func TestEnginesThatFailAreLeftAlone(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	e.status = 500
	b := unrendered(t, nil, e)
	for i := range failuresToPause {
		b.key(chat(strings.Repeat("x", i+1)))
		b.key(chat(strings.Repeat("x", i+1)))
		b.eventually("a failure", func() bool { return b.metric("penstock_keying_remote_total", askFailed) == float64(i+1) })
	}
	b.eventually("a pause", func() bool {
		b.key(chat("y"))
		return b.metric("penstock_keying_remote_total", askPaused) > 0
	})
	asked := e.count(pathRenderChat)
	b.key(chat("z"))
	if e.count(pathRenderChat) != asked {
		t.Error("asked in the pause")
	}
	e.set(func() { e.status = 0 })
	b.clock.add(time.Minute)
	b.eventually("an answer", func() bool { return b.key(chat("z")).Origin == OriginEngine })
}

func TestAnswersThatUsageContradictsAreForgotten(t *testing.T) {
	t.Parallel()
	b := unrendered(t, nil, newFakeEngine(t))
	var r *Result
	b.eventually("an answer", func() bool { r = b.key(chat("hello")); return r.Origin == OriginEngine })
	for range 2 * window {
		b.source.Observe(r.Count(), 1)
	}
	b.expect(chat("hello"), OriginEngine, chattemplate.ReasonEncoder) // one prompt is not enough
	begun := r.Count()
	for i := range enoughAnswers {
		c := r.Count()
		c.prompt = uint64(i)
		b.source.Observe(c, 1)
	}
	b.expect(chat("hello"), OriginBytes, chattemplate.ReasonEncoder)
	b.clock.add(distrustPause)
	b.eventually("an answer", func() bool { return b.key(chat("hello")).Origin == OriginEngine })
	for i := range window {
		begun.prompt = uint64(i)
		b.source.Observe(begun, 1)
	}
	b.expect(chat("hello"), OriginEngine, chattemplate.ReasonEncoder) // those were about forgotten answers
	if b.source.Status().State != StateReady {
		t.Error("the tokenizer was blamed")
	}
}

func TestRefusedRequestsAreNotAskedAbout(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	b := unrendered(t, nil, e)
	b.files.set(func() { b.files.unknown = chattemplate.ReasonTemplateError })
	b.expect(chat("hello there, gate"), OriginBytes, chattemplate.ReasonTemplateError)
	if n := e.count(pathRenderChat); n != 0 {
		t.Errorf("asked %d times", n)
	}
}

func TestRemoteOffAsksNobody(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	b := unrendered(t, func(p *configs.Pool) { p.Tokenizer.Remote, p.Tokenizer.Text = configs.RemoteOff, configs.SwitchOff }, e)
	b.expect(chat("hello there, gate"), OriginNone, chattemplate.ReasonEncoder)
	if len(e.asked) != 0 {
		t.Errorf("asked %v", e.asked)
	}
}

// A pool in doubt must not be asked for what it renders itself: of a chat the
// engine's own rendering counts.
func TestDoubtedRenderingIsNotAskedAbout(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	e.shift = 1
	b := start(t, nil, e)
	b.run(StateDegraded)
	e.set(func() { clear(e.texts); e.lacks[pathRenderChat] = true })
	q := chat("hello there, gate")
	b.key(q)
	b.key(q)
	b.eventually("an answer", func() bool { return b.key(q).Origin == OriginEngine })
	for _, body := range e.bodies(pathTokenize) {
		if !strings.Contains(body, `"messages"`) {
			t.Errorf("asked %s", body)
		}
	}
	if r := b.key(q); r.Tokens != len(`<user>"hello there, gate"`) {
		t.Errorf("%+v", r)
	}
}

// vLLM's /tokenize renders with the template, which is not how it renders for gpt-oss.
func TestNativeChatsAreNotAskedAboutByTemplate(t *testing.T) {
	t.Parallel()
	for _, encoder := range []string{"harmony", "deepseek_v32"} {
		e := newFakeEngine(t)
		e.chatShift = 5 // of /tokenize only
		e.lacks[pathRenderChat] = true
		b := start(t, nil, e)
		b.files.encoder = encoder
		b.run(StateReady)
		b.eventually("a verdict", func() bool { return b.source.Status().Parity == ParityNoChats })
		b.expect(chat("hello there, gate"), OriginExact, ReasonOK)
		b.files.set(func() { b.files.unknown = chattemplate.ReasonField })
		b.key(chat("hello there, gate"))
		b.key(chat("hello there, gate"))
		b.eventually("no way", func() bool { return b.metric("penstock_keying_remote_total", askUnsupported) == 1 })
		for _, body := range e.bodies(pathTokenize) {
			if strings.Contains(body, `"messages"`) {
				t.Errorf("%s: asked %s", encoder, body)
			}
		}
	}
}

func TestQuestionsPerSecondAreBounded(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	b := unrendered(t, func(p *configs.Pool) { p.Tokenizer.RemoteTimeout = configs.Duration(time.Minute) }, e)
	ask := func(text string) {
		b.key(chat(text))
		b.key(chat(text))
	}
	answered := func() float64 { return b.metric("penstock_keying_remote_total", askAnswered) }
	for i := range questionsAtOnce + 5 {
		ask(strings.Repeat("x", i+1))
		b.eventually("an answer", func() bool { return answered() == float64(min(i+1, questionsAtOnce)) })
	}
	if n := b.metric("penstock_keying_remote_total", askLimited); n != 5 {
		t.Errorf("%v limited", n)
	}
	b.clock.add(time.Second)
	for i := range questionsPerSec + 5 {
		ask(strings.Repeat("y", i+1))
		b.eventually("an answer", func() bool { return answered() == float64(questionsAtOnce+min(i+1, questionsPerSec)) })
	}
	b.clock.add(time.Hour)
	large := strings.Repeat("z", maxQuestion*9/10)
	for _, c := range "abcdef" {
		ask(string(c) + large)
	}
	b.eventually("the last answer", func() bool { return answered() == questionsAtOnce+questionsPerSec+4 })
}

// One prompt that engines fail at does not keep them from being asked about others.
func TestOnePromptThatFailsPausesNobody(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	b := unrendered(t, nil, e)
	fail := func(status int, count func() float64, text func(int) string) {
		t.Helper()
		e.set(func() { e.status = status })
		for i := range 2 * failuresToPause {
			before := count()
			b.clock.add(time.Second)
			b.key(chat(text(i)))
			b.key(chat(text(i)))
			b.eventually("an answer", func() bool { return count() > before })
		}
		e.set(func() { e.status = 0 })
		q := chat("fine " + text(0))
		b.key(q)
		b.eventually("an answer", func() bool { return b.key(q).Origin == OriginEngine })
	}
	failed := func() float64 { return b.metric("penstock_keying_remote_total", askFailed) }
	refused := func() float64 { return b.metric("penstock_keying_remote_total", askRefused) }
	fail(500, failed, func(int) string { return "poison" })
	fail(422, refused, func(i int) string { return strings.Repeat("r", i+1) })
	fail(413, refused, func(i int) string { return strings.Repeat("s", i+1) })
	// The engine knows the route, not the model.
	e.set(func() { e.lacksModel = true })
	fail(404, refused, func(i int) string { return strings.Repeat("t", i+1) })
}

func TestAnswersFromBeforeAreDropped(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	e.hold = make(chan struct{})
	b := unrendered(t, nil, e)
	q := chat("hello there, gate")
	b.key(q)
	b.key(q)
	b.eventually("a question", func() bool { return e.count(pathRenderChat) == 1 })
	b.source.remote.renew()
	close(e.hold)
	b.eventually("the answer", func() bool { return b.metric("penstock_keying_remote_total", askAnswered) == 1 })
	b.expect(q, OriginBytes, chattemplate.ReasonEncoder) // and asks anew
	b.eventually("an answer", func() bool { return b.key(q).Origin == OriginEngine })
	// Templates print the date.
	b.clock.add(24 * time.Hour)
	b.expect(q, OriginBytes, chattemplate.ReasonEncoder)
	text := &Request{Kind: chattemplate.KindCompletions, Body: []byte(`{"prompt":"x"}`)}
	day1 := fingerprintOf(b.manager.tags, &new(worker).seal, q, 1, 1)
	if day1 == fingerprintOf(b.manager.tags, &new(worker).seal, q, 1, 2) || day1 == fingerprintOf(b.manager.tags, &new(worker).seal, text, 1, 1) {
		t.Error("equal fingerprints")
	}
}

func TestEscapedNamesAreNames(t *testing.T) {
	t.Parallel()
	f := func(body string, want int) {
		t.Helper()
		if got := chatQuestions([]byte(body), chatRoutes{tokenize: true}); len(got) != want {
			t.Errorf("%s: %d ways to ask, want %d", body, len(got), want)
		}
	}
	f(`{"messages":[],"reasoning_effort":"low"}`, 1)
	f(`{"messages":[],"reasoning\u005feffort":"low"}`, 1)
	f(`{"messages":[],"reasoning_effort":null}`, 2)
	f(`{"messages":[],"temperature":1}`, 2)
	if oneAnswer([]byte(`{"\u006e":2}`)) || !oneAnswer([]byte(`{"n":1,"echo":false,"best_of":null,"prompt":"\"n\":2"}`)) {
		t.Error("answers")
	}
	for _, body := range []string{`{"n":2}`, `{"echo":true}`, `{"truncate_prompt_tokens":5}`, `{"lora_path":"x"}`} {
		if oneAnswer([]byte(body)) {
			t.Error(body)
		}
	}
}

func TestNobodyIsAskedWhileLoading(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	b := start(t, func(p *configs.Pool) { p.Tokenizer.Remote = configs.RemoteAlways }, e)
	b.files.wait = make(chan struct{})
	b.run(StateLoading)
	b.expect(chat("hello there, gate"), OriginBytes, ReasonLoading) // at once
	close(b.files.wait)
	b.await(StateReady)
}

// A question that came while files are read is answered all the same.
func TestEnginesAreAskedWhileFilesAreRead(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	b := start(t, func(p *configs.Pool) {
		p.Tokenizer.Parity, p.Tokenizer.Remote = configs.ParityOff, configs.RemoteOff
	}, e)
	b.files.unknown = chattemplate.ReasonEncoder
	b.run(StateReady)
	b.files.set(func() { b.files.wait = make(chan struct{}) })
	b.reload(func(p *configs.Pool) { p.Tokenizer.Path, p.Tokenizer.Remote = "other", configs.RemoteAuto })
	b.eventually("reading", func() bool { b.files.mu.Lock(); defer b.files.mu.Unlock(); return b.files.loads == 2 })
	b.key(chat("hello there, gate"))
	b.eventually("an answer", func() bool { return b.key(chat("hello there, gate")).Origin == OriginEngine })
	close(b.files.wait)
	b.eventually("the new tokenizer", func() bool { return b.source.Status().Info.Family == "other" })
}

func TestTokensInReadsEveryAnswer(t *testing.T) {
	t.Parallel()
	f := func(body string, want int) {
		t.Helper()
		ids, err := tokensIn([]byte(body))
		if len(ids) != want || (err != nil) != (want == 0) {
			t.Errorf("%s: %v, %v", body, ids, err)
		}
	}
	f(`{"count":2,"max_model_len":9,"tokens":[1,2],"token_strs":null}`, 2)
	f(`{"request_id":"x","token_ids":[1,2,3],"features":null}`, 3)
	f(` [{"token_ids":[1]}]`, 1)
	f(`[{"token_ids":[1]},{"token_ids":[2]}]`, 0)
	f(`{"token_ids":[1],"features":{"mm":1}}`, 0)
	f(`{"tokens":[-1]}`, 0)
	f(`{"tokens":[]}`, 0)
	f(`[]`, 0)
	f(``, 0)
}

func FuzzTokensIn(f *testing.F) {
	f.Add([]byte(`{"tokens":[1,2]}`))
	f.Add([]byte(`[{"token_ids":[1]}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		ids, err := tokensIn(body)
		if (err == nil) == (len(ids) == 0) {
			t.Fatalf("%v, %v", ids, err)
		}
	})
}

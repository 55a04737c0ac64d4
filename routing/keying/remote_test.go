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
	if n := b.metric("penstock_keying_remote_total", askJoined); n != 9 {
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
	}
	if n := b.metric("penstock_keying_remote_total", askDropped); n != 5 {
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
	for i := range failuresInARow {
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
	for range 5 {
		b.source.Observe(r.Count(), 1)
	}
	b.expect(chat("hello"), OriginBytes, chattemplate.ReasonEncoder)
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

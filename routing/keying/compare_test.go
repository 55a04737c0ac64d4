package keying

import (
	"strings"
	"testing"
	"time"

	"penstock/configs"
	"penstock/routing/chattemplate"
)

func TestParityPasses(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	b := start(t, func(p *configs.Pool) { p.Tokenizer.Parity = configs.ParityStrict }, e)
	b.run(StateReady)
	b.eventually("parity", func() bool { return b.source.Status().Parity == ParityPassed })
	b.expect(chat("hello there"), OriginExact, ReasonOK)
	if e.count(pathRenderChat) == 0 || e.count(pathTokenize) == 0 {
		t.Errorf("asked %v", e.asked)
	}
	if b.metric("penstock_tokenizer_comparisons_total", withParity, equal) == 0 {
		t.Error("not counted")
	}
}

func TestStrictParityWaitsForAnEngine(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	e.status = 503
	b := start(t, func(p *configs.Pool) { p.Tokenizer.Parity = configs.ParityStrict }, e)
	b.run(StateReady)
	b.eventually("an attempt", func() bool { return e.count(pathTokenize) > 0 })
	b.expect(chat("hello there, gate"), OriginBytes, ReasonUnproven)
	e.set(func() { e.status = 0 })
	b.eventually("parity", func() bool {
		b.clock.add(time.Minute)
		b.source.signal()
		return b.source.Status().Parity == ParityPassed
	})
	b.expect(chat("hello there, gate"), OriginExact, ReasonOK)
}

func TestParityMismatchDegradesAndRecovers(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	e.shift = 1
	b := start(t, nil, e)
	b.run(StateDegraded)
	s := b.source.Status()
	if s.Parity != ParityFailed || !strings.Contains(s.Detail, `replica a, sample "text": token 1 is `) {
		t.Errorf("%+v", s)
	}
	b.eventually("a count", func() bool { return b.metric("penstock_tokenizer_mismatch_total", withParity) == 1 })
	b.expect(chat("hello there, gate"), OriginBytes, ReasonDegraded)
	e.set(func() { e.shift = 0 })
	b.eventually("recovery", func() bool {
		b.clock.add(time.Hour)
		b.source.signal()
		return b.source.Status().State == StateReady
	})
	b.expect(chat("hello there, gate"), OriginExact, ReasonOK)
}

func TestEnginesThatCannotBeAskedAreBelieved(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	for _, p := range []string{pathTokenize, pathRenderChat, pathRenderCompletions} {
		e.lacks[p] = true
	}
	b := start(t, nil, e)
	b.run(StateReady)
	b.eventually("a verdict", func() bool { return b.source.Status().Parity == ParityUnsupported })
	b.expect(chat("hello there"), OriginExact, ReasonOK)
}

func TestReplicaThatComesBackIsComparedAgain(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	b := start(t, func(p *configs.Pool) { p.Health.Disabled, p.Health.Rise, p.Health.Fall = false, 1, 1 }, e)
	b.run(StateReady)
	ep := b.set.View().Members[0].Epoch
	b.set.ReportProbe("a", ep, true, "")
	b.eventually("parity", func() bool { return b.source.Status().Parity == ParityPassed })
	b.set.ReportProbe("a", ep, false, "")
	b.eventually("no verdict", func() bool { return b.source.Status().Parity == ParityPending })
	e.set(func() { e.shift = 3 })
	b.set.ReportProbe("a", ep, true, "")
	b.await(StateDegraded)
	// The replica that differs is taken out: the others' word counts.
	if _, err := b.set.Remove("a"); err != nil {
		t.Fatal(err)
	}
	b.await(StateReady)
}

func TestReplicaThatIsReplacedUnseenIsComparedAgain(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	b := start(t, nil, e)
	b.run(StateReady)
	b.eventually("parity", func() bool { return b.source.Status().Parity == ParityPassed })
	e.set(func() { e.shift = 3 })
	b.eventually("a difference", func() bool {
		b.clock.add(repeatPassed)
		b.source.signal()
		return b.source.Status().State == StateDegraded
	})
}

// observe tells of n answers whose usage differs, of different prompts.
func (b *bench) observe(r *Result, n int, caller func(i int) uint64) {
	for i := range n {
		c := r.Count()
		c.prompt = uint64(i)
		if caller != nil {
			c.caller = caller(i)
		}
		b.source.Observe(c, int64(r.Tokens)+1)
	}
}

func TestUsageThatDiffersDegradesAndGetsAnotherChance(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	for _, p := range []string{pathTokenize, pathRenderChat, pathRenderCompletions} {
		e.lacks[p] = true
	}
	b := start(t, nil, e)
	b.run(StateReady)
	b.eventually("a verdict", func() bool { return b.source.Status().Parity == ParityUnsupported })
	r := b.key(chat("hello there"))
	b.observe(r, 4, nil)
	for range 100 {
		b.source.Observe(r.Count(), int64(r.Tokens))
	}
	b.observe(r, enoughAnswers-1, nil)
	b.eventually("the engines were asked", func() bool {
		b.source.mu.Lock()
		defer b.source.mu.Unlock()
		return b.source.doubt.silent
	})
	if b.source.Status().State != StateReady {
		t.Fatal("few answers among many")
	}
	b.observe(r, 1, nil) // at once: the engines have had their say
	b.await(StateDegraded)
	if d := b.source.Status().Detail; !strings.Contains(d, "the engine counted") {
		t.Error(d)
	}
	b.eventually("a count", func() bool { return b.metric("penstock_tokenizer_mismatch_total", withUsage) == 1 })
	b.expect(chat("hello there, gate"), OriginBytes, ReasonDegraded)
	b.eventually("a time for it", func() bool {
		b.clock.add(time.Hour)
		b.source.signal()
		return b.source.Status().State == StateReady
	})
}

// TestEnginesThatAgreeClearTheTokenizer: a client cannot take a tokenizer out of use.
func TestEnginesThatAgreeClearTheTokenizer(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	b := start(t, nil, e)
	b.run(StateReady)
	b.eventually("parity", func() bool { return b.source.Status().Parity == ParityPassed })
	r, asked := b.key(chat("hello there")), e.count(pathRenderChat)
	b.observe(r, window, nil)
	b.eventually("a fresh comparison", func() bool { return e.count(pathRenderChat) > asked })
	b.eventually("a verdict", func() bool { return b.source.live.standing(4) == unsuspicious })
	if s := b.source.Status(); s.State != StateReady {
		t.Fatalf("%+v", s)
	}
	// It is not asked again and again, and less often the longer it goes on.
	asked = e.count(pathRenderChat)
	b.observe(r, window, nil)
	b.source.mu.Lock()
	raised := b.source.doubt.raised
	b.source.mu.Unlock()
	if raised || e.count(pathRenderChat) != asked {
		t.Error("asked again at once")
	}
	// Engines that differ by now are believed.
	e.set(func() { e.shift = 1 })
	b.clock.add(retryDifferent)
	b.observe(r, 1, nil)
	b.await(StateDegraded)
	if s := b.source.Status(); s.Parity != ParityFailed {
		t.Errorf("%+v", s)
	}
}

func TestOneCallerConvincesNobody(t *testing.T) {
	t.Parallel()
	one := func(uint64) uint64 { return 7 }
	f := func(name string, answers int, different, caller, prompt func(uint64) uint64, want suspicion) {
		t.Helper()
		var a audit
		got := unsuspicious
		for i := range uint64(answers) {
			got = a.note(observed{different: different(i) == 1, caller: caller(i), prompt: prompt(i)}, 4)
		}
		if got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	id := func(i uint64) uint64 { return i + 1 }
	yes := func(uint64) uint64 { return 1 }
	half := func(i uint64) uint64 { return i % 2 }
	none := func(uint64) uint64 { return 0 }
	f("one key, many prompts", 20, half, one, id, suspicious)
	f("one key, nothing but differences", 20, yes, one, id, convincing)
	f("one prompt", 20, yes, none, one, suspicious)
	f("no keys, many prompts", 20, half, none, id, convincing)
	f("many keys", 20, half, id, one, convincing)
	f("many keys, few answers", 9, yes, id, one, suspicious)
	f("few", 4, yes, none, id, unsuspicious)
}

// TestShortPromptsAreToldApart: they have no keys.
func TestShortPromptsAreToldApart(t *testing.T) {
	t.Parallel()
	b := start(t, func(p *configs.Pool) { p.Tokenizer.BlockSize = 64 }, newFakeEngine(t))
	b.run(StateReady)
	one, other := b.key(chat("hello 1")).Count(), b.key(chat("hello 2")).Count()
	if one.prompt == other.prompt || one.Tokens != other.Tokens {
		t.Errorf("%+v and %+v", one, other)
	}
}

func TestDoubtsCalmDown(t *testing.T) {
	t.Parallel()
	var d doubt
	now := time.Unix(1e9, 0)
	for range 5 {
		d.settled(now, false)
		now = d.next
	}
	if wait := d.next.Sub(d.last); wait != longestRetry && wait != retryDifferent<<4 {
		t.Errorf("waits %v", wait)
	}
	now = d.last.Add(calm + time.Second)
	d.settled(now, false)
	if wait := d.next.Sub(now); wait != retryDifferent {
		t.Errorf("waits %v after an hour of quiet", wait)
	}
}

func TestWhatClientsDecideIsNotCompared(t *testing.T) {
	t.Parallel()
	b := start(t, nil, newFakeEngine(t))
	b.run(StateReady)
	b.eventually("parity", func() bool { return b.source.Status().Parity == ParityPassed })
	f := func(name string, want bool, change func(q *Request)) {
		t.Helper()
		q := chat("hello there")
		change(q)
		if r := b.key(q); r.Comparable != want || !r.Origin.Counted() {
			t.Errorf("%s: %+v", name, r)
		}
	}
	member := func(text string) func(*Request) {
		return func(q *Request) { q.Body = []byte("{" + text + "," + string(q.Body[1:])) }
	}
	f("plain", true, func(*Request) {})
	f("one answer", true, member(`"n":1`))
	f("ids", false, func(q *Request) {
		q.Kind, q.Body = chattemplate.KindCompletions, []byte(`{"prompt":[1,2,3,4,5]}`)
	})
	f("adapter", false, func(q *Request) { q.Adapter = "lora" })
	f("several answers", false, member(`"n":2`))
	f("echo", false, member(`"echo":true`))
	f("truncated", false, member(`"truncate_prompt_tokens":3`))
}

func TestVersionsAreNumbers(t *testing.T) {
	t.Parallel()
	f := func(older, later string) {
		t.Helper()
		if !newer(later, older) || newer(older, later) || newer(later, later) {
			t.Errorf("%s and %s", older, later)
		}
	}
	f("", "0.1.0")
	f("0.9.2", "0.10.0")
	f("0.10.1", "0.11.0rc1")
	f("0.5.10", "0.5.10.post1")
	f("0.32.0", "1.0")
	f("0.9.2.dev1+g12ab", "0.10.0.dev1+g00aa")
}

// TestHangingEngineHoldsUpNoReload: an engine that does not answer is asked beside the
// loading, and left when there is something to load.
func TestHangingEngineHoldsUpNoReload(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	e.hold = make(chan struct{})
	defer close(e.hold)
	b := start(t, nil, e)
	b.run(StateReady)
	b.eventually("a question", func() bool { return len(e.bodies(pathTokenize)) > 0 })
	begun := time.Now()
	b.reload(func(p *configs.Pool) { p.Tokenizer.Path = "other" })
	b.eventually("the new tokenizer", func() bool { return b.source.Status().Info.Family == "other" })
	if took := time.Since(begun); took >= checkTimeout {
		t.Errorf("took %v", took)
	}
}

func TestMissingRouteIsProbedOnce(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	e.lacks[pathRenderChat] = true
	b := start(t, nil, e)
	b.run(StateReady)
	b.eventually("parity", func() bool { return b.source.Status().Parity == ParityPassed })
	if n := e.count(pathRenderChat); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

func TestWhatCannotBeComparedIsNot(t *testing.T) {
	t.Parallel()
	b := start(t, nil, newFakeEngine(t))
	b.run(StateReady)
	b.eventually("parity", func() bool { return b.source.Status().Parity == ParityPassed })
	r := b.key(chat("hello there"))
	unlike := r.Count()
	unlike.Comparable = false
	old := r.Count()
	old.generation--
	for range 50 {
		b.source.Observe(unlike, 1)
		b.source.Observe(r.Count(), 0)
		b.source.Observe(old, 1)
	}
	if s := b.source.Status(); s.State != StateReady {
		t.Errorf("%+v", s)
	}
	if n := b.metric("penstock_tokenizer_comparisons_total", withUsage, notComparable); n != 100 {
		t.Errorf("%v counted", n)
	}
}

func TestParityOffAsksNobody(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	b := start(t, func(p *configs.Pool) { p.Tokenizer.Parity = configs.ParityOff }, e)
	b.run(StateReady)
	r := b.key(chat("hello there"))
	for range 50 {
		b.source.Observe(r.Count(), 1)
	}
	if s := b.source.Status(); s.State != StateReady || s.Parity != ParityOff {
		t.Errorf("%+v", s)
	}
	if len(e.asked) != 0 {
		t.Errorf("asked %v", e.asked)
	}
}

func TestEngineKindIsLearnt(t *testing.T) {
	t.Parallel()
	b := start(t, func(p *configs.Pool) { p.Engine = configs.EngineAuto }, newFakeEngine(t))
	b.run(StateReady)
	b.set.ReportEngine("a", b.set.View().Members[0].Epoch, configs.EngineVLLM, 0)
	b.eventually("the kind", func() bool { return b.source.Status().Engine == configs.EngineVLLM })
	b.eventually("the version", func() bool { return b.source.Status().EngineVersion == "0.32.0" })
	b.eventually("parity", func() bool { return b.source.Status().Parity == ParityPassed })
}

func TestVersionsThatDifferDoNotGoBackAndForth(t *testing.T) {
	t.Parallel()
	a, c := newFakeEngine(t), newFakeEngine(t)
	c.version = "0.33.0"
	b := start(t, nil, a, c)
	b.run(StateReady)
	b.eventually("the version", func() bool {
		s := b.source.Status()
		return s.EngineVersion == "0.33.0" && s.Parity == ParityPassed
	})
	b.files.mu.Lock()
	built := b.files.built
	b.files.mu.Unlock()
	for range 20 {
		b.source.signal()
		b.source.Status()
	}
	b.files.mu.Lock()
	defer b.files.mu.Unlock()
	if built > 2 || b.files.built != built {
		t.Errorf("built %d times, then %d", built, b.files.built)
	}
}

package keying

import (
	"strings"
	"testing"
	"time"

	"penstock/configs"
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

func TestUsageThatDiffersDegradesAndGetsAnotherChance(t *testing.T) {
	t.Parallel()
	b := start(t, nil, newFakeEngine(t))
	b.run(StateReady)
	b.eventually("parity", func() bool { return b.source.Status().Parity == ParityPassed })
	r := b.key(chat("hello there"))
	for range 4 {
		b.source.Observe(r.Count(), int64(r.Tokens)+1)
	}
	for range 100 {
		b.source.Observe(r.Count(), int64(r.Tokens))
	}
	for range 4 {
		b.source.Observe(r.Count(), int64(r.Tokens)+1)
	}
	if b.source.Status().State != StateReady {
		t.Fatal("few answers among many")
	}
	b.source.Observe(r.Count(), int64(r.Tokens)+1)
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

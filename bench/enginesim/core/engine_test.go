package core

import (
	"errors"
	"slices"
	"testing"
	"time"
)

const ms = time.Millisecond

// flat makes every part of the step time visible in one decimal digit.
func flat() Config {
	return Config{
		Timing:    Timing{Base: 10e-3, Decode: 1e-3, Prefill: 100e-6, KVRead: 1e-6},
		BlockSize: 4, Blocks: 64, MaxModelLen: 128, MaxSeqs: 8, MaxTokens: 16,
	}
}

func prompt(from uint32, n int) []uint32 {
	p := make([]uint32, n)
	for i := range p {
		p[i] = from + uint32(i)
	}
	return p
}

func mustNew(t *testing.T, cfg Config, obs Observer) *Engine {
	t.Helper()
	e, err := New(cfg, obs)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func mustAdd(t *testing.T, e *Engine, now time.Duration, r Request) *Seq {
	t.Helper()
	s, err := e.Add(now, r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// drive steps e until it is idle and returns all outputs.
func drive(t *testing.T, e *Engine) []Output {
	t.Helper()
	var all []Output
	for range 100_000 {
		next := e.Next()
		if next == Never {
			return all
		}
		all = append(all, e.Step(next)...)
		if err := e.check(); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("engine does not come to rest")
	return nil
}

func times(outs []Output, s *Seq) []time.Duration {
	var at []time.Duration
	for _, o := range outs {
		if o.Seq == s {
			at = append(at, o.At)
		}
	}
	return at
}

func TestStepTimeIsTheModel(t *testing.T) {
	t.Parallel()
	e := mustNew(t, flat(), nil)
	s := mustAdd(t, e, 5*ms, Request{Prompt: prompt(0, 20), OutputTokens: 3})
	got := times(drive(t, e), s)
	// Step 1: 16 prefill tokens = 10 + 1.6 ms. Step 2: 4 more over 16 of
	// context = 10 + 0.4 + 0.016. Then decodes with 20 and 21 of context.
	step2 := 5*ms + 11600*time.Microsecond + 10416*time.Microsecond
	want := []time.Duration{step2, step2 + 11020*time.Microsecond, step2 + 11020*time.Microsecond + 11021*time.Microsecond}
	if !slices.Equal(got, want) {
		t.Errorf("tokens at %v, want %v", got, want)
	}
}

func TestPrefillCostGrowsWithContext(t *testing.T) {
	t.Parallel()
	cfg := flat()
	cfg.Timing = Timing{Prefill: 1e-3, ContextScale: 16}
	e := mustNew(t, cfg, nil)
	s := mustAdd(t, e, 0, Request{Prompt: prompt(0, 32), OutputTokens: 1})
	got := times(drive(t, e), s)
	// 16·(1 + 8/16) + 16·(1 + 24/16) = 24 + 40 ms.
	if want := []time.Duration{64 * ms}; !slices.Equal(got, want) {
		t.Errorf("first token at %v, want %v", got, want)
	}
}

func TestDecodesShareTheBudgetWithPrefillChunks(t *testing.T) {
	t.Parallel()
	e := mustNew(t, flat(), nil)
	a := mustAdd(t, e, 0, Request{Prompt: prompt(0, 4), OutputTokens: 4})
	e.Step(0)
	b := mustAdd(t, e, 0, Request{Prompt: prompt(100, 20), OutputTokens: 1})
	var sizes []int
	for e.Next() != Never {
		e.Step(e.Next())
		if e.last.PrefillTokens > 0 {
			sizes = append(sizes, e.last.PrefillTokens)
		}
	}
	if want := []int{4, 15, 5}; !slices.Equal(sizes, want) { // one token of 16 goes to a's decode
		t.Errorf("prefill chunks %v, want %v", sizes, want)
	}
	if !a.done || !b.done {
		t.Error("sequences did not finish")
	}
}

func TestSlowFactorStretchesSteps(t *testing.T) {
	t.Parallel()
	e := mustNew(t, flat(), nil)
	e.SetSlow(3)
	s := mustAdd(t, e, 0, Request{Prompt: prompt(0, 10), OutputTokens: 1})
	if got := times(drive(t, e), s); got[0] != 33*ms {
		t.Errorf("first token at %v, want 33ms", got[0])
	}
}

func TestLateCallerCatchesUpWithinItsBound(t *testing.T) {
	t.Parallel()
	cfg := flat()
	cfg.CatchUp = 5 * ms
	e := mustNew(t, cfg, nil)
	mustAdd(t, e, 0, Request{Prompt: prompt(0, 10), OutputTokens: 9})
	e.Step(0)
	end := e.Next()
	e.Step(end + 4*ms) // within the bound: as if it had been on time
	if want := end + 10*ms + ms + 10*time.Microsecond; e.Next() != want {
		t.Errorf("next step ends at %v, want %v", e.Next(), want)
	}
	end = e.Next()
	e.Step(end + 6*ms)
	if want := end + 6*ms + 10*ms + ms + 11*time.Microsecond; e.Next() != want {
		t.Errorf("after a long pause the next step ends at %v, want %v", e.Next(), want)
	}
}

func TestCachedTokensNeverCoverTheLastOne(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 4, 5, 8, 9, 16, 17} {
		e := mustNew(t, flat(), nil)
		mustAdd(t, e, 0, Request{Prompt: prompt(0, n), OutputTokens: 1})
		drive(t, e)
		s := mustAdd(t, e, e.freeAt, Request{Prompt: prompt(0, n), OutputTokens: 1})
		drive(t, e)
		if want := (n - 1) / 4 * 4; s.CachedTokens() != want {
			t.Errorf("prompt of %d: %d tokens cached, want %d", n, s.CachedTokens(), want)
		}
	}
}

func TestNextTurnHitsWhatDecodeFilled(t *testing.T) {
	t.Parallel()
	e := mustNew(t, flat(), nil)
	out := func(i int) uint32 { return 1000 + uint32(i) }
	mustAdd(t, e, 0, Request{Prompt: prompt(0, 6), OutputTokens: 7, Output: out})
	drive(t, e)
	turn2 := append(prompt(0, 6), prompt(1000, 7)...)
	s := mustAdd(t, e, e.freeAt, Request{Prompt: append(turn2, 7, 7, 7), OutputTokens: 1})
	drive(t, e)
	// 6 + 7 tokens, the last of which was never computed: 12 are in full blocks.
	if s.CachedTokens() != 12 {
		t.Errorf("%d tokens cached, want 12", s.CachedTokens())
	}
}

func TestAdapterAndSaltSeparateTheCache(t *testing.T) {
	t.Parallel()
	e := mustNew(t, flat(), nil)
	mustAdd(t, e, 0, Request{Prompt: prompt(0, 12), OutputTokens: 1, Salt: "a"})
	drive(t, e)
	for _, r := range []Request{{}, {Salt: "b"}, {Adapter: "a"}, {Salt: "a", Adapter: "x"}} {
		r.Prompt, r.OutputTokens = prompt(0, 12), 1
		s := mustAdd(t, e, e.freeAt, r)
		drive(t, e)
		if s.CachedTokens() != 0 {
			t.Errorf("adapter %q salt %q saw blocks of another namespace", r.Adapter, r.Salt)
		}
	}
}

func TestPreemptedSequenceIsRecomputedAndCompletes(t *testing.T) {
	t.Parallel()
	cfg := flat()
	cfg.Blocks, cfg.MaxModelLen = 8, 32
	e := mustNew(t, cfg, nil)
	a := mustAdd(t, e, 0, Request{Prompt: prompt(0, 12), OutputTokens: 12})
	b := mustAdd(t, e, 0, Request{Prompt: prompt(100, 12), OutputTokens: 12})
	outs := drive(t, e)
	if len(times(outs, a)) != 12 || len(times(outs, b)) != 12 {
		t.Errorf("%d and %d tokens, want 12 each", len(times(outs, a)), len(times(outs, b)))
	}
	if e.counts.Preemptions == 0 {
		t.Error("two sequences of 6 blocks in a pool of 8 did not pre-empt")
	}
	if at := times(outs, a); at[11] > times(outs, b)[11] {
		t.Error("the older sequence finished last: the wrong one gave way")
	}
	if e.counts.PrefixQueries != 24 {
		t.Errorf("prefix queries %d, want 24: a re-admission is no new query", e.counts.PrefixQueries)
	}
}

func TestCancelFreesBlocksAtOnce(t *testing.T) {
	t.Parallel()
	e := mustNew(t, flat(), nil)
	a := mustAdd(t, e, 0, Request{Prompt: prompt(0, 12), OutputTokens: 50})
	e.Step(0)
	queued := mustAdd(t, e, 0, Request{Prompt: prompt(50, 12), OutputTokens: 50})
	if e.Snapshot().BlocksUsed != 3 {
		t.Fatalf("%d blocks used, want 3", e.Snapshot().BlocksUsed)
	}
	if !e.Cancel(a) || !e.Cancel(queued) || e.Cancel(a) {
		t.Error("Cancel must report true once for each live sequence")
	}
	s := e.Snapshot()
	if s.BlocksUsed != 0 || s.Running != 0 || s.Waiting != 0 || s.Aborted != 2 {
		t.Errorf("after cancel: %+v", s)
	}
	if outs := drive(t, e); len(outs) != 0 {
		t.Errorf("%d tokens of cancelled sequences", len(outs))
	}
}

func TestQueueOrder(t *testing.T) {
	t.Parallel()
	cfg := flat()
	cfg.MaxSeqs = 1
	for _, byPriority := range []bool{false, true} {
		cfg.ByPriority = byPriority
		e := mustNew(t, cfg, nil)
		for i, p := range []int{2, 1, 0} {
			mustAdd(t, e, 0, Request{Prompt: prompt(uint32(100*i), 4), OutputTokens: 1, Priority: p, Tag: p})
		}
		var got []int
		for _, o := range drive(t, e) {
			got = append(got, o.Seq.Tag.(int))
		}
		want := []int{2, 1, 0}
		if byPriority {
			want = []int{0, 1, 2}
		}
		if !slices.Equal(got, want) {
			t.Errorf("by priority %v: served %v, want %v", byPriority, got, want)
		}
	}
}

func TestAddRefuses(t *testing.T) {
	t.Parallel()
	cfg := flat()
	cfg.MaxQueued = 1
	e := mustNew(t, cfg, nil)
	if _, err := e.Add(0, Request{Prompt: prompt(0, 128), OutputTokens: 1}); !errors.Is(err, ErrTooLong) {
		t.Errorf("too long: %v", err)
	}
	if _, err := e.Add(0, Request{OutputTokens: 1}); err == nil {
		t.Error("an empty prompt was accepted")
	}
	mustAdd(t, e, 0, Request{Prompt: prompt(0, 4), OutputTokens: 1})
	if _, err := e.Add(0, Request{Prompt: prompt(0, 4), OutputTokens: 1}); !errors.Is(err, ErrQueueFull) {
		t.Errorf("full queue: %v", err)
	}
}

func TestHostTierBringsEvictedBlocksBack(t *testing.T) {
	t.Parallel()
	cfg := flat()
	cfg.Blocks, cfg.MaxModelLen, cfg.HostBlocks = 8, 32, 16
	cfg.Timing = Timing{Prefill: 1e-3, HostLoad: 10e-6}
	e := mustNew(t, cfg, nil)
	run := func(from uint32) (*Seq, time.Duration) {
		start := e.freeAt
		s := mustAdd(t, e, start, Request{Prompt: prompt(from, 29), OutputTokens: 1})
		drive(t, e)
		return s, e.freeAt - start
	}
	run(0)
	run(1000) // pushes the first prompt out of the device
	s, took := run(0)
	if s.CachedTokens() != 28 || e.counts.HostHits == 0 {
		t.Errorf("%d cached, %d from the host; want 28 and some", s.CachedTokens(), e.counts.HostHits)
	}
	want := time.Duration(e.counts.HostHits)*10*time.Microsecond + ms
	if took != want {
		t.Errorf("took %v, want %v", took, want)
	}
}

func TestKeysCanStandForTheTokens(t *testing.T) {
	t.Parallel()
	e := mustNew(t, flat(), nil)
	keys := Keys(0, prompt(0, 40), 4)
	mustAdd(t, e, 0, Request{Keys: keys, PromptTokens: 40, OutputTokens: 6})
	drive(t, e)
	s := mustAdd(t, e, e.freeAt, Request{Prompt: prompt(0, 40), OutputTokens: 1})
	drive(t, e)
	if s.CachedTokens() != 36 {
		t.Errorf("%d tokens cached, want 36", s.CachedTokens())
	}
}

func TestResetForgetsEverything(t *testing.T) {
	t.Parallel()
	e := mustNew(t, flat(), nil)
	mustAdd(t, e, 0, Request{Prompt: prompt(0, 12), OutputTokens: 5})
	e.Step(0)
	if e.ClearCache() {
		t.Error("cache cleared under a running sequence")
	}
	e.Reset()
	s := e.Snapshot()
	if s.BlocksUsed != 0 || s.BlocksCached != 0 || s.Aborted != 1 || e.Next() != Never {
		t.Errorf("after reset: %+v", s)
	}
}

func TestPresetsAreUsable(t *testing.T) {
	t.Parallel()
	for _, name := range PresetNames() {
		timing, err := Preset(name)
		if err != nil || timing.validate() != nil {
			t.Errorf("preset %s: %v, %v", name, err, timing.validate())
		}
	}
	if _, err := Preset("abacus"); err == nil {
		t.Error("an unknown preset was found")
	}
}

func BenchmarkStep256Decodes(b *testing.B) {
	e, err := New(Config{Timing: presets["instant"], BlockSize: 16, Blocks: 1 << 18, MaxModelLen: 1 << 22, MaxSeqs: 256, MaxTokens: 8192}, nil)
	if err != nil {
		b.Fatal(err)
	}
	for i := range 256 {
		if _, err := e.Add(0, Request{Prompt: prompt(uint32(i)<<12, 512), OutputTokens: 1 << 20}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		e.Step(e.Next())
	}
}

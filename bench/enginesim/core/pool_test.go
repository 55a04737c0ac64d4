package core

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// check verifies the invariants of the engine and its pool.
func (e *Engine) check() error {
	if err := e.checkHolders(); err != nil {
		return err
	}
	return e.pool.checkKeys()
}

func (e *Engine) checkHolders() error {
	p := e.pool
	refs := make([]int32, len(p.blocks))
	for _, s := range e.running {
		if s.done || !s.running {
			return fmt.Errorf("a finished sequence is in the batch")
		}
		for _, i := range s.blocks {
			refs[i]++
		}
		if got, least := len(s.blocks)*e.cfg.BlockSize, s.computed; got < least || got >= least+e.cfg.BlockSize+1 {
			return fmt.Errorf("%d tokens computed in room for %d", least, got)
		}
	}
	for _, s := range e.waiting {
		if len(s.blocks) != 0 {
			return fmt.Errorf("a waiting sequence holds blocks")
		}
	}
	inFree := make([]bool, len(p.blocks))
	free, cached := 0, 0
	prev := none
	for i := p.head; i != none; i = p.blocks[i].next {
		if inFree[i] || p.blocks[i].prev != prev {
			return fmt.Errorf("free list broken at block %d", i)
		}
		inFree[i] = true
		free++
		if p.blocks[i].hashed {
			cached++
		}
		prev = i
	}
	if prev != p.tail || free != p.free || cached != p.cached {
		return fmt.Errorf("free %d, cached %d; the counts say %d, %d", free, cached, p.free, p.cached)
	}
	for i := range p.blocks {
		if p.blocks[i].refs != refs[i] {
			return fmt.Errorf("block %d has %d references, %d holders", i, p.blocks[i].refs, refs[i])
		}
		if (refs[i] == 0) != inFree[i] {
			return fmt.Errorf("block %d: %d holders, in free list %v", i, refs[i], inFree[i])
		}
	}
	return nil
}

// checkKeys verifies that the key table and the blocks agree.
func (p *pool) checkKeys() error {
	found := 0
	for k, i := range p.byKey {
		for ; i != none; i = p.blocks[i].twin {
			if !p.blocks[i].hashed || p.blocks[i].key != k {
				return fmt.Errorf("key %x leads to block %d which does not hold it", k, i)
			}
			found++
		}
	}
	hashed := 0
	for i := range p.blocks {
		if p.blocks[i].hashed {
			hashed++
		}
	}
	if found != hashed {
		return fmt.Errorf("%d blocks hashed, %d found by key", hashed, found)
	}
	return nil
}

// ledger is the picture of the cache that a listener builds from events alone.
type ledger struct {
	t      *testing.T
	counts map[Tier]map[Key]int
}

func newLedger(t *testing.T) *ledger {
	return &ledger{t: t, counts: map[Tier]map[Key]int{TierDevice: {}, TierHost: {}}}
}

func (l *ledger) Stored(s Stored) {
	for i, k := range s.Keys {
		l.counts[s.Tier][k]++
		if s.Tier == TierHost {
			continue
		}
		block := s.Tokens[i*s.BlockSize : (i+1)*s.BlockSize]
		parent := s.Parent
		if i > 0 {
			parent = s.Keys[i-1]
		}
		if ChainKey(parent, block) != k {
			l.t.Errorf("stored key %x is not the hash of its tokens and parent", k)
		}
	}
}

func (l *ledger) Removed(keys []Key, tier Tier) {
	for _, k := range keys {
		if l.counts[tier][k]--; l.counts[tier][k] < 0 {
			l.t.Errorf("key %x removed from %v more often than stored", k, tier)
		}
		if l.counts[tier][k] == 0 {
			delete(l.counts[tier], k)
		}
	}
}

func (l *ledger) Cleared() {
	clear(l.counts[TierDevice])
	clear(l.counts[TierHost])
}

// agree compares the ledger with what the pool holds.
func (l *ledger) agree(p *pool) error {
	held := map[Key]int{}
	for i := range p.blocks {
		if p.blocks[i].hashed {
			held[p.blocks[i].key]++
		}
	}
	if len(held) != len(l.counts[TierDevice]) {
		return fmt.Errorf("device holds %d keys, events say %d", len(held), len(l.counts[TierDevice]))
	}
	for k, n := range held {
		if l.counts[TierDevice][k] != n {
			return fmt.Errorf("key %x: %d blocks, events say %d", k, n, l.counts[TierDevice][k])
		}
	}
	if p.host == nil {
		return nil
	}
	if len(p.host.byKey) != len(l.counts[TierHost]) {
		return fmt.Errorf("host holds %d keys, events say %d", len(p.host.byKey), len(l.counts[TierHost]))
	}
	return nil
}

// TestEventsAndBlocksStayTrue runs random traffic with shared prefixes, cancels
// and resets, and checks every invariant after every step.
func TestEventsAndBlocksStayTrue(t *testing.T) {
	t.Parallel()
	for seed := range uint64(24) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 1))
			cfg := flat()
			cfg.Blocks, cfg.MaxModelLen, cfg.MaxSeqs = 16+rng.IntN(20), 64, 1+rng.IntN(6)
			cfg.HostBlocks = rng.IntN(2) * 8
			cfg.Dedupe = rng.IntN(2) == 0
			cfg.ByPriority = rng.IntN(2) == 0
			storm(t, rng, cfg)
		})
	}
}

func storm(t *testing.T, rng *rand.Rand, cfg Config) {
	t.Helper()
	l := newLedger(t)
	e := mustNew(t, cfg, l)
	var live []*Seq
	want := map[*Seq]int{}
	now := time.Duration(0)
	for range 400 {
		switch rng.IntN(12) {
		case 0, 1, 2:
			p := prompt(uint32(rng.IntN(3))*1000, 1+rng.IntN(40))
			if rng.IntN(2) == 0 {
				p[len(p)/2]++
			}
			s := mustAdd(t, e, now, Request{Prompt: p, OutputTokens: 1 + rng.IntN(20), Priority: rng.IntN(3)})
			live = append(live, s)
			want[s] = s.req.OutputTokens
		case 3:
			if len(live) > 0 {
				s := live[rng.IntN(len(live))]
				e.Cancel(s)
				delete(want, s)
			}
		case 4:
			if rng.IntN(20) == 0 {
				e.Reset()
				clear(want)
			}
		default:
			if next := e.Next(); next != Never {
				now = max(now, next)
				for _, o := range e.Step(now) {
					want[o.Seq]--
				}
			}
		}
		verify(t, e, l)
	}
	for e.Next() != Never {
		for _, o := range e.Step(e.Next()) {
			want[o.Seq]--
		}
		verify(t, e, l)
	}
	for s, n := range want {
		if n != 0 || !s.done {
			t.Errorf("a sequence ended %d tokens short", n)
		}
	}
	if e.pool.used() != 0 {
		t.Errorf("%d blocks leaked", e.pool.used())
	}
}

func verify(t *testing.T, e *Engine, l *ledger) {
	t.Helper()
	if err := e.check(); err != nil {
		t.Fatal(err)
	}
	if err := l.agree(e.pool); err != nil {
		t.Fatal(err)
	}
}

func TestEvictionTakesTheEndOfTheOldestChainFirst(t *testing.T) {
	t.Parallel()
	cfg := flat()
	cfg.Blocks, cfg.MaxModelLen = 8, 32
	e := mustNew(t, cfg, nil)
	mustAdd(t, e, 0, Request{Prompt: prompt(0, 17), OutputTokens: 1}) // 4 full blocks
	drive(t, e)
	mustAdd(t, e, e.freeAt, Request{Prompt: prompt(100, 21), OutputTokens: 1}) // takes 6 of 8: 4 were empty
	drive(t, e)
	s := mustAdd(t, e, e.freeAt, Request{Prompt: prompt(0, 17), OutputTokens: 1})
	drive(t, e)
	if s.CachedTokens() != 8 {
		t.Errorf("%d tokens of the older chain left, want 8: its first two blocks", s.CachedTokens())
	}
}

func TestEqualBlocksAreReportedOncePerCopy(t *testing.T) {
	t.Parallel()
	for _, dedupe := range []bool{false, true} {
		cfg := flat()
		cfg.Dedupe = dedupe
		l := newLedger(t)
		e := mustNew(t, cfg, l)
		// The last full block of a prompt that ends on a block edge is never
		// reused, so the second sequence fills a copy of it.
		for range 2 {
			mustAdd(t, e, e.freeAt, Request{Prompt: prompt(0, 8), OutputTokens: 1})
			drive(t, e)
		}
		want := 2
		if dedupe {
			want = 1
		}
		last := Keys(0, prompt(0, 8), 4)[1]
		if got := l.counts[TierDevice][last]; got != want {
			t.Errorf("dedupe %v: %d copies announced, want %d", dedupe, got, want)
		}
	}
}

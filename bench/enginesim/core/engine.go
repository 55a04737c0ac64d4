package core

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Never is what Next returns when the engine has nothing to do.
const Never = time.Duration(math.MaxInt64)

// Conditions a caller branches on.
var (
	ErrQueueFull = errors.New("core: queue full")
	ErrTooLong   = errors.New("core: sequence longer than the model")
)

// Config describes one engine. The zero value is not usable; start from Default.
type Config struct {
	Timing      Timing
	BlockSize   int     // tokens per block
	Blocks      int     // device blocks; must hold one sequence of MaxModelLen
	HostBlocks  int     // blocks of the host tier; 0 means none
	MaxModelLen int     // prompt plus output, tokens
	MaxSeqs     int     // sequences in a batch
	MaxTokens   int     // token budget of a step: prefill chunks and decodes
	MaxQueued   int     // waiting sequences; 0 means no limit
	ByPriority  bool    // order the queue by Request.Priority, lower first; else by arrival
	Dedupe      bool    // equal blocks are kept once (radix trees); else twice (vLLM)
	NoCaching   bool    // no prefix is ever reused
	Slow        float64 // every step takes this much longer; 0 means 1

	// CatchUp bounds how late a caller may call Step and still have the next
	// step start when the last one ended; beyond it the next one starts at the
	// time of the call. 0 means never catch up. A virtual clock is never late.
	CatchUp time.Duration
}

// Default is a small engine with the timing of preset "h100-8b".
func Default() Config {
	return Config{
		Timing:      presets["h100-8b"],
		BlockSize:   16,
		Blocks:      8192,
		MaxModelLen: 32768,
		MaxSeqs:     256,
		MaxTokens:   8192,
	}
}

// Validate reports everything that is wrong with c.
func (c *Config) Validate() error {
	var errs []error
	positive := func(name string, v int) {
		if v <= 0 {
			errs = append(errs, fmt.Errorf("cannot use %s %d: must be positive", name, v))
		}
	}
	positive("block size", c.BlockSize)
	positive("blocks", c.Blocks)
	positive("max model length", c.MaxModelLen)
	positive("max sequences", c.MaxSeqs)
	positive("max tokens per step", c.MaxTokens)
	if c.HostBlocks < 0 || c.MaxQueued < 0 || c.Slow < 0 {
		errs = append(errs, errors.New("cannot use negative host blocks, queue limit or slow factor"))
	}
	if c.BlockSize > 0 && c.Blocks*c.BlockSize < c.MaxModelLen {
		errs = append(errs, fmt.Errorf("cannot hold one sequence of %d tokens in %d blocks of %d", c.MaxModelLen, c.Blocks, c.BlockSize))
	}
	errs = append(errs, c.Timing.validate())
	return errors.Join(errs...)
}

// Engine is one simulated engine.
type Engine struct {
	cfg      Config
	pool     *pool
	waiting  []*Seq
	running  []*Seq
	order    uint64
	stepping bool
	stepEnd  time.Duration
	freeAt   time.Duration // when the last step ended
	due      time.Duration // earliest start of the next step, valid when there is work
	now      batch
	outputs  []Output
	scratch  []uint32
	counts   Counters
	last     StepStats
}

// New returns an idle engine. A nil observer hears nothing.
func New(cfg Config, obs Observer) (*Engine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if obs == nil {
		obs = noObserver{}
	}
	if cfg.Slow == 0 {
		cfg.Slow = 1
	}
	return &Engine{cfg: cfg, pool: newPool(cfg.Blocks, cfg.HostBlocks, cfg.Dedupe, obs)}, nil
}

// Add queues a sequence. It returns ErrQueueFull or ErrTooLong, wrapped.
func (e *Engine) Add(now time.Duration, r Request) (*Seq, error) {
	n := len(r.Prompt)
	if r.Prompt == nil {
		n = r.PromptTokens
	}
	if n <= 0 || r.OutputTokens <= 0 {
		return nil, fmt.Errorf("cannot add a sequence of %d prompt and %d output tokens", n, r.OutputTokens)
	}
	if n+r.OutputTokens > e.cfg.MaxModelLen {
		return nil, fmt.Errorf("cannot add %d prompt and %d output tokens to a model of %d: %w", n, r.OutputTokens, e.cfg.MaxModelLen, ErrTooLong)
	}
	if e.cfg.MaxQueued > 0 && len(e.waiting) >= e.cfg.MaxQueued {
		return nil, fmt.Errorf("cannot queue behind %d sequences: %w", len(e.waiting), ErrQueueFull)
	}
	if r.Finish == FinishNone {
		r.Finish = FinishLength
	}
	s := &Seq{Tag: r.Tag, req: r, prompt: n, arrival: now, order: e.order, keys: r.Keys}
	e.order++
	if s.keys == nil && r.Prompt != nil {
		s.keys = Keys(RootKey(r.Adapter, r.Salt), r.Prompt, e.cfg.BlockSize)
	}
	s.keys = slices.Clip(s.keys) // decode appends; never into the caller's array
	if e.idle() {
		e.due = max(now, e.freeAt)
	}
	e.enqueue(s)
	return s, nil
}

// enqueue puts s where the queue order wants it.
func (e *Engine) enqueue(s *Seq) {
	at := len(e.waiting)
	for at > 0 && e.before(s, e.waiting[at-1]) {
		at--
	}
	e.waiting = append(e.waiting, nil)
	copy(e.waiting[at+1:], e.waiting[at:])
	e.waiting[at] = s
}

// before is the queue order. A pre-empted sequence keeps its arrival order and
// so returns to the front.
func (e *Engine) before(a, b *Seq) bool {
	if e.cfg.ByPriority && a.req.Priority != b.req.Priority {
		return a.req.Priority < b.req.Priority
	}
	return a.order < b.order
}

// Cancel ends s and frees its blocks at once; a step that computes it goes on
// to its end. It reports whether s was alive.
func (e *Engine) Cancel(s *Seq) bool {
	if s.done {
		return false
	}
	s.done = true
	if s.running {
		e.running = remove(e.running, s)
	} else {
		e.waiting = remove(e.waiting, s)
	}
	e.drop(s)
	e.counts.Aborted++
	return true
}

func remove(list []*Seq, s *Seq) []*Seq {
	for i, x := range list {
		if x == s {
			copy(list[i:], list[i+1:])
			list[len(list)-1] = nil
			return list[:len(list)-1]
		}
	}
	panic("BUG: sequence not where its state says")
}

// drop gives back everything that s holds.
func (e *Engine) drop(s *Seq) {
	e.pool.release(s.blocks)
	s.blocks, s.running = nil, false
}

func (e *Engine) idle() bool { return !e.stepping && len(e.running) == 0 && len(e.waiting) == 0 }

// Next is the time at which Step should be called: the end of the step that
// runs, or the start of the next one. Never if there is nothing to do.
func (e *Engine) Next() time.Duration {
	if e.stepping {
		return e.stepEnd
	}
	if e.idle() {
		return Never
	}
	return e.due
}

// Step does what Next announced, if now has come that far: it ends the step
// that runs and starts the next one. The result is valid until the next call.
func (e *Engine) Step(now time.Duration) []Output {
	e.outputs = e.outputs[:0]
	if e.stepping {
		if now < e.stepEnd {
			return nil
		}
		e.finishStep()
		e.due = e.stepEnd
		if now-e.stepEnd > e.cfg.CatchUp {
			e.due = now
		}
	}
	if !e.idle() && now >= e.due {
		e.startStep()
	}
	return e.outputs
}

// Reset drops every sequence and all cached content, as a restart does.
func (e *Engine) Reset() {
	for _, s := range e.running {
		s.done = true
		e.drop(s)
		e.counts.Aborted++
	}
	for _, s := range e.waiting {
		s.done = true
		e.drop(s)
		e.counts.Aborted++
	}
	e.running, e.waiting, e.stepping = nil, nil, false
	e.pool.clear()
}

// ClearCache forgets all cached content and reports whether it did: it does
// not while a sequence is in the engine.
func (e *Engine) ClearCache() bool {
	if !e.idle() {
		return false
	}
	e.pool.clear()
	return true
}

// SetSlow makes every later step take factor times as long; 0 means 1.
func (e *Engine) SetSlow(factor float64) {
	if factor <= 0 {
		factor = 1
	}
	e.cfg.Slow = factor
}

// Live returns the sequences in the engine, running ones first.
func (e *Engine) Live() []*Seq {
	live := make([]*Seq, 0, len(e.running)+len(e.waiting))
	return append(append(live, e.running...), e.waiting...)
}

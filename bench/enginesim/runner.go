package enginesim

import (
	"math"
	"sync"
	"time"

	"penstock/bench/enginesim/core"
)

// runner drives one engine on the wall clock, scaled by speed.
type runner struct {
	rank  int
	speed float64
	slow  float64 // configured: a replica that is slower than its peers
	now   func() time.Time
	epoch time.Time
	poke  chan struct{} // capacity 1: there may be something to do earlier than planned

	mu       sync.Mutex // guards what follows; never held across I/O
	engine   *core.Engine
	draining bool
	meters   meters
	history  *history // nil unless the dialect reports iterations
}

// lag is how late the runner may be and still keep the engine on schedule: a
// few scheduling delays of a busy machine, in wall time.
const lag = 50 * time.Millisecond

func newRunner(rank int, cfg *Config) (*runner, error) {
	ec := cfg.Engine
	ec.CatchUp = time.Duration(float64(lag) * cfg.Speed)
	var obs core.Observer
	if cfg.Observer != nil {
		obs = cfg.Observer(rank)
	}
	engine, err := core.New(ec, obs)
	if err != nil {
		return nil, err
	}
	r := &runner{rank: rank, speed: cfg.Speed, slow: engine.Config().Slow, now: cfg.Now, epoch: cfg.Now(), poke: make(chan struct{}, 1), engine: engine}
	r.meters = newMeters()
	if cfg.Dialect == TRTLLM {
		r.history = newHistory()
	}
	return r, nil
}

// time is simulated time since the start.
func (r *runner) time() time.Duration {
	return time.Duration(float64(r.now().Sub(r.epoch)) * r.speed)
}

// run steps the engine until stop is closed.
func (r *runner) run(stop <-chan struct{}) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		wait, due := r.advance()
		if due {
			continue
		}
		timer.Reset(wait)
		select {
		case <-stop:
			r.abortAll()
			return
		case <-r.poke:
		case <-timer.C:
		}
	}
}

// advance takes one step if it is due, else says how long to wait.
func (r *runner) advance() (wait time.Duration, due bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.engine.Next()
	if next == core.Never {
		return time.Hour, false
	}
	now := r.time()
	if now < next {
		return time.Duration(math.Ceil(float64(next-now) / r.speed)), false
	}
	r.deliver(r.engine.Step(now))
	if r.history != nil {
		snap := r.engine.Snapshot()
		r.history.add(&snap, r.engine.Config().BlockSize)
	}
	return 0, true
}

func (r *runner) deliver(outs []core.Output) {
	for i := range outs {
		o := &outs[i]
		tag := o.Seq.Tag.(seqTag)
		j := tag.job
		j.mu.Lock()
		if o.Index == 0 {
			j.cached += o.Seq.CachedTokens()
			r.meters.firstToken(o)
			if j.first == 0 {
				j.first = o.At
			}
		} else {
			r.meters.gap(o.At - j.last[tag.choice])
		}
		j.last[tag.choice] = o.At
		j.made++
		j.mail = append(j.mail, piece{choice: tag.choice, index: o.Index, finish: o.Finish})
		if o.Finish != core.FinishNone {
			j.left--
			r.meters.done(o)
		}
		j.mu.Unlock()
		j.wake()
	}
}

// submit puts the answers of j into the engine, all or none.
func (r *runner) submit(j *job, adapter, salt string, priority int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	j.runner = r
	j.last = make([]time.Duration, len(j.answers))
	j.left = len(j.answers)
	if r.draining {
		// vLLM lets a request in during a drain and ends it at once.
		j.abortLocked()
		return nil
	}
	now := r.time()
	for i := range j.answers {
		a := &j.answers[i]
		s, err := r.engine.Add(now, core.Request{
			Prompt: a.prompt, Adapter: adapter, Salt: salt, Priority: priority,
			OutputTokens: a.writer.Tokens(), Finish: a.finish, Output: a.writer.ID,
			Tag: seqTag{job: j, choice: i},
		})
		if err != nil {
			for _, added := range j.seqs {
				r.engine.Cancel(added)
			}
			return err
		}
		j.seqs = append(j.seqs, s)
	}
	r.kick()
	return nil
}

func (r *runner) kick() {
	select {
	case r.poke <- struct{}{}:
	default:
	}
}

func (r *runner) cancel(j *job) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	alive := false
	for _, s := range j.seqs {
		if r.engine.Cancel(s) {
			r.meters.aborted(s)
			alive = true
		}
	}
	if alive {
		j.abortLocked()
	}
	return alive
}

// abortLocked ends j without its sequences; runner.mu is held.
func (j *job) abortLocked() {
	j.mu.Lock()
	j.left, j.aborted = 0, true
	j.mu.Unlock()
	j.wake()
}

// abortAll ends every job, as a stopping or restarting engine does.
func (r *runner) abortAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.engine.Live() {
		r.meters.aborted(s)
		s.Tag.(seqTag).job.abortLocked()
	}
	r.engine.Reset()
}

func (r *runner) snapshot() core.Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.engine.Snapshot()
}

// setSlow stretches steps by factor on top of the configured slowness.
func (r *runner) setSlow(factor float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.engine.SetSlow(r.slow * factor)
}

func (r *runner) setDraining(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.draining = on
}

func (r *runner) clearCache() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.engine.ClearCache()
}

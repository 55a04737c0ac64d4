package health

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/netip"
	"time"

	"penstock/configs"
	"penstock/pools"
	"penstock/pools/engine"
)

// sglangFloor is the shortest useful timeout of SGLang's probe, which generates
// a token and answers no sooner than after one second.
const sglangFloor = 2 * time.Second

// learnEvery is how often the list of models is read again: adapters come and
// go at run time.
const learnEvery = time.Minute

// minInterval keeps a mistaken configuration from becoming a flood.
const minInterval = 10 * time.Millisecond

// maxStart spreads the first probes, so that a gateway in front of a thousand
// replicas does not ask them all in one instant.
const maxStart = 500 * time.Millisecond

// Options is what a Prober needs besides the pool.
type Options struct {
	TLS       *tls.Config            // for https replicas
	AllowAddr func(netip.Addr) error // for replicas added at run time; nil allows all
	Seed      uint64                 // of the jitter
	Now       func() time.Time       // nil: time.Now
}

// Prober probes the replicas of one pool. It reads the pool's configuration
// before each probe, so a reload needs no new one.
type Prober struct {
	set  *pools.Set
	opts Options
}

// New returns a prober. It starts nothing.
func New(set *pools.Set, opts Options) *Prober {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Prober{set: set, opts: opts}
}

// Run probes until ctx is done.
func (p *Prober) Run(ctx context.Context) {
	client := engine.NewClient(engine.Options{TLS: p.opts.TLS, AllowAddr: p.opts.AllowAddr})
	defer client.Close()
	engine.Follow(ctx, p.set, func(ctx context.Context, id pools.ReplicaID, ep pools.Epoch) {
		seed := fnv.New64a()
		_, _ = seed.Write([]byte(id)) // cannot fail
		w := &watcher{
			set: p.set, client: client, id: id, epoch: ep, now: p.opts.Now,
			rand: rand.New(rand.NewPCG(p.opts.Seed, seed.Sum64())),
		}
		w.run(ctx)
	})
}

// watcher probes one life of a replica.
type watcher struct {
	set    *pools.Set
	client *engine.Client
	id     pools.ReplicaID
	epoch  pools.Epoch
	now    func() time.Time
	rand   *rand.Rand

	noHealth bool      // it has no /health: ask for its models instead
	learnt   time.Time // when its models were last read
}

func (w *watcher) run(ctx context.Context) {
	cfg := w.set.Config()
	first := min(maxStart, w.interval(&cfg)/10)
	if !engine.Wait(ctx, time.Duration(w.rand.Int64N(int64(first)+1))) {
		return
	}
	for {
		cfg = w.set.Config()
		r, ok := engine.Current(w.set, w.id, w.epoch)
		if !ok || ctx.Err() != nil {
			return
		}
		w.round(ctx, &cfg, r)
		every := w.interval(&cfg)
		jitter := time.Duration((w.rand.Float64() - 0.5) * 0.2 * float64(every))
		if !engine.Wait(ctx, every+jitter) {
			return
		}
	}
}

// round probes once, and learns about the engine when that is due.
func (w *watcher) round(ctx context.Context, cfg *configs.Pool, r pools.Replica) {
	if !cfg.Health.Disabled {
		err := w.probe(ctx, cfg, r)
		if ctx.Err() != nil {
			return // stopped, not failed
		}
		detail := "probe passed"
		if err != nil {
			detail = err.Error()
		}
		w.set.ReportProbe(w.id, w.epoch, err == nil, detail)
		if err != nil {
			return
		}
	}
	if w.learnt.IsZero() || w.now().Sub(w.learnt) >= learnEvery {
		ctx, cancel := context.WithTimeout(ctx, w.timeout(cfg))
		defer cancel()
		if w.learn(ctx, cfg, r) {
			w.learnt = w.now()
		}
	}
}

// probe returns nil when the engine is well.
func (w *watcher) probe(ctx context.Context, cfg *configs.Pool, r pools.Replica) error {
	limit := w.timeout(cfg)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	path, fallback := w.path(cfg, r)
	a, err := w.client.Get(ctx, r, cfg.Secret, path)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %v", limit)
	}
	if err != nil {
		return err
	}
	if a.Status == 404 && fallback {
		w.noHealth = true
		if a, err = w.client.Get(ctx, r, cfg.Secret, modelsPath); err != nil {
			return err
		}
	}
	if w.noHealth && (a.Status == 401 || a.Status == 403) {
		return nil // it guards its models, so it is there
	}
	if !a.OK() {
		return fmt.Errorf("status %d", a.Status)
	}
	return nil
}

// path returns what to ask for, and whether a 404 means to ask for the models
// instead: only an engine that nothing is known about may lack /health.
func (w *watcher) path(cfg *configs.Pool, r pools.Replica) (path string, fallback bool) {
	if r.HealthURL != "" {
		return r.HealthURL, false
	}
	if path = cfg.Health.For(w.set.Engine(w.id)).Path; path != "" {
		w.noHealth = path == modelsPath
		return path, false
	}
	if w.noHealth {
		return modelsPath, false
	}
	return "/health", true
}

func (w *watcher) interval(cfg *configs.Pool) time.Duration {
	return max(cfg.Health.For(w.set.Engine(w.id)).Interval.D(), minInterval)
}

func (w *watcher) timeout(cfg *configs.Pool) time.Duration {
	kind := w.set.Engine(w.id)
	d := cfg.Health.For(kind).Timeout.D()
	if kind == configs.EngineSGLang {
		return max(d, sglangFloor)
	}
	return d
}

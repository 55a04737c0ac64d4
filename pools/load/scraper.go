package load

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"net/netip"
	"time"

	"penstock/configs"
	"penstock/pools"
	"penstock/pools/engine"
)

// floor is the shortest interval: a scrape costs an engine's API process
// milliseconds of the time that it serves requests with.
const floor = time.Second

// backOff is the interval for an engine that has no load to read.
const backOff = time.Minute

// Defaults for a configuration that was not completed.
const (
	defaultInterval = 2 * time.Second
	defaultTimeout  = time.Second
)

// errMissing is a route that the engine does not have.
var errMissing = errors.New("load: no such route")

// Options is what a Scraper needs besides the pool.
type Options struct {
	TLS       *tls.Config            // for https replicas
	AllowAddr func(netip.Addr) error // for replicas added at run time; nil allows all
	Seed      uint64                 // of the jitter
	Now       func() time.Time       // nil: time.Now
}

// Scraper reads the load of the replicas of one pool. It reads the pool's
// configuration before each round, so a reload needs no new one.
type Scraper struct {
	set  *pools.Set
	opts Options
}

// New returns a scraper. It starts nothing.
func New(set *pools.Set, opts Options) *Scraper {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Scraper{set: set, opts: opts}
}

// Run reads until ctx is done.
func (s *Scraper) Run(ctx context.Context) {
	client := engine.NewClient(engine.Options{
		TLS: s.opts.TLS, AllowAddr: s.opts.AllowAddr,
		IdleTimeout: 3 * time.Second, // engines on uvicorn close after 5 s
	})
	defer client.Close()
	engine.Follow(ctx, s.set, func(ctx context.Context, id pools.ReplicaID, ep pools.Epoch) {
		seed := fnv.New64a()
		_, _ = seed.Write([]byte(id)) // cannot fail
		r := &reader{
			set: s.set, client: client, id: id, epoch: ep, now: s.opts.Now,
			rand: rand.New(rand.NewPCG(s.opts.Seed, seed.Sum64())),
		}
		r.run(ctx)
	})
}

// reader reads one life of a replica.
type reader struct {
	set    *pools.Set
	client *engine.Client
	id     pools.ReplicaID
	epoch  pools.Epoch
	now    func() time.Time
	rand   *rand.Rand

	noLoads bool             // an SGLang without /v1/loads
	last    pools.EngineLoad // for an engine that says only what changed
	known   bool             // last holds something
}

func (r *reader) run(ctx context.Context) {
	cfg := r.set.Config()
	if !engine.Wait(ctx, time.Duration(r.rand.Int64N(int64(interval(&cfg)/2)+1))) {
		return
	}
	for {
		cfg = r.set.Config()
		every := interval(&cfg)
		replica, ok := engine.Current(r.set, r.id, r.epoch)
		if !ok || ctx.Err() != nil {
			return
		}
		if !cfg.Load.Disabled {
			if err := r.round(ctx, &cfg, replica); errors.Is(err, errMissing) || errors.Is(err, errNothing) {
				every = max(every, backOff)
			}
		}
		jitter := time.Duration((r.rand.Float64() - 0.5) * 0.2 * float64(every))
		if !engine.Wait(ctx, max(floor, every+jitter)) {
			return
		}
	}
}

func interval(cfg *configs.Pool) time.Duration {
	if d := cfg.Load.Interval.D(); d > 0 {
		return max(floor, d)
	}
	return defaultInterval
}

// round takes one reading and reports it.
func (r *reader) round(ctx context.Context, cfg *configs.Pool, replica pools.Replica) error {
	kind := r.set.Engine(r.id)
	if kind == configs.EngineAuto {
		return nil // the probe finds out; until then nobody knows what to ask
	}
	limit := cfg.Load.Timeout.D()
	if limit <= 0 {
		limit = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	l, err := r.read(ctx, cfg, replica, kind)
	if err != nil {
		r.set.ReportLoadFailed()
		return err
	}
	r.last, r.known = l, true
	r.set.ReportLoad(r.id, r.epoch, l)
	return nil
}

// read asks the best source that the kind of engine has.
func (r *reader) read(ctx context.Context, cfg *configs.Pool, replica pools.Replica, kind configs.Engine) (pools.EngineLoad, error) {
	switch kind {
	case configs.EngineSGLang:
		return r.readSGLang(ctx, cfg, replica)
	case configs.EngineTRTLLM:
		return r.readTRTLLM(ctx, cfg, replica)
	case configs.EngineVLLM, configs.EngineOpenAI, configs.EngineAuto:
	}
	return r.readText(ctx, cfg, replica, "/metrics")
}

func (r *reader) readSGLang(ctx context.Context, cfg *configs.Pool, replica pools.Replica) (pools.EngineLoad, error) {
	if !r.noLoads {
		body, err := r.get(ctx, cfg, replica, "/v1/loads?include=core")
		if err == nil {
			s, err := scanSGLang(body)
			if err != nil {
				return pools.EngineLoad{}, err
			}
			return r.loadOf(s)
		}
		if !errors.Is(err, errMissing) {
			return pools.EngineLoad{}, err
		}
		r.noLoads = true
	}
	return r.readText(ctx, cfg, replica, "/metrics")
}

// readTRTLLM reads the Prometheus page. The engine's own /metrics gives each
// entry to one reader only, so it is read when the configuration says that the
// gateway is that reader, and not otherwise.
func (r *reader) readTRTLLM(ctx context.Context, cfg *configs.Pool, replica pools.Replica) (pools.EngineLoad, error) {
	if !cfg.Load.TRTLLMMetrics {
		return r.readText(ctx, cfg, replica, "/prometheus/metrics")
	}
	body, err := r.get(ctx, cfg, replica, "/metrics")
	if err != nil {
		return pools.EngineLoad{}, err
	}
	s, none, err := scanIterations(body)
	if err != nil {
		return pools.EngineLoad{}, err
	}
	if !none {
		return r.loadOf(s)
	}
	if !r.known {
		return pools.EngineLoad{}, fmt.Errorf("cannot tell the load: %w", errIdle)
	}
	l := r.last // no iteration since: what was last said still holds
	l.At = r.now()
	return l, nil
}

// errIdle is a TensorRT-LLM that has not run an iteration since it was asked
// first.
var errIdle = errors.New("load: no iteration yet")

func (r *reader) readText(ctx context.Context, cfg *configs.Pool, replica pools.Replica, path string) (pools.EngineLoad, error) {
	body, err := r.get(ctx, cfg, replica, path)
	if err != nil {
		return pools.EngineLoad{}, err
	}
	return r.loadOf(scanText(body))
}

func (r *reader) get(ctx context.Context, cfg *configs.Pool, replica pools.Replica, path string) ([]byte, error) {
	a, err := r.client.Get(ctx, replica, cfg.Secret, path)
	switch {
	case err != nil:
		return nil, err
	case a.Status == 404 || a.Status == 405 || a.Status == 501:
		return nil, fmt.Errorf("cannot read %s: %w", path, errMissing)
	case !a.OK():
		return nil, fmt.Errorf("cannot read %s: status %d", path, a.Status)
	}
	return a.Body, nil
}

// loadOf turns sums into a reading. Requests add up over the ranks behind one
// URL; usage is their mean, since each has its own cache.
func (r *reader) loadOf(s sums) (pools.EngineLoad, error) {
	l := pools.EngineLoad{At: r.now(), Running: -1, Waiting: -1, KVUsage: -1}
	if s == (sums{}) {
		return l, errNothing
	}
	if s.count[gaugeRunning] > 0 {
		l.Running = requests(s.total[gaugeRunning])
	}
	if s.count[gaugeWaiting] > 0 {
		l.Waiting = requests(s.total[gaugeWaiting])
	}
	if n := s.count[gaugeUsage]; n > 0 {
		l.KVUsage = min(1, s.total[gaugeUsage]/float64(n))
	}
	return l, nil
}

// requests bounds a count: an engine that reports nonsense must not overflow
// the sums made of it.
func requests(v float64) int { return int(math.Min(math.Round(v), 1e6)) }

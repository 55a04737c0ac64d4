package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"penstock/bench/enginesim"
	"penstock/bench/enginesim/core"
)

// model is what the fleet serves.
const model = "demo"

// timing is a preset slow enough for prefill to be seen: 44 µs per token, so a
// prompt of 4,000 tokens that misses the cache takes a fifth of a second.
const timing = "h100x2-32b"

// fleet is a set of running simulated engines.
type fleet struct {
	servers []*enginesim.Server
	urls    []string
	serving sync.WaitGroup
	mu      sync.Mutex // guards err
	err     error      // of the first server that stopped by itself
}

// startFleet starts n engines that differ in nothing but their address.
func startFleet(ctx context.Context, n int) (*fleet, error) {
	f := &fleet{}
	for range n {
		if err := f.add(ctx); err != nil {
			return nil, errors.Join(err, f.close())
		}
	}
	return f, nil
}

func (f *fleet) add(ctx context.Context) error {
	cfg := enginesim.Default(enginesim.VLLM)
	cfg.Model = model
	cfg.CacheReport = true
	var err error
	if cfg.Engine.Timing, err = core.Preset(timing); err != nil {
		return fmt.Errorf("cannot start the fleet: %w", err)
	}
	s, err := enginesim.New(cfg)
	if err != nil {
		return fmt.Errorf("cannot start the fleet: %w", err)
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(fmt.Errorf("cannot start the fleet: %w", err), s.Close())
	}
	f.servers = append(f.servers, s)
	f.urls = append(f.urls, "http://"+ln.Addr().String())
	f.serving.Go(func() {
		if err := s.Serve(ln); err != nil {
			f.mu.Lock()
			f.err = errors.Join(f.err, err)
			f.mu.Unlock()
		}
	})
	return nil
}

// hitRate is the share of prompt tokens that the engines found in their caches.
func (f *fleet) hitRate() float64 {
	var hits, queries int64
	for _, s := range f.servers {
		st := s.Stats()
		hits += st.PrefixHits
		queries += st.PrefixQueries
	}
	if queries == 0 {
		return 0
	}
	return float64(hits) / float64(queries)
}

func (f *fleet) close() error {
	var errs []error
	for _, s := range f.servers {
		errs = append(errs, s.Close())
	}
	f.serving.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(append(errs, f.err)...)
}

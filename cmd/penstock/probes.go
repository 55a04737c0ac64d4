package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"penstock/configs"
	"penstock/pools"
	"penstock/pools/health"
	"penstock/pools/load"
)

// probes runs the prober and the load reader of each pool, and follows the
// configuration as pools come and go.
type probes struct {
	ctx   context.Context //nolint:containedctx // the life of what follow starts, not of a call
	fleet *pools.Fleet
	log   *slog.Logger
	allow func(netip.Addr) error
	wg    sync.WaitGroup

	mu      sync.Mutex // guards running
	running map[*pools.Set]*poolProbes
}

// poolProbes is what runs for one pool.
type poolProbes struct {
	tls    configs.ClientTLS
	client *http.Client // for the worker API's small questions; checks addresses at each dial
	stop   context.CancelFunc
}

func newProbes(ctx context.Context, fleet *pools.Fleet, log *slog.Logger, allow func(netip.Addr) error) *probes {
	return &probes{ctx: ctx, fleet: fleet, log: log, allow: allow, running: map[*pools.Set]*poolProbes{}}
}

// follow starts what is missing and stops what has no pool any more.
func (p *probes) follow(cfg *configs.Config) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wanted := map[*pools.Set]bool{}
	for i := range cfg.Pools {
		set := p.fleet.Pool(cfg.Pools[i].Name)
		if set == nil {
			continue
		}
		wanted[set] = true
		if run := p.running[set]; run != nil {
			if none := (configs.ClientTLS{}); run.tls == none && cfg.Pools[i].TLS == none {
				continue
			}
			run.stop() // certificates may have changed under the same name
		}
		p.running[set] = p.begin(set, &cfg.Pools[i])
	}
	for set, run := range p.running {
		if !wanted[set] {
			run.stop()
			delete(p.running, set)
		}
	}
}

func (p *probes) begin(set *pools.Set, cfg *configs.Pool) *poolProbes {
	secure, err := pools.ClientTLS(cfg.TLS)
	if err != nil {
		// The data plane has read the same files a moment ago and would have
		// refused the configuration.
		p.log.Error("probes run without the pool's tls settings", slog.String("pool", cfg.Name), slog.Any("error", err))
	}
	ctx, stop := context.WithCancel(p.ctx)
	seed := rand.Uint64()
	prober := health.New(set, health.Options{TLS: secure, AllowAddr: p.allow, Seed: seed})
	scraper := load.New(set, load.Options{TLS: secure, AllowAddr: p.allow, Seed: seed})
	p.wg.Go(func() { prober.Run(ctx) })
	p.wg.Go(func() { scraper.Run(ctx) })
	return &poolProbes{tls: cfg.TLS, client: smallClient(secure, p.allow), stop: stop}
}

// smallClient asks engines the worker API's questions; it keeps no connection.
// The address is checked at each dial, since a registered name can change what
// it resolves to. Configured replicas are held to the same rule here: those that
// lie outside it cannot be asked through the worker API.
func smallClient(secure *tls.Config, allow func(netip.Addr) error) *http.Client {
	dialer := &net.Dialer{Timeout: 5 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("cannot check address %q: %w", address, err)
		}
		return allow(at.Addr().Unmap())
	}}
	return &http.Client{
		Transport: &http.Transport{DialContext: dialer.DialContext, TLSClientConfig: secure, DisableKeepAlives: true, TLSHandshakeTimeout: 5 * time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

var errNoPoolRunning = errors.New("penstock: pool is not running")

func (p *probes) client(pool string) (*http.Client, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if run := p.running[p.fleet.Pool(pool)]; run != nil {
		return run.client, nil
	}
	return nil, fmt.Errorf("cannot reach pool %q: %w", pool, errNoPoolRunning)
}

func (p *probes) wait() { p.wg.Wait() }

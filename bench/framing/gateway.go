package framing

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"penstock/configs"
	"penstock/pools"
	"penstock/proxy"
	"penstock/proxy/listen"
	"penstock/proxy/watch"
)

// Gateway is a Penstock in this process.
type Gateway struct {
	server  *proxy.Server
	watcher *watch.Watcher
	fleet   *pools.Fleet
	socket  net.Listener
	data    *listen.Listener
	wg      sync.WaitGroup
}

// Limits that the size cases of the corpus are made for, and short times for
// those whose request never ends.
const (
	maxBodyBytes   = 1 << 20
	maxHeaderBytes = 16 << 10
	maxFields      = 100
	headerTimeout  = time.Second
)

// gatewayConfig passes every path on: a case must be refused for its bytes, not
// because nobody serves its path.
func gatewayConfig(backend string) (*configs.Config, error) {
	cfg := configs.FromUpstreams([]string{"http://" + backend})
	cfg.Listen.MaxBodyBytes = maxBodyBytes
	cfg.Listen.MaxHeaderBytes = maxHeaderBytes
	cfg.Listen.MaxHeaderFields = maxFields
	cfg.Listen.HeaderTimeout = configs.Duration(headerTimeout)
	cfg.Listen.BodyMinRate = maxBodyBytes // a chunked body gets one second more
	cfg.Log.Access = false
	for i := range cfg.Pools {
		cfg.Pools[i].Engine = configs.EngineOpenAI
		cfg.Pools[i].Health.Disabled = true
		cfg.Pools[i].Load.Disabled = true
	}
	if _, err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("cannot configure the gateway: %w", err)
	}
	return cfg, nil
}

// StartPenstock runs a gateway in front of the backend at host:port. change,
// when given, adjusts the configuration.
func StartPenstock(backend string, change ...func(*configs.Config)) (*Gateway, error) {
	cfg, err := gatewayConfig(backend)
	if err != nil {
		return nil, err
	}
	for _, f := range change {
		f(cfg)
	}
	log := slog.New(slog.DiscardHandler)
	g := new(Gateway)
	if g.watcher, err = watch.New(watch.Options{IgnoreHalfClose: !cfg.Listen.HalfCloseIsGone}); err != nil {
		return nil, err
	}
	if g.fleet, err = pools.NewFleet(cfg.Pools, pools.Deps{Log: log}); err != nil {
		return nil, err
	}
	g.server, err = proxy.New(cfg, proxy.Deps{
		Fleet: g.fleet, Watcher: g.watcher, Log: log, Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		return nil, err
	}
	if g.socket, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	if g.data, err = listen.New(g.socket, listen.Options{Wrap: g.server.WrapConn}); err != nil {
		return nil, err
	}
	g.wg.Go(func() { _ = g.watcher.Run(context.Background()) })
	g.wg.Go(func() { _ = g.server.Serve(g.data) })
	return g, nil
}

// Target is where the gateway listens.
func (g *Gateway) Target() Target {
	return Target{Network: "tcp", Address: g.socket.Addr().String()}
}

// Stop ends the gateway and returns an error if requests or leases are left.
func (g *Gateway) Stop() error {
	g.data.Stop()
	_ = g.data.Close()
	g.server.Close()
	_ = g.watcher.Close()
	g.wg.Wait()
	g.fleet.Close()
	if n, leases := g.server.InFlight(), g.fleet.Leases(); n != 0 || leases != 0 {
		return fmt.Errorf("cannot account for %d requests and %d leases", n, leases)
	}
	return nil
}

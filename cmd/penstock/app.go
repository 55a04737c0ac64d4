package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
	_ "time/tzdata" // chat templates print dates in the engines' zone; a static image has no zone files

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"penstock/configs"
	"penstock/pools"
	"penstock/proxy"
	"penstock/proxy/admin"
	"penstock/proxy/listen"
	"penstock/proxy/watch"
	"penstock/routing/keying"
)

// app is the gateway with everything wired by hand, in the order of newApp.
// Close is its only end.
type app struct {
	log    *slog.Logger
	level  *slog.LevelVar
	reload func(context.Context) (*configs.Config, error) // reads the configuration anew

	cfg      atomic.Pointer[configs.Config]
	registry *prometheus.Registry
	watcher  *watch.Watcher
	fleet    *pools.Fleet
	keys     *keying.Manager
	server   *proxy.Server
	sockets  *listen.Set
	data     *listen.Listener
	dataTLS  *listen.TLSListener
	adminURL string
	dataURL  string
	admins   []*http.Server
	probes   *probes

	addresses *admin.AddressPolicy
	workers   *admin.WorkerAPI
	metrics   *appMetrics

	reloading sync.Mutex // serialises apply
	wg        sync.WaitGroup
	run       context.Context //nolint:containedctx // the life of the background work, ended by stop
	stop      context.CancelFunc
	failed    chan error // a listener died
}

// appOptions is what newApp needs besides the configuration.
type appOptions struct {
	Log     *slog.Logger
	Level   *slog.LevelVar
	Access  io.Writer
	Sockets *listen.Set
	Reload  func(context.Context) (*configs.Config, error)
}

func newApp(cfg *configs.Config, o appOptions) (*app, error) {
	a := &app{
		log: o.Log, level: o.Level, reload: o.Reload, sockets: o.Sockets,
		registry: prometheus.NewRegistry(), failed: make(chan error, 4),
	}
	a.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	a.metrics = newAppMetrics(a.registry, a)
	a.cfg.Store(cfg)

	watcher, err := watch.New(watch.Options{IgnoreHalfClose: !cfg.Listen.HalfCloseIsGone})
	if err != nil {
		return nil, fmt.Errorf("cannot start the client watch: %w", err)
	}
	a.watcher = watcher
	a.fleet, err = pools.NewFleet(cfg.Pools, pools.Deps{Now: time.Now, Log: o.Log})
	if err != nil {
		return nil, errors.Join(err, watcher.Close())
	}
	a.registry.MustRegister(pools.NewCollector(a.fleet))
	a.addresses, err = admin.NewAddressPolicy(cfg.Admin.WorkerAllow)
	if err != nil {
		return nil, errors.Join(err, watcher.Close())
	}
	a.workers, err = a.newWorkerAPI()
	if err != nil {
		return nil, errors.Join(err, watcher.Close())
	}
	a.keys, err = keying.New(keying.Deps{Log: o.Log, Metrics: a.registry, AllowAddr: a.addresses.Check})
	if err != nil {
		return nil, errors.Join(err, watcher.Close())
	}
	deps := proxy.Deps{
		Keys:  a.keys,
		Fleet: a.fleet, Watcher: watcher, Log: o.Log, Metrics: a.registry, Access: o.Access,
		AllowAddr: a.addresses.Check,
	}
	if cfg.Admin.WorkerAPIOnData {
		deps.Local = proxy.LocalHandler(admin.IsWorkerAPI, a.workers)
	}
	a.server, err = proxy.New(cfg, deps)
	if err != nil {
		return nil, errors.Join(err, watcher.Close())
	}
	return a, nil
}

// start listens and begins the background work. On error everything that was
// started is ended again.
func (a *app) start(ctx context.Context) error {
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	a.run, a.stop = run, stop
	a.wg.Go(func() { _ = a.watcher.Run(run) })
	a.wg.Go(func() { a.keys.Run(run) })
	a.probes = newProbes(run, a.fleet, a.log, a.addresses.Check)
	a.probes.follow(a.cfg.Load())
	data, err := a.listenData(run)
	if err == nil {
		err = a.listenAdmin(run)
	}
	if err != nil {
		a.close()
		return err
	}
	// Clients come last: those that a failing start had accepted would be reset,
	// while the process that hands its sockets over still serves.
	a.wg.Go(func() {
		if err := a.server.Serve(data); err != nil {
			a.failed <- err
		}
	})
	a.sockets.CloseUnused()
	return nil
}

// listenData prepares the data listener; nothing accepts from it yet.
func (a *app) listenData(ctx context.Context) (net.Listener, error) {
	cfg := &a.cfg.Load().Listen
	socket, err := a.sockets.Listen(ctx, "data", "tcp", cfg.Address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", cfg.Address, err)
	}
	a.data, err = listen.New(socket, listen.Options{
		MaxConns: cfg.MaxConnections, MaxConnsPerIP: cfg.MaxConnectionsPerIP,
		UserTimeout: cfg.UserTimeout.D(), TLS: cfg.TLS != nil, Wrap: a.server.WrapConn,
	})
	if err != nil {
		return nil, err
	}
	ln, scheme := net.Listener(a.data), "http"
	if cfg.TLS != nil {
		scheme = "https"
		a.dataTLS, err = a.secure(ctx, ln, cfg.TLS)
		if err != nil {
			return nil, err
		}
		ln = a.dataTLS
	}
	a.dataURL = scheme + "://" + socket.Addr().String()
	return ln, nil
}

// secure puts TLS on a listener and watches its files.
func (a *app) secure(ctx context.Context, ln net.Listener, c *configs.ServerTLS) (*listen.TLSListener, error) {
	t, err := listen.NewTLS(ln, listen.TLSOptions{
		CertFile: c.CertFile, KeyFile: c.KeyFile, ClientCAFile: c.ClientCAFile,
		PollInterval: c.ReloadInterval.D(), HandshakeTimeout: a.cfg.Load().Listen.HeaderTimeout.D(),
		OnReload: func(err error) {
			if err != nil {
				a.log.Error("certificate not reloaded; the old one stays", slog.Any("error", err))
				return
			}
			a.log.Info("certificate reloaded", slog.String("cert_file", c.CertFile))
		},
	})
	if err != nil {
		return nil, err
	}
	a.wg.Go(func() { _ = t.Run(ctx) })
	return t, nil
}

func (a *app) listenAdmin(ctx context.Context) error {
	cfg := &a.cfg.Load().Admin
	handler, err := a.adminHandler(cfg)
	if err != nil {
		return err
	}
	if cfg.Address != "" {
		url, err := a.serveAdmin(ctx, "admin", cfg.Address, cfg.TLS, handler)
		if err != nil {
			return err
		}
		a.adminURL = url
	}
	if cfg.ExternalMetrics != "" {
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", promhttp.HandlerFor(a.registry, promhttp.HandlerOpts{}))
		if _, err := a.serveAdmin(ctx, "metrics", cfg.ExternalMetrics, nil, mux); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) adminHandler(cfg *configs.Admin) (http.Handler, error) {
	return admin.New(admin.Deps{
		Ready: a.server.Ready, Fleet: &fleetAdapter{a}, Workers: a.workers, Log: a.log,
		Metrics:   promhttp.HandlerFor(a.registry, promhttp.HandlerOpts{}),
		Reload:    a.applyFromSource,
		Effective: func() []byte { return a.cfg.Load().Effective() },
		LogLevel:  a.level, Token: cfg.Token, Pprof: cfg.Pprof,
	})
}

func (a *app) newWorkerAPI() (*admin.WorkerAPI, error) {
	return admin.NewWorkerAPI(admin.WorkerDeps{
		Fleet: &fleetAdapter{a}, Engines: &engineCaller{a},
		Ready:     func() (bool, string) { return a.server.Ready() },
		Addresses: a.addresses, Resolver: net.DefaultResolver, Log: a.log,
	})
}

// Limits of the admin listeners; nothing there is large or slow but a profile.
const (
	adminHeaderTimeout = 5 * time.Second
	adminReadTimeout   = 10 * time.Second
	adminIdleTimeout   = 60 * time.Second
)

func (a *app) serveAdmin(ctx context.Context, name, address string, tls *configs.ServerTLS, h http.Handler) (string, error) {
	ln, err := a.sockets.Listen(ctx, name, "tcp", address)
	if err != nil {
		return "", fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	url := "http://" + ln.Addr().String()
	if tls != nil {
		secure, err := a.secure(ctx, ln, tls)
		if err != nil {
			return "", err
		}
		ln, url = secure, "https://"+ln.Addr().String()
	}
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: adminHeaderTimeout, ReadTimeout: adminReadTimeout,
		IdleTimeout: adminIdleTimeout, ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
	}
	a.admins = append(a.admins, s)
	a.wg.Go(func() {
		if err := s.Serve(ln); err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			a.failed <- err
		}
	})
	return url, nil
}

var errNoFile = errors.New("cannot reload: the configuration did not come from a file")

// applyFromSource reads the configuration again and applies it.
func (a *app) applyFromSource(ctx context.Context) error {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	var next *configs.Config
	err := errNoFile
	if a.reload != nil {
		next, err = a.reload(ctx)
	}
	if err == nil {
		err = a.apply(next)
	}
	a.metrics.reloaded(err, time.Now())
	if err != nil {
		a.log.Error("configuration not reloaded; the old one stays", slog.Any("error", err))
		return err
	}
	return nil
}

// apply swaps the parts that can change at run time.
func (a *app) apply(next *configs.Config) error {
	old := a.cfg.Load()
	for _, what := range configs.RestartNeeded(old, next) {
		a.log.Warn("setting changed but needs a restart", slog.String("setting", what))
	}
	if err := a.server.Apply(next); err != nil {
		return err
	}
	a.cfg.Store(next)
	a.probes.follow(next)
	a.level.Set(levelOf(next.Log.Level))
	if a.dataTLS != nil {
		if err := a.dataTLS.Reload(); err != nil {
			a.log.Error("certificate not reloaded; the old one stays", slog.Any("error", err))
		}
	}
	a.log.Info("configuration reloaded", slog.Any("changed", configs.Diff(old, next)))
	return nil
}

// shutdown ends the gateway the way a load balancer expects: unready first,
// still serving for a while, then no new connections, then the running requests.
func (a *app) shutdown(settle, drain time.Duration) error {
	a.server.SetUnready()
	if settle > 0 && !a.sockets.Handed() {
		a.log.Info("shutting down", slog.Duration("settle", settle), slog.Duration("drain", drain))
		timer := time.NewTimer(settle)
		<-timer.C
	}
	// The admin listener stays until the end: a drain can last minutes and is
	// when metrics are wanted. Sockets that a successor holds are left to it.
	if a.sockets.Handed() {
		a.sockets.Stop()
	}
	_ = a.data.Close()
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	err := a.server.Drain(ctx)
	a.close()
	return err
}

// close ends everything at once.
func (a *app) close() {
	for _, s := range a.admins {
		_ = s.Close()
	}
	if a.data != nil {
		_ = a.data.Close()
	}
	a.server.Close()
	a.stop()
	if a.probes != nil {
		a.probes.wait()
	}
	_ = a.sockets.Close()
	_ = a.watcher.Close()
	a.wg.Wait()
}

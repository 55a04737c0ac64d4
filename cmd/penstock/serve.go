package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"penstock/configs"
	"penstock/proxy/listen"
)

// runServe is the serve command: parse, take over, listen, wait, drain.
func runServe(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	o, err := parseServe(args, getenv)
	switch {
	case errors.Is(err, errHelp):
		fmt.Fprint(stdout, serveUsage())
		return exitDone
	case err != nil:
		fmt.Fprintf(stderr, "penstock serve: %v\n", err)
		return exitUsage
	}
	level := &slog.LevelVar{}
	level.Set(levelOf(o.Config.Log.Level))
	log := newLogger(stderr, o.Config.Log.Format, level)
	for _, w := range o.Warnings {
		log.Warn("configuration", slog.String("warning", w))
	}
	if o.PrintConfig {
		_, _ = stdout.Write(o.Config.Effective())
		return exitDone
	}
	if err := serve(ctx, o, log, level, stdout); err != nil {
		log.Error("gateway stopped", slog.Any("error", err))
		return exitFailed
	}
	return exitDone
}

func serve(ctx context.Context, o *serveOptions, log *slog.Logger, level *slog.LevelVar, stdout io.Writer) error {
	cfg := o.Config
	access, closeAccess, err := openAccess(&cfg.Log, stdout)
	if err != nil {
		return err
	}
	defer closeAccess()
	sockets := listen.NewSet(listen.SetOptions{
		OnFailure: func(err error) { log.Warn("handover came to nothing", slog.Any("error", err)) },
	})
	handed, err := gatherSockets(ctx, sockets, o)
	if err != nil {
		return err
	}
	a, err := newApp(cfg, appOptions{Log: log, Level: level, Access: access, Sockets: sockets, Reload: o.reloader(getConfigEnv)})
	if err != nil {
		return err
	}
	if err := a.start(ctx); err != nil {
		return err
	}
	if handed != nil {
		if err := handed.Ready(); err != nil {
			log.Warn("predecessor not told", slog.Any("error", err))
		}
		_ = handed.Close()
	}
	log.Info("serving", slog.String("data", a.dataURL), slog.String("admin", a.adminURL),
		slog.String("version", version), slog.String("config", string(cfg.Effective())))
	return a.wait(ctx, cfg)
}

func getConfigEnv(name string) string { return os.Getenv(name) }

// gatherSockets takes the sockets that a predecessor or the service manager
// holds, so that no connection is refused in between.
func gatherSockets(ctx context.Context, sockets *listen.Set, o *serveOptions) (*listen.Handed, error) {
	inherited, err := listen.Inherited()
	if err != nil {
		return nil, err
	}
	sockets.Adopt(inherited)
	path := o.Config.Listen.HandoverSocket
	if path == "" || !o.Takeover {
		return nil, nil
	}
	handed, err := listen.Takeover(ctx, path)
	if errors.Is(err, listen.ErrNobody) {
		return nil, nil // a first start
	}
	if err != nil {
		return nil, fmt.Errorf("cannot take over: %w", err)
	}
	sockets.Adopt(handed.Listeners())
	return handed, nil
}

// wait serves until the process is told to end, a successor has taken over, or
// a listener died; then it drains.
func (a *app) wait(ctx context.Context, cfg *configs.Config) error {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	taken := make(chan struct{})
	if path := cfg.Listen.HandoverSocket; path != "" {
		a.wg.Go(func() {
			err := a.sockets.ServeHandover(a.run, path, func() { close(taken) })
			if err != nil && !errors.Is(err, context.Canceled) {
				a.log.Error("cannot serve handovers", slog.Any("error", err))
			}
		})
	}
	for {
		select {
		case <-hup:
			_ = a.applyFromSource(ctx) // logged there
			continue
		case <-ctx.Done():
		case <-taken:
			a.log.Info("a successor has taken over")
		case err := <-a.failed:
			a.log.Error("a listener died", slog.Any("error", err))
			_ = a.shutdown(0, cfg.Shutdown.Drain.D())
			return err
		}
		break
	}
	cfg = a.cfg.Load()
	if err := a.shutdown(cfg.Shutdown.Settle.D(), cfg.Shutdown.Drain.D()); err != nil {
		a.log.Warn("shutdown cut requests", slog.Any("error", err))
	}
	return nil
}

// openAccess opens the access log's file, or uses stdout.
func openAccess(c *configs.Log, stdout io.Writer) (io.Writer, func(), error) {
	if !c.Access {
		return nil, func() {}, nil
	}
	if c.AccessFile == "" {
		return stdout, func() {}, nil
	}
	f, err := os.OpenFile(c.AccessFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o640) //nolint:gosec // G302: the group may read it, as log shippers do
	if err != nil {
		return nil, nil, fmt.Errorf("cannot open access log: %w", err)
	}
	return f, func() { _ = f.Close() }, nil
}

func levelOf(l configs.LogLevel) slog.Level {
	switch l {
	case configs.LogDebug:
		return slog.LevelDebug
	case configs.LogWarn:
		return slog.LevelWarn
	case configs.LogError:
		return slog.LevelError
	case configs.LogInfo:
	}
	return slog.LevelInfo
}

func newLogger(w io.Writer, format configs.LogFormat, level *slog.LevelVar) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	if format == configs.LogText {
		return slog.New(slog.NewTextHandler(w, o))
	}
	return slog.New(slog.NewJSONHandler(w, o))
}

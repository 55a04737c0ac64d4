package main

import (
	"context"
	"io"
	"log/slog"

	"penstock/configs"
	"penstock/proxy/listen"
)

// startForDemo runs the gateway inside the demo's process.
func startForDemo(ctx context.Context, cfg *configs.Config) (dataURL, adminURL string, stop func() error, err error) {
	level := &slog.LevelVar{}
	level.Set(levelOf(cfg.Log.Level))
	log := newLogger(io.Discard, cfg.Log.Format, level)
	a, err := newApp(cfg, appOptions{Log: log, Level: level, Sockets: listen.NewSet(listen.SetOptions{})})
	if err != nil {
		return "", "", nil, err
	}
	if err := a.start(ctx); err != nil {
		return "", "", nil, err
	}
	stop = func() error { return a.shutdown(cfg.Shutdown.Settle.D(), cfg.Shutdown.Drain.D()) }
	return a.dataURL, a.adminURL, stop, nil
}

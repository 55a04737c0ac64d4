package main

import (
	"context"
	"log/slog"
	"net/http"

	"penstock/configs"
	"penstock/pools"
)

type probes struct{}

func newProbes(context.Context, *pools.Fleet, *slog.Logger) *probes { return &probes{} }
func (p *probes) follow(*configs.Config)                            {}
func (p *probes) wait()                                             {}
func (p *probes) client(string) *http.Client                        { return http.DefaultClient }

package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// bareProxy is the least that a fasthttp proxy can do: no routing, checks,
// deadlines or accounting. It is the floor for anything built on fasthttp.
type bareProxy struct {
	whole, streaming *fasthttp.HostClient
}

func newBareProxy(upstream string) *bareProxy {
	client := func(stream bool) *fasthttp.HostClient {
		return &fasthttp.HostClient{
			Addr: upstream, MaxConns: 1 << 16, MaxIdleConnDuration: time.Minute,
			StreamResponseBody: stream, NoDefaultUserAgentHeader: true,
			DisableHeaderNamesNormalizing: true, DisablePathNormalizing: true,
		}
	}
	return &bareProxy{whole: client(false), streaming: client(true)}
}

func (b *bareProxy) handle(ctx *fasthttp.RequestCtx) {
	req, resp := &ctx.Request, &ctx.Response
	client := b.whole
	if streams(req.Body()) {
		client = b.streaming
	}
	req.Header.Del("Connection")
	if err := client.Do(req, resp); err != nil {
		ctx.Error("bad gateway: "+err.Error(), fasthttp.StatusBadGateway)
		return
	}
	resp.Header.Del("Connection")
	if client == b.streaming {
		resp.ImmediateHeaderFlush = true
	}
}

// serve answers on ln until ctx ends.
func (b *bareProxy) serve(ctx context.Context, ln net.Listener) error {
	s := &fasthttp.Server{
		Handler: b.handle, NoDefaultServerHeader: true, NoDefaultDate: true,
		DisableHeaderNamesNormalizing: true, CloseOnShutdown: true,
	}
	stop := context.AfterFunc(ctx, func() { _ = ln.Close() })
	defer stop()
	if err := s.Serve(ln); err != nil && ctx.Err() == nil {
		return fmt.Errorf("cannot serve: %w", err)
	}
	return nil
}

package proxy

import (
	"bytes"
	"net/http"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"
)

// LocalHandler mounts an http.Handler on the data listener for the paths that
// match accepts. It is meant for the router family's worker API, which is small
// and rare: the adaptor copies.
func LocalHandler(match func(method, path string) bool, h http.Handler) func(ctx *fasthttp.RequestCtx) bool {
	serve := fasthttpadaptor.NewFastHTTPHandler(h)
	return func(ctx *fasthttp.RequestCtx) bool {
		path, _, _ := bytes.Cut(ctx.Request.Header.RequestURI(), []byte{'?'})
		if !match(string(ctx.Method()), string(path)) {
			return false
		}
		serve(ctx)
		return true
	}
}

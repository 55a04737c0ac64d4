package enginesim

import (
	"net/http"
	"strings"
)

func post(fn func(*exchange) error) route {
	return route{methods: []string{http.MethodPost}, generates: true, serve: fn}
}

func aside(fn func(*exchange) error) route {
	return route{methods: []string{http.MethodPost}, serve: fn}
}

func get(fn func(*exchange) error) route {
	return route{methods: []string{http.MethodGet}, serve: fn}
}

func (r route) unprotected() route { r.open = true; return r }

func either(fn func(*exchange) error) route {
	return route{methods: []string{http.MethodGet, http.MethodPost}, serve: fn, open: true}
}

// vllmRoutes are those of the Python frontend. A key protects only /v1, /v2 and
// /inference.
func (s *Server) vllmRoutes() map[string]route {
	return map[string]route{
		"/v1/chat/completions":        post(serveChat),
		"/v1/completions":             post(serveCompletion),
		"/v1/responses":               post(serveResponses),
		"/v1/messages":                post(serveMessages),
		"/v1/messages/count_tokens":   aside(serveCountTokens),
		"/inference/v1/generate":      post(serveTokensIn),
		"/v1/embeddings":              post(serveEmbeddings),
		"/pooling":                    post(servePooling).unprotected(),
		"/classify":                   post(serveClassify).unprotected(),
		"/score":                      post(serveScore).unprotected(),
		"/v1/score":                   post(serveScore),
		"/rerank":                     post(serveRerank).unprotected(),
		"/v1/rerank":                  post(serveRerank),
		"/v2/rerank":                  post(serveRerank),
		"/tokenize":                   aside(serveTokenize).unprotected(),
		"/detokenize":                 aside(serveDetokenize).unprotected(),
		"/v1/chat/completions/render": aside(serveRenderChat),
		"/v1/completions/render":      aside(serveRenderCompletion),
		"/v1/models":                  get(serveModels),
		"/health":                     get(serveEmptyOK).unprotected(),
		"/ping":                       either(serveEmptyOK),
		"/version":                    get(serveVersion).unprotected(),
		"/load":                       get(serveLoad).unprotected(),
		"/metrics":                    get(serveVLLMMetrics).unprotected(),
		"/reset_prefix_cache":         aside(serveResetCache).unprotected(),
	}
}

// sglangRoutes: a key protects everything but health and metrics.
func (s *Server) sglangRoutes() map[string]route {
	return map[string]route{
		"/generate":                 {methods: []string{http.MethodPost, http.MethodPut}, generates: true, serve: serveGenerate},
		"/v1/chat/completions":      post(serveChat),
		"/v1/completions":           post(serveCompletion),
		"/v1/responses":             post(serveResponses),
		"/v1/messages":              post(serveMessages),
		"/v1/messages/count_tokens": aside(serveCountTokens),
		"/v1/embeddings":            post(serveEmbeddings),
		"/v1/score":                 post(serveScore),
		"/v1/rerank":                post(serveRerank),
		"/v1/classify":              post(serveClassify),
		"/classify":                 post(serveClassify),
		"/tokenize":                 aside(serveTokenize),
		"/v1/tokenize":              aside(serveTokenize),
		"/detokenize":               aside(serveDetokenize),
		"/v1/detokenize":            aside(serveDetokenize),
		"/v1/models":                get(serveModels),
		"/v1/loads":                 get(serveLoads),
		"/model_info":               get(serveModelInfo),
		"/get_model_info":           get(serveModelInfo),
		"/server_info":              get(serveServerInfo),
		"/get_server_info":          get(serveServerInfo),
		"/flush_cache":              either(serveFlushCache),
		"/health":                   get(serveHealthGenerate).unprotected(),
		"/health_generate":          get(serveHealthGenerate).unprotected(),
		"/ping":                     get(serveHealthGenerate).unprotected(),
		"/metrics":                  get(serveSGLangMetrics).unprotected(),
	}
}

// trtllmRoutes are those of trtllm-serve, which knows no key.
func (s *Server) trtllmRoutes() map[string]route {
	return map[string]route{
		"/v1/chat/completions": post(serveChat).unprotected(),
		"/v1/completions":      post(serveCompletion).unprotected(),
		"/v1/responses":        post(serveResponses).unprotected(),
		"/v1/models":           get(serveModels).unprotected(),
		"/health":              get(serveEmptyOK).unprotected(),
		"/health_generate":     get(serveEmptyOK).unprotected(),
		"/version":             get(serveVersion).unprotected(),
		"/server_info":         get(serveTRTServerInfo).unprotected(),
		"/metrics":             get(serveIterations).unprotected(),
		"/prometheus/metrics":  get(serveTRTMetrics).unprotected(),
	}
}

// find returns the route of path, with those that carry an id in it.
func (s *Server) find(path string) (route, bool) {
	if rt, ok := s.routes[path]; ok {
		return rt, true
	}
	rest, ok := strings.CutPrefix(path, "/v1/responses/")
	if !ok || rest == "" {
		return route{}, false
	}
	id, cancel := strings.CutSuffix(rest, "/cancel")
	switch {
	case strings.Contains(id, "/") || id == "":
		return route{}, false
	case cancel:
		return route{methods: []string{http.MethodPost}, serve: func(x *exchange) error { return cancelResponse(x, id) }}, true
	}
	return route{methods: []string{http.MethodGet}, serve: func(x *exchange) error { return readResponse(x, id) }}, true
}

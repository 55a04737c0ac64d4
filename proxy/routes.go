package proxy

import (
	"strings"

	"penstock/proxy/scan"
	"penstock/proxy/sse"
)

// routeFlags says what is special about a route.
type routeFlags uint8

const (
	// flagScan: the body is JSON that must be read for routing.
	flagScan routeFlags = 1 << iota
	// flagStateful: the path names something that lives on one replica.
	flagStateful
	// flagGenerates: the request makes an engine generate tokens.
	flagGenerates
)

// route is one thing a client may ask for.
type route struct {
	name  string // label value in metrics and logs
	kind  scan.Kind
	api   sse.API
	flags routeFlags
	post  bool // POST; else GET
}

func (r *route) has(f routeFlags) bool { return r.flags&f != 0 }

// builtinRoutes are the exact paths of the engines' APIs (engines.md 1.2, 5.1).
// Both spellings that engines accept are listed; nothing is matched by prefix.
var builtinRoutes = func() map[string]*route {
	const gen = flagScan | flagGenerates
	table := []struct {
		route
		paths []string
	}{
		{route{"chat", scan.KindChat, sse.APIChat, gen, true}, []string{"/v1/chat/completions"}},
		{route{"completions", scan.KindCompletions, sse.APICompletions, gen, true}, []string{"/v1/completions"}},
		{route{"responses", scan.KindResponses, sse.APIResponses, gen, true}, []string{"/v1/responses"}},
		{route{"messages", scan.KindMessages, sse.APIMessages, gen, true}, []string{"/v1/messages"}},
		{route{"count_tokens", scan.KindMessages, sse.APIMessages, flagScan, true}, []string{"/v1/messages/count_tokens"}},
		{route{"embeddings", scan.KindEmbeddings, sse.APIOther, flagScan, true}, []string{"/v1/embeddings"}},
		{route{"rerank", scan.KindRerank, sse.APIOther, flagScan, true}, []string{"/rerank", "/v1/rerank", "/v2/rerank"}},
		{route{"score", scan.KindScore, sse.APIOther, flagScan, true}, []string{"/score", "/v1/score"}},
		{route{"classify", scan.KindScore, sse.APIOther, flagScan, true}, []string{"/classify", "/v1/classify"}},
		{route{"pooling", scan.KindGeneric, sse.APIOther, flagScan, true}, []string{"/pooling"}},
		{route{"tokenize", scan.KindTokenize, sse.APIOther, flagScan, true}, []string{"/tokenize", "/v1/tokenize"}},
		{route{"detokenize", scan.KindTokenize, sse.APIOther, flagScan, true}, []string{"/detokenize", "/v1/detokenize"}},
		{route{"generate", scan.KindGenerate, sse.APIGenerate, gen, true}, []string{"/generate"}},
		{route{"inference_generate", scan.KindInferenceGenerate, sse.APIGenerate, gen, true}, []string{"/inference/v1/generate"}},
		{route{"models", scan.KindGeneric, sse.APIOther, 0, false}, []string{"/v1/models"}},
		{route{"health", scan.KindGeneric, sse.APIOther, 0, false}, []string{"/health", "/ping"}},
	}
	m := make(map[string]*route)
	for i := range table {
		for _, p := range table[i].paths {
			m[p] = &table[i].route
		}
	}
	return m
}()

var (
	routeResponse = &route{name: "response_state", kind: scan.KindGeneric, api: sse.APIResponses, flags: flagStateful}
	routePass     = &route{name: "passthrough", kind: scan.KindGeneric, api: sse.APIOther}
)

const responsesPrefix = "/v1/responses/"

// routeTable is the built-in paths plus the configured passthrough list.
type routeTable struct {
	exact    map[string]bool
	prefixes []string
	all      bool
}

func newRouteTable(passthrough []string, all bool) routeTable {
	t := routeTable{exact: map[string]bool{}, all: all}
	for _, p := range passthrough {
		if base, ok := strings.CutSuffix(p, "/*"); ok {
			t.prefixes = append(t.prefixes, base+"/")
			continue
		}
		t.exact[p] = true
	}
	return t
}

// allow lists the methods of the route, for the Allow field of a 405.
func (r *route) allow() string {
	switch {
	case r == routeResponse:
		return "GET, POST, DELETE"
	case r.post:
		return "POST"
	case r.name == routeHealth:
		return "GET, HEAD, POST"
	}
	return "GET, HEAD"
}

// lookup finds the route of a checked path; nil means that there is none. The
// same bytes that are matched here are what the engine gets.
func (t *routeTable) lookup(method, path []byte) (r *route, methodOK bool) {
	if r := builtinRoutes[string(path)]; r != nil {
		switch {
		case r.post:
			return r, string(method) == "POST"
		case r.name == "health":
			return r, string(method) == "GET" || string(method) == "POST" || string(method) == "HEAD"
		}
		return r, string(method) == "GET" || string(method) == "HEAD"
	}
	if id, ok := responseID(path); ok && len(id) > 0 {
		return routeResponse, string(method) == "GET" || string(method) == "POST" || string(method) == "DELETE"
	}
	if t.all || t.exact[string(path)] {
		return routePass, true
	}
	for _, p := range t.prefixes {
		if strings.HasPrefix(string(path), p) {
			return routePass, true
		}
	}
	return nil, false
}

// responseID takes the id out of /v1/responses/{id}[/cancel|/input_items].
func responseID(path []byte) (string, bool) {
	rest, ok := strings.CutPrefix(string(path), responsesPrefix)
	if !ok {
		return "", false
	}
	id, sub, has := strings.Cut(rest, "/")
	if has && sub != "cancel" && sub != "input_items" {
		return "", false
	}
	return id, true
}

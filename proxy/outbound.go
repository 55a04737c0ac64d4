package proxy

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"
)

// requestHeaders is the set of request fields that reach an engine. It is an
// allowlist: hop-by-hop fields, fields that Connection names, internal fields of
// the gateway and whatever a client invents stay here (Pingora's
// CVE-2026-105299 is what a copy with exceptions costs).
type requestHeaders struct {
	names    map[string]bool
	prefixes []string
}

// builtinRequestHeaders are what the engines and their SDKs use (engines.md
// 1.3): content negotiation, identity, tracing, sessions.
var builtinRequestHeaders = []string{
	"accept", "accept-language", "anthropic-beta", "anthropic-dangerous-direct-browser-access",
	"anthropic-version", "b3", "baggage", "content-encoding", "content-language", "idempotency-key",
	"openai-beta", "openai-organization", "openai-project", "origin", "priority", "referer",
	"traceparent", "tracestate", "user-agent", "x-api-version", "x-correlation-id",
	"x-session-id", "x-user-id", "x-tenant-id", "x-conversation-id", "x-body-compressed",
}

var builtinHeaderPrefixes = []string{"x-b3-", "x-stainless-", "x-amzn-", "x-datadog-", "x-cloud-trace-"}

// trustedRequestHeaders steer an engine and pass only for a trusted caller
// (engines.md 8.9).
var trustedRequestHeaders = map[string]bool{
	"x-data-parallel-rank": true, "x-vllm-priority": true, "endpoint-load-metrics-format": true,
}

const trustedHeaderPrefix = "x-override-"

func newRequestHeaders(extra []string) *requestHeaders {
	h := &requestHeaders{names: map[string]bool{}, prefixes: builtinHeaderPrefixes}
	for _, n := range builtinRequestHeaders {
		h.names[n] = true
	}
	for _, n := range extra {
		h.names[strings.ToLower(n)] = true
	}
	return h
}

// passes reports whether a field goes to the engine. lower is the field's name
// in lower case.
func (h *requestHeaders) passes(lower []byte, trusted bool) bool {
	if h.names[string(lower)] {
		return true
	}
	for _, p := range h.prefixes {
		if bytes.HasPrefix(lower, []byte(p)) {
			return true
		}
	}
	return trusted && (trustedRequestHeaders[string(lower)] ||
		bytes.HasPrefix(lower, []byte(trustedHeaderPrefix)))
}

// outbound is what one request head is built from.
type outbound struct {
	host, basePath string
	authorization  []byte // value to send; empty: none
	apiKey         []byte // x-api-key value to send; empty: none
	requestID      string
	contentLength  int // -1: no body at all
	trusted        bool
	attempt        int // > 0 marks a repetition
	rank           int // data-parallel rank to pin; -1: the engine chooses
	facts          *headFacts
}

// Names of fields that are not copied but may be nominated by Connection.
var (
	nameContentType   = []byte("content-type")
	nameAuthorization = []byte("authorization")
	nameAPIKey        = []byte("x-api-key")
)

// appendHead appends a complete request head. Only the target, the method and
// listed fields come from the client, each checked by checkFraming before.
func appendHead(dst []byte, req *fasthttp.RequestHeader, o *outbound, allow *requestHeaders) []byte {
	var none headFacts
	if o.facts == nil {
		o.facts = &none
	}
	dst = append(dst, req.Method()...)
	dst = append(dst, ' ')
	dst = append(dst, o.basePath...)
	dst = append(dst, req.RequestURI()...)
	dst = append(dst, " HTTP/1.1\r\nHost: "...)
	dst = append(dst, o.host...)
	dst = append(dst, "\r\nAccept-Encoding: identity\r\n"...)
	if ct := req.ContentType(); len(ct) > 0 && !o.facts.nominates(nameContentType) {
		dst = appendField(dst, "Content-Type", ct)
	}
	if o.contentLength >= 0 {
		dst = append(dst, "Content-Length: "...)
		dst = strconv.AppendInt(dst, int64(o.contentLength), 10)
		dst = append(dst, '\r', '\n')
	}
	if len(o.authorization) > 0 {
		dst = appendField(dst, "Authorization", o.authorization)
	}
	if len(o.apiKey) > 0 {
		dst = appendField(dst, "X-Api-Key", o.apiKey)
	}
	dst = append(dst, "X-Request-Id: "...)
	dst = append(dst, o.requestID...)
	dst = append(dst, '\r', '\n')
	if o.attempt > 0 {
		dst = append(dst, "X-Gateway-Attempt: "...)
		dst = strconv.AppendInt(dst, int64(o.attempt), 10)
		dst = append(dst, '\r', '\n')
	}
	dst = appendAllowed(dst, req.RawHeaders(), allow, o)
	if o.rank >= 0 {
		dst = append(dst, "X-Data-Parallel-Rank: "...)
		dst = strconv.AppendInt(dst, int64(o.rank), 10)
		dst = append(dst, '\r', '\n')
	}
	return append(dst, '\r', '\n')
}

// appendAllowed copies the listed fields from the raw head, names and values as
// the client wrote them.
func appendAllowed(dst, raw []byte, allow *requestHeaders, o *outbound) []byte {
	var lower [64]byte
	for len(raw) > 0 {
		nl := bytes.IndexByte(raw, '\n')
		if nl <= 0 {
			break
		}
		line := bytes.TrimSuffix(raw[:nl], []byte{'\r'})
		raw = raw[nl+1:]
		colon := bytes.IndexByte(line, ':')
		if colon <= 0 || colon > len(lower) {
			continue
		}
		name := lower[:colon]
		for i, c := range line[:colon] {
			if 'A' <= c && c <= 'Z' {
				c |= 0x20
			}
			name[i] = c
		}
		if o.rank >= 0 && string(name) == "x-data-parallel-rank" {
			continue // the gateway's own follows
		}
		if allow.passes(name, o.trusted) && !o.facts.nominates(name) {
			dst = append(append(dst, line...), '\r', '\n')
		}
	}
	return dst
}

func appendField(dst []byte, name string, value []byte) []byte {
	dst = append(dst, name...)
	dst = append(dst, ':', ' ')
	dst = append(dst, value...)
	return append(dst, '\r', '\n')
}

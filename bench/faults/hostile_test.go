//go:build linux

package faults

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"penstock/configs"
)

const postHead = "POST /v1/chat/completions HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\n"

func TestBodyThatIsTooLargeIsRefusedBeforeItIsRead(t *testing.T) {
	real(t)
	e := engine(t, 0)
	g := start(t, []string{e.URL}, nil)
	for name, raw := range map[string]string{
		"length of 1 GiB":           postHead + "Content-Length: 1073741824\r\n\r\n",
		"length of 1 GiB, expected": postHead + "Content-Length: 1073741824\r\nExpect: 100-continue\r\n\r\n",
		"length of 64 MiB and one":  postHead + "Content-Length: 67108865\r\n\r\n{\"model\":",
	} {
		c := g.dial()
		g.send(c, raw)
		a := g.follow(c, 0) // not a byte of the body was sent
		a.Rest()
		if a.StatusCode != http.StatusRequestEntityTooLarge || a.Failed == "" {
			t.Errorf("%s: got %s", name, a)
		}
	}
}

func TestChunkedBodyWithoutEndIsCutOffAtTheLimit(t *testing.T) {
	real(t)
	e := engine(t, 0)
	g := start(t, []string{e.URL}, func(c *configs.Config) { c.Listen.MaxBodyBytes = 1 << 20 })
	c := g.dial()
	g.send(c, postHead+"Transfer-Encoding: chunked\r\n\r\n")
	piece := chunk(strings.Repeat(" ", 64<<10))
	sent := 0
	for sent < 256<<20 && c.Send(piece) == nil {
		sent += len(piece)
	}
	if sent >= 256<<20 {
		t.Fatal("the gateway takes an endless body")
	}
	a := g.follow(c, 0)
	a.Rest()
	if a.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("got %s", a)
	}
	f, err := g.Footprint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if grown := f.Resident - g.base.Resident; grown > 32<<20 {
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
}

func TestHostileJSONIsRefused(t *testing.T) {
	real(t)
	e := engine(t, 0)
	g := start(t, []string{e.URL}, nil)
	const deep = 1_000_000
	for name, body := range map[string]string{
		"a million brackets":          strings.Repeat("[", deep),
		"a million braces":            strings.Repeat(`{"a":`, deep),
		"deep inside messages":        `{"model":"sim","messages":` + strings.Repeat("[", deep) + strings.Repeat("]", deep) + `}`,
		"bad UTF-8":                   "{\"model\":\"sim\",\"messages\":[{\"role\":\"user\",\"content\":\"\xff\xfe\"}]}",
		"bad UTF-8 in a key":          "{\"mo\xc0\xafdel\":\"sim\"}",
		"half a surrogate pair":       "{\"model\":\"\xed\xa0\x80\"}",
		"two models":                  `{"model":"sim","model":"other","messages":[]}`,
		"two models, one escaped":     `{"model":"sim","mod\u0065l":"other","messages":[]}`,
		"two streams":                 `{"model":"sim","stream":false,"stream":true,"messages":[]}`,
		"nothing":                     "",
		"not an object":               `"model"`,
		"trailing bytes":              `{"model":"sim","messages":[]} {}`,
		"no end":                      `{"model":"sim","messages":[`,
		"control bytes in a string":   "{\"model\":\"sim\n\",\"messages\":[]}",
		"a model of the wrong type":   `{"model":{"a":1},"messages":[]}`,
		"a stream of the wrong type":  `{"model":"sim","stream":"yes","messages":[]}`,
		"a number out of range":       `{"model":"sim","max_tokens":99999999999999999999,"messages":[]}`,
		"a byte order mark":           "\ufeff{\"model\":\"sim\",\"messages\":[]}",
		"NaN":                         `{"model":"sim","max_tokens":NaN,"messages":[]}`,
		"a single quote":              `{'model':'sim'}`,
		"a very long key":             `{"` + strings.Repeat("k", 1<<20) + `":`,
		"a number that does not stop": `{"model":"sim","max_tokens":` + strings.Repeat("9", 1<<20),
	} {
		began := time.Now()
		a := g.ask(RawPost("/v1/chat/completions", body))
		if a.StatusCode != http.StatusBadRequest || a.Failed == "" {
			t.Errorf("%s: got %s, want 400", name, a)
		}
		if took := time.Since(began); took > Patience/2 {
			t.Errorf("%s took %s", name, took)
		}
	}
	if n := e.Stats().Received; n != 0 {
		t.Errorf("%d of them reached the engine", n)
	}
}

// Whatever a client puts into a field, the engine sees no field that the client
// made up and the answer carries none.
func TestHeaderValuesInjectNothing(t *testing.T) {
	real(t)
	heads := make(chan http.Header, 64)
	s := script(t, func(c *tcp, r *http.Request, _ []byte) bool {
		heads <- r.Header
		return say(c, jsonAnswer("x"))
	})
	g := start(t, []string{s.URL}, func(c *configs.Config) { c.Expose.Decision, c.Expose.Replica = true, true })
	for _, field := range []string{
		"X-Request-Id: a\rEvil: 1", "X-Request-Id: a\nEvil: 1", "X-Request-Id: a\x00Evil: 1",
		"X-Request-Id: a%0d%0aEvil: 1", "X-Request-Id: \"quoted\"; Evil=1", "X-Request-Id: " + strings.Repeat("a", 4000),
		"X-Request-Id: a\r\n Evil: 1", "X-Session-Id: a\rEvil: 1", "Traceparent: 00-a\rEvil: 1",
		"Evil: 1\r\nConnection: Evil", "X-Data-Parallel-Rank: 3", "X-Override-Rid: 1", "X-Forwarded-For: 1\rEvil: 1",
		"Authorization: Bearer a\rEvil: 1", "Evil : 1", "E vil: 1", "X-Vllm-Priority: 1",
	} {
		a := g.ask(RawPost("/v1/chat/completions", (&Chat{}).Body(), field))
		if a.Header.Get("Evil") != "" || strings.ContainsAny(a.Header.Get("X-Request-Id"), "\r\n\x00\" ") {
			t.Errorf("%q: the answer carries %v", field, a.Header)
		}
		if a.StatusCode != http.StatusOK && a.StatusCode != http.StatusBadRequest {
			t.Errorf("%q: got %s", field, a)
		}
		select {
		case h := <-heads:
			for _, name := range []string{"Evil", "X-Data-Parallel-Rank", "X-Override-Rid", "X-Vllm-Priority"} {
				if h.Get(name) != "" {
					t.Errorf("%q: the engine was told %s: %s", field, name, h.Get(name))
				}
			}
		default:
			if a.StatusCode == http.StatusOK {
				t.Errorf("%q: no engine saw it, and it is 200", field)
			}
		}
	}
}

// traversals try to reach the admin API, or files, through any path.
var traversals = []string{
	"/v1/../admin", "/../api/v1/replicas", "/v1/chat/completions/../../../api/v1/reload", "/v1/%2e%2e/api/v1/reload",
	"/v1%2f..%2fapi%2fv1%2freload", "//api/v1/reload", "/./api/v1/reload", "/api/v1/replicas", "/metrics", "/readyz",
	"/debug/pprof/", "/debug/pprof/goroutine?debug=1", "/v1/models/../../metrics", "/v1/models/%2e%2e%2f%2e%2e%2fmetrics",
	"/v1/models\\..\\metrics", "/etc/passwd", "/..%00/metrics", "/metrics;/v1/models", "/api/v1/config", "/%61pi/v1/config",
}

func TestAdminIsOutOfReachFromTheDataListener(t *testing.T) {
	real(t)
	e := engine(t, 0)
	g := start(t, []string{e.URL}, nil)
	for _, path := range traversals {
		for _, method := range []string{"GET", "POST", "DELETE", "PUT"} {
			a := g.ask(method + " " + path + " HTTP/1.1\r\nHost: g\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			if a.StatusCode < 400 || a.StatusCode >= 500 {
				t.Errorf("%s %s: got %s", method, path, a)
			}
			if strings.Contains(string(a.Body), "penstock_in_flight") || strings.Contains(string(a.Body), "goroutine") {
				t.Errorf("%s %s: the inside shows: %s", method, path, a)
			}
		}
	}
	if n := g.metric("penstock_config_reloads_total"); n != 0 {
		t.Errorf("%g reloads happened", n)
	}
}

func TestAdminServesItsOwnPathsAndNothingBeside(t *testing.T) {
	real(t)
	e := engine(t, 0)
	g := start(t, []string{e.URL}, nil)
	for _, path := range []string{
		"/../etc/passwd", "/debug/pprof/../../etc/passwd", "/api/v1/../../metrics", "/metrics/", "//metrics",
		"/api/v1/replicas/..%2f..%2freload", "/%2e%2e/metrics", "/debug/vars", "/v1/chat/completions",
	} {
		c := dial(t, g.Admin)
		a, err := c.Do("GET " + path + " HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n")
		if err != nil {
			t.Fatal(err)
		}
		if a.StatusCode < 300 || a.StatusCode >= 500 || strings.Contains(string(a.Body), "root:") {
			t.Errorf("%s: got %s", path, a)
		}
		_ = c.Close()
	}
}

// With keys, nothing is served without one, however the target or the Host is
// spelled, and paths cannot be probed.
func TestNoSpellingOfATargetGetsAroundTheKey(t *testing.T) {
	real(t)
	e := engine(t, 0)
	g := start(t, []string{e.URL}, func(c *configs.Config) {
		c.Auth.Keys = []configs.APIKey{{ID: "team", SHA256: strings.Repeat("0", 64)}}
		c.Routes.PassthroughAll = true
	})
	body := (&Chat{Tokens: 1}).Body()
	for _, target := range []string{
		"/v1/chat/completions", "/v1/chat/completions?", "/v1/chat/completions/", "//v1/chat/completions", "/V1/chat/completions",
		"/health/../v1/chat/completions", "/v1/chat/completions#/health", "/health%2f..%2fv1/chat/completions",
		"http://g/v1/chat/completions", "/v1/models", "/nowhere", "/v1/chat/completions%00", "*",
	} {
		for _, host := range []string{"g", "g/#", "g?/health", "localhost/health", "127.0.0.1"} {
			raw := strings.Replace(RawPost(target, body), "Host: gateway", "Host: "+host, 1)
			if a := g.ask(raw); a.StatusCode != http.StatusUnauthorized && a.StatusCode != http.StatusBadRequest {
				t.Errorf("%s, Host %s: got %s", target, host, a)
			}
		}
	}
	if n := e.Stats().Received; n != 0 {
		t.Errorf("%d requests reached the engine", n)
	}
}

func TestReplicaAtAForbiddenAddressIsNotRegistered(t *testing.T) {
	real(t)
	e := engine(t, 0)
	g := start(t, []string{e.URL}, nil)
	for _, url := range []string{
		"http://169.254.169.254", "http://[::ffff:169.254.169.254]:80", "http://2852039166", "http://0xa9fea9fe", "http://8.8.8.8:80",
		"http://[fe80::1]:80", "http://0.0.0.0:80", "http://[::]:80", "http://224.0.0.1", "file:///etc/passwd", "gopher://127.0.0.1",
		"http://user:pass@127.0.0.1:1", "http://127.0.0.1:1/?x=1", "//127.0.0.1:1", "http://", "http://127.0.0.1:99999",
	} {
		status, body, err := g.Ask(t.Context(), http.MethodPost, "/api/v1/replicas", `{"url":"`+url+`"}`)
		if err != nil || status < 400 || status >= 500 {
			t.Errorf("%s: status %d, %v: %s", url, status, err, body)
		}
	}
	if m, err := g.Metrics(t.Context()); err != nil || m.Sum("penstock_replica_weight") != 1 {
		t.Errorf("the fleet has grown: %v, %v", m.Sum("penstock_replica_weight"), err)
	}
}

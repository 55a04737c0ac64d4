package proxy

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

func echoEngine(t *testing.T) string {
	t.Helper()
	return engine(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, r.Header.Get("Authorization"))
	})
}

func TestKeys(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256([]byte("sk-good"))
	g := startGateway(t, "auth: {keys: [{id: a, sha256: "+hex.EncodeToString(sum[:])+", models: [m]}]}\n"+
		poolYAML("  secret: engine-secret\n", echoEngine(t)))
	f := func(name string, status int, body string, header ...string) {
		t.Helper()
		r := g.post("/v1/chat/completions", chat, header...)
		if r.status != status || !strings.Contains(r.body, body) {
			t.Fatalf("%s: %+v", name, r)
		}
	}
	f("none", 401, codeNoKey)
	f("wrong", 401, codeBadKey, "Authorization", "Bearer nope")
	f("right; the engine gets the pool's secret", 200, "Bearer engine-secret", "Authorization", "Bearer sk-good")
	f("anthropic style", 200, "Bearer engine-secret", "X-Api-Key", "sk-good")
	if r := g.post("/v1/chat/completions", `{"model":"other","messages":[]}`, "Authorization", "Bearer sk-good"); r.status != 403 {
		t.Fatalf("%+v", r)
	}
	if r := g.post("/v1/chat/completions", `{"messages":[]}`, "Authorization", "Bearer sk-good"); r.status != 403 {
		t.Fatalf("a limited key left the model to the engine: %+v", r)
	}
	if r := g.post("/nowhere", chat); r.status != 401 {
		t.Fatalf("paths can be probed without a key: %+v", r)
	}
}

func TestWithoutKeysTheClientsOwnGoesOn(t *testing.T) {
	t.Parallel()
	g := startGateway(t, poolYAML("  secret: engine-secret\n", echoEngine(t)))
	if r := g.post("/v1/chat/completions", chat, "Authorization", "Bearer own"); r.body != "Bearer own" {
		t.Fatalf("%+v", r)
	}
	if r := g.post("/v1/chat/completions", chat); r.body != "Bearer engine-secret" {
		t.Fatalf("%+v", r)
	}
}

func TestRefusalsAreToldInTheShapeOfTheAPI(t *testing.T) {
	t.Parallel()
	g := startGateway(t, "listen: {max_body_bytes: 2KiB}\n"+poolYAML("", echoEngine(t)))
	f := func(name string, r reply, status int, parts ...string) {
		t.Helper()
		if r.status != status {
			t.Fatalf("%s: %+v", name, r)
		}
		for _, p := range parts {
			if !strings.Contains(r.body, p) {
				t.Fatalf("%s: no %q in %q", name, p, r.body)
			}
		}
	}
	f("openai", g.post("/v1/chat/completions", "{"), 400, `{"error":{"message":`, codeBadBody)
	f("anthropic", g.post("/v1/messages", "{"), 400, `{"type":"error","error":{"type":"invalid_request_error"`)
	f("two models", g.post("/v1/chat/completions", `{"model":"m","model":"x"}`), 400, codeBadBody)
	f("too large", g.post("/v1/chat/completions", `{"x":"`+strings.Repeat("a", 4096)+`"}`), 413, codeTooLarge)
	f("no route", g.post("/v1/nowhere", chat), 404, codeNotFound)
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, g.url+"/v1/chat/completions", http.NoBody)
	f("method", g.do(req), 405, codeMethod)
	if strings.Contains(g.post("/v1/chat/completions", `{"model":"m","secret":"CANARY`).body, "CANARY") {
		t.Fatal("a refusal quotes the body")
	}
}

func TestUpgradeIsRefused(t *testing.T) {
	t.Parallel()
	g := startGateway(t, poolYAML("", echoEngine(t)))
	c := g.raw("GET /v1/realtime HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || resp.StatusCode != 501 {
		t.Fatalf("%v %v", resp, err)
	}
	_ = resp.Body.Close()
}

func TestExpectIsAnsweredFromTheHead(t *testing.T) {
	t.Parallel()
	g := startGateway(t, "listen: {max_body_bytes: 1KiB}\n"+poolYAML("", echoEngine(t)))
	const head = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: "
	c := g.raw(head + "5000\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || resp.StatusCode != 413 {
		t.Fatalf("%v %v", resp, err)
	}
	_ = resp.Body.Close()
	c = g.raw(head + strconv.Itoa(len(chat)) + "\r\n\r\n")
	r := bufio.NewReader(c)
	line, err := r.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "HTTP/1.1 100") {
		t.Fatalf("%q %v", line, err)
	}
	_, _ = r.ReadString('\n')
	_, _ = io.WriteString(c, chat)
	resp, err = http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%v %v", resp, err)
	}
	_ = resp.Body.Close()
}

func TestAccessLogTellsTheDecisionAndNoSecret(t *testing.T) {
	t.Parallel()
	g := startGateway(t, poolYAML("", echoEngine(t)))
	g.post("/v1/chat/completions?token=QUERYCANARY", `{"model":"m","messages":[{"role":"user","content":"PROMPTCANARY"}]}`,
		"Authorization", "Bearer KEYCANARY", "X-Request-Id", "req-7")
	eventually(t, "logged", func() bool { return strings.Contains(g.access.String(), "\n") })
	line := g.access.String()
	for _, part := range []string{`"request_id":"req-7"`, `"replica":"r0"`, `"reason":"only"`, `"status":200`, `"path":"/v1/chat/completions"`} {
		if !strings.Contains(line, part) {
			t.Fatalf("no %s in %s", part, line)
		}
	}
	if strings.Contains(line, "CANARY") {
		t.Fatalf("secret in %s", line)
	}
}

func TestBadHeadIsRefusedWithoutItsBody(t *testing.T) {
	t.Parallel()
	g := startGateway(t, poolYAML("", echoEngine(t)))
	c := g.raw("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n")
	b, err := io.ReadAll(c) // the body never comes; the answer and the close do
	if err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 400") || !strings.Contains(string(b), codeFraming) {
		t.Fatalf("%q %v", b, err)
	}
}

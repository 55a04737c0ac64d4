//go:build linux

package faults

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"penstock/configs"
)

// Strings that must stay out of every log.
const (
	canaryPrompt = "canary-prompt-3f1b"
	canaryKey    = "sk-canary-key-77aa"
	canaryOther  = "sk-canary-other-91cd"
	canaryQuery  = "canary-query-5e0f"
	canaryAnswer = "canary-answer-c4d2"
)

// leaks are requests through every error path that quotes something in careless
// gateways, and engines that answer each with what they were sent.
var leaks = map[string]string{
	"good":              (&Chat{Prompt: canaryPrompt, Tokens: 3}).Raw(),
	"wrong key":         RawPost("/v1/chat/completions", canaryBody, "Authorization: Bearer "+canaryOther),
	"malformed key":     RawPost("/v1/chat/completions", canaryBody, "Authorization: Basic "+canaryOther),
	"unknown path":      RawPost("/v1/nowhere?token="+canaryQuery, canaryBody, bearer),
	"known path":        RawPost("/v1/chat/completions?token="+canaryQuery, canaryBody, bearer),
	"bad JSON":          RawPost("/v1/chat/completions", canaryBody+"{{{", bearer),
	"bad JSON early":    RawPost("/v1/chat/completions", canaryPrompt, bearer),
	"two models":        RawPost("/v1/chat/completions", `{"model":"`+canaryPrompt+`","model":"b"}`, bearer),
	"bad number":        RawPost("/v1/chat/completions", `{"model":"sim","max_tokens":"`+canaryPrompt+`"}`, bearer),
	"bad field name":    RawPost("/v1/chat/completions", canaryBody, bearer, canaryPrompt+" : 1"),
	"bad field value":   RawPost("/v1/chat/completions", canaryBody, bearer, "X-A: a\x00"+canaryPrompt),
	"no head":           canaryPrompt + "\r\n\r\n",
	"bad method":        "POST@ /?" + canaryQuery + " HTTP/1.1\r\nHost: " + canaryPrompt + "\r\n\r\n",
	"bad version":       "GET /?" + canaryQuery + " HTTP/9.9\r\nHost: " + canaryPrompt + "\r\n\r\n",
	"bad length":        postHead + bearer + "\r\nContent-Length: " + canaryPrompt + "\r\n\r\n",
	"bad chunk":         postHead + bearer + "\r\nTransfer-Encoding: chunked\r\n\r\n" + canaryPrompt + "\r\n",
	"too large":         postHead + bearer + "\r\nContent-Length: 99999999999\r\n\r\n" + canaryPrompt,
	"head too large":    postHead + bearer + "\r\nX-A: " + canaryPrompt + strings.Repeat("a", 32<<10) + "\r\n\r\n",
	"body cut":          postHead + bearer + "\r\nContent-Length: 9999\r\n\r\n" + canaryPrompt,
	"upgrade":           "GET /v1/chat/completions?" + canaryQuery + " HTTP/1.1\r\nHost: g\r\nConnection: upgrade\r\nUpgrade: " + canaryPrompt + "\r\n\r\n",
	"expectation":       postHead + bearer + "\r\nExpect: " + canaryPrompt + "\r\nContent-Length: 3\r\n\r\n",
	"request id":        RawPost("/v1/chat/completions", canaryBody, bearer, "X-Request-Id: "+canaryPrompt+" "+canaryKey),
	"not HTTP":          "\x16\x03\x01" + canaryPrompt + "\r\n\r\n",
	"percent in path":   "GET /%zz?" + canaryQuery + "%zz HTTP/1.1\r\nHost: g\r\n\r\n",
	"key in the header": RawPost("/v1/messages", `{"model":"sim","messages":[{"role":"user","content":"`+canaryPrompt+`"}]}`, "X-Api-Key: "+canaryKey),
}

const (
	bearer     = "Authorization: Bearer " + canaryKey
	canaryBody = `{"model":"sim","max_tokens":3,"messages":[{"role":"user","content":"` + canaryPrompt + `"}]}`
)

// careless are engines whose bad answers quote the prompt.
var careless = []string{
	"HTTP/1.1 200 OK\r\n" + canaryAnswer + "\r\n\r\n",
	canaryAnswer + "\r\n\r\n",
	"HTTP/1.1 " + canaryAnswer + " OK\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length: " + canaryAnswer + "\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + canaryAnswer + "\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: " + canaryAnswer + "\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + canaryAnswer,
	"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: " + canaryAnswer + "\n\n",
	"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {\"error\":{\"message\":\"" + canaryAnswer + "\"}}\n\n",
	"HTTP/1.1 500 Oops " + canaryAnswer + "\r\nContent-Length: 18\r\n\r\n" + canaryAnswer,
	"HTTP/1.1 200 OK\r\nX-A: " + canaryAnswer + strings.Repeat("a", 64<<10) + "\r\n\r\n",
	jsonAnswer("x") + canaryAnswer,
}

func TestNoLogHoldsAPromptOrAKey(t *testing.T) {
	real(t)
	access := filepath.Join(t.TempDir(), "access.log")
	var turn atomic.Int64
	s := script(t, func(c *tcp, _ *http.Request, _ []byte) bool {
		_ = say(c, careless[int(turn.Load())%len(careless)])
		return false
	})
	digest := sha256.Sum256([]byte(canaryKey))
	g := launch(t, []string{s.URL}, func(c *configs.Config) {
		c.Log.Level, c.Log.AccessFile = configs.LogDebug, access
		c.Auth.Keys = []configs.APIKey{{ID: "team", SHA256: hex.EncodeToString(digest[:])}}
		c.Listen.HeaderTimeout, c.Listen.BodyMinRate = ms(300), 1<<20
		c.Pools[0].Breaker.Failures = 0
	})
	for range len(careless) { // each of them answers a stream and an answer in one piece
		g.leak(RawPost("/v1/chat/completions", canaryBody, bearer))
		g.leak(RawPost("/v1/chat/completions", strings.Replace(canaryBody, `"max`, `"stream":true,"max`, 1), bearer))
		turn.Add(1)
	}
	for name, raw := range leaks {
		if a := g.leak(raw); name == "wrong key" && (a == nil || a.StatusCode != http.StatusUnauthorized) {
			t.Errorf("%s: got %v", name, a)
		}
	}
	_, _, _ = g.Ask(t.Context(), http.MethodPost, "/api/v1/replicas?token="+canaryQuery, `{"url":"`+canaryPrompt+`"}`)
	g.settles()
	signal(t, g, syscall.SIGTERM)
	g.exits(0)
	g.neverPanicked()
	file, err := os.ReadFile(access)
	if err != nil || len(file) == 0 {
		t.Fatalf("cannot read the access log: %v", err)
	}
	for where, text := range map[string]string{
		"standard output": g.Stdout.Text(), "standard error": g.Stderr.Text(), "access log": string(file),
	} {
		for _, canary := range []string{canaryPrompt, canaryKey, canaryOther, canaryQuery, canaryAnswer} {
			if i := strings.Index(text, canary); i >= 0 {
				t.Errorf("%s holds %s: %s", where, canary, around(text, i))
			}
		}
	}
}

// leak sends raw and reads what may come back.
func (r *rig) leak(raw string) *Answer {
	r.t.Helper()
	c := r.dial()
	defer c.Close()
	r.send(c, raw)
	a, err := c.Receive()
	if err != nil {
		return nil
	}
	a.Rest()
	return a
}

func around(text string, i int) string {
	return text[max(0, i-300):min(len(text), i+100)]
}

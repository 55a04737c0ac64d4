package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"penstock/bench/enginesim"
	"penstock/configs"
	"penstock/proxy/admin"
	"penstock/proxy/listen"
)

// startWith runs the whole gateway in this process with these pools.
func startWith(t *testing.T, pools string) *app {
	t.Helper()
	cfg, err := configs.Parse([]byte("listen: {address: 127.0.0.1:0}\nadmin: {address: 127.0.0.1:0}\nshutdown: {settle: 0}\n"+pools), configs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := newApp(cfg, appOptions{
		Log: slog.New(slog.DiscardHandler), Level: &slog.LevelVar{}, Sockets: listen.NewSet(listen.SetOptions{}),
		Reload: func(context.Context) (*configs.Config, error) { return cfg, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.shutdown(0, time.Second) })
	return a
}

// ask makes one request and returns the body of a 200.
func ask(t *testing.T, method, url, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%s %s: %d %s %v", method, url, resp.StatusCode, text, err)
	}
	return string(text)
}

// tokenizerOf is what the admin API tells about the first pool's tokenizer.
func tokenizerOf(t *testing.T, a *app) *admin.Tokenizer {
	t.Helper()
	var got struct {
		Pools []admin.Pool `json:"pools"`
	}
	text := ask(t, http.MethodGet, a.adminURL+"/api/v1/pools", "")
	if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Pools) == 0 {
		t.Fatalf("%s: %v", text, err)
	}
	return got.Pools[0].Tokenizer
}

// TestTokenizerUnlikeTheEnginesIsSeen: the simulated engine has a tokenizer of its own.
func TestTokenizerUnlikeTheEnginesIsSeen(t *testing.T) {
	t.Parallel()
	sim, err := enginesim.New(enginesim.Default(enginesim.VLLM))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim.Handler())
	t.Cleanup(func() { server.Close(); _ = sim.Close() })
	a := startWith(t, "pools: [{health: {interval: 100ms, timeout: 100ms}, tokenizer: {path: "+tinyTokenizer+"}, replicas: [{url: \""+server.URL+"\"}]}]")
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	var got *admin.Tokenizer
	for got = tokenizerOf(t, a); got == nil || got.State != "degraded"; got = tokenizerOf(t, a) {
		select {
		case <-deadline:
			t.Fatalf("never seen: %+v", got)
		case <-tick.C:
		}
	}
	if got.Parity != "failed" || got.Engine != "vllm" || got.Vocabulary != 269 || !strings.Contains(got.Detail, "sample") {
		t.Errorf("%+v", got)
	}
	chat := `{"model":"` + enginesim.Default(enginesim.VLLM).Model + `","messages":[{"role":"user","content":"hello the water"}],"max_tokens":2}`
	ask(t, http.MethodPost, a.dataURL+"/v1/chat/completions", chat)
	metrics := ask(t, http.MethodGet, a.adminURL+"/metrics", "")
	for _, want := range []string{
		`penstock_tokenizer_state{pool="default",state="degraded"} 1`,
		`penstock_tokenizer_mismatch_total{pool="default",with="parity"}`,
		`penstock_keying_total{pool="default",reason="degraded",source="bytes"} 1`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s", want)
		}
	}
	if err := a.applyFromSource(t.Context()); err != nil {
		t.Error(err)
	}
}

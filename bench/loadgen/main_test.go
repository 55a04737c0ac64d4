package loadgen

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMainRefusesWrongArguments(t *testing.T) {
	t.Parallel()
	f := func(want string, args ...string) {
		t.Helper()
		var errs bytes.Buffer
		if code := Main(context.Background(), args, io.Discard, &errs); code != exitUsage || !strings.Contains(errs.String(), want) {
			t.Errorf("%q: exit code %d, %q; want 2 and %q", args, code, errs.String(), want)
		}
	}
	f("--url is required")
	f("want http://", "--url", "127.0.0.1:80")
	f("exclude each other", "--url", "http://x", "--rate", "2", "--speedup", "2")
	f("--api", "--url", "http://x", "--api", "embeddings")
	f("--header", "--url", "http://x", "--header", "a:b")
	f("--api-key", "--url", "http://x", "--api-key", "sk-1")
	f("must be positive", "--url", "http://x", "--rate", "-1")
	f("unexpected argument", "--url", "http://x", "y")
	f("not defined", "--nope")
}

func TestMainFailsWithoutServer(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	var errs bytes.Buffer
	if code := Main(context.Background(), []string{"--url", s.URL}, io.Discard, &errs); code != exitFailed {
		t.Fatalf("exit code %d, want 1", code)
	}
	code := Main(context.Background(), []string{"--url", s.URL, "--model", "m", "--trace", "../trace/testdata/text.jsonl", "--speedup", "100"}, io.Discard, io.Discard)
	if code != exitFailed {
		t.Fatalf("exit code %d when every request failed, want 1", code)
	}
}

func TestMainReports(t *testing.T) {
	t.Setenv("PENSTOCK_TEST_KEY", "k-1")
	sessions := make(chan string, 16)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer k-1" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.URL.Path == "/v1/models" {
			fmt.Fprint(w, `{"data":[{"id":"tiny"}]}`)
			return
		}
		var body struct {
			Model string `json:"model"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Model != "tiny" || r.Header.Get("X-A") != "b" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		sessions <- r.Header.Get("X-Session-Id")
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, good)
	}))
	defer s.Close()
	args := []string{
		"--url", s.URL + "/v1", "--trace", "../trace/testdata/text.jsonl", "--speedup", "100",
		"--api-key", "env:PENSTOCK_TEST_KEY", "--header", "x-a=b", "--slo-ttft", "1m",
	}
	var out, errs bytes.Buffer
	if code := Main(context.Background(), append(args, "--json"), &out, &errs); code != exitDone {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"requests", "ok", "errors", "ttft_p50", "ttft_p90", "ttft_p99", "itl_p50", "itl_p99",
		"e2e_p50", "e2e_p99", "late_send_p99", "late", "slo_share",
	} {
		if _, ok := got[key]; !ok {
			t.Errorf("the report lacks %q: %s", key, out.String())
		}
	}
	if got["requests"] != 3.0 || got["ok"] != 3.0 || got["slo_share"] != 1.0 || got["cached_tokens"] != 12.0 {
		t.Fatalf("got %s", out.String())
	}
	seen := map[string]int{}
	for range 3 {
		seen[<-sessions]++
	}
	if seen["a"] != 2 || seen["b"] != 1 {
		t.Fatalf("sessions sent: %v", seen)
	}
	out.Reset()
	if code := Main(context.Background(), args, &out, &errs); code != exitDone || !strings.Contains(out.String(), "TTFT") {
		t.Fatalf("exit code %d: %s", code, out.String())
	}
}

func TestLoadFillsTheDuration(t *testing.T) {
	t.Parallel()
	f := func(args string, low, high int) {
		t.Helper()
		o, err := parse(strings.Fields("--url http://x --trace ../trace/testdata/text.jsonl "+args), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := o.load()
		if err != nil {
			t.Fatal(err)
		}
		if n := len(tr.Requests); n < low || n > high {
			t.Errorf("%s: %d requests, want %d to %d", args, n, low, high)
		}
	}
	f("", 3, 3)
	f("--duration 1s", 2, 2)
	f("--duration 8s --seed 2", 9, 10)
	f("--duration 10s --rate 100", 900, 1100)
	f("--rate 100", 3, 3)
}

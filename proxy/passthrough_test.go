package proxy

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

const chat = `{"model":"m","messages":[{"role":"user","content":"hi"}]}`

func TestBytesPassUnchanged(t *testing.T) {
	t.Parallel()
	const body = `{ "model":"m", "seed":123456789012345678901234567890, "z":1,"a":[1.50,{}], "messages":[] }`
	const answer = "{\"id\":\"x\",\n \"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}"
	var got box[string]
	g := startGateway(t, poolYAML("", engine(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got.set(string(b))
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Header().Set("X-Engine", "kept")
		w.Header().Set("Server", "uvicorn")
		w.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(w, answer)
	})))
	r := g.post("/v1/chat/completions", body)
	if got.get() != body {
		t.Fatalf("engine got %q", got.get())
	}
	if r.status != 200 || r.body != answer || r.err != nil {
		t.Fatalf("client got %+v", r)
	}
	if r.header.Get("Content-Type") != "application/json; charset=utf-8" || r.header.Get("X-Engine") != "kept" {
		t.Fatalf("header %v", r.header)
	}
	if r.header.Get("Server") != "" || r.header.Get("X-Request-Id") == "" {
		t.Fatalf("header %v", r.header)
	}
}

func TestStreamPassesUnchanged(t *testing.T) {
	t.Parallel()
	events := []string{
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hello\"}}]}\n\n",
		"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
		"data: [DONE]\n\n",
	}
	g := startGateway(t, poolYAML("", engine(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for _, e := range events {
			_, _ = io.WriteString(w, e)
			w.(http.Flusher).Flush()
		}
	})))
	c := client(t)
	for range 3 { // the second and third use the same client connection again
		resp, err := c.Post(g.url+"/v1/chat/completions", "application/json",
			strings.NewReader(`{"model":"m","stream":true,"messages":[]}`))
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || string(b) != strings.Join(events, "") {
			t.Fatalf("%q %v", b, err)
		}
		if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream; charset=utf-8" {
			t.Fatal(ct)
		}
	}
	eventually(t, "streams settle", func() bool { return g.server.InFlight() == 0 })
}

func TestStreamHeadSurvivesTheWaitForTheFirstEvent(t *testing.T) {
	t.Parallel()
	g := startGateway(t, poolYAML("", engine(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		w.Header().Set("X-Engine", "kept")
		w.(http.Flusher).Flush() // vLLM sends its head long before the first token
		for range 40 {
			_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"padding padding\"}}]}\n\n")
			w.(http.Flusher).Flush()
		}
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	})))
	r := g.post("/v1/chat/completions", `{"model":"m","stream":true,"messages":[]}`)
	if r.err != nil || r.header.Get("Content-Type") != "text/event-stream; charset=utf-8" || r.header.Get("X-Engine") != "kept" {
		t.Fatalf("%+v", r)
	}
}

func TestTruncatedStreamNeverLooksComplete(t *testing.T) {
	t.Parallel()
	g := startGateway(t, poolYAML("", engine(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})))
	r := g.post("/v1/chat/completions", `{"model":"m","stream":true,"messages":[]}`)
	if r.status != 200 || r.err == nil || strings.Contains(r.body, "[DONE]") {
		t.Fatalf("%+v", r)
	}
	if !strings.Contains(r.body, codeTruncated) {
		t.Fatalf("no error event in %q", r.body)
	}
}

func TestEventsAreNeverTornByACut(t *testing.T) {
	t.Parallel()
	const event = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"abc\"}}]}\n\n"
	for cut := 1; cut < len(event); cut += 7 {
		g := startGateway(t, poolYAML("", engine(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, event)
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, event[:cut])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		})))
		r := g.post("/v1/chat/completions", `{"model":"m","stream":true,"messages":[]}`)
		rest, ok := strings.CutPrefix(r.body, event)
		if !ok || r.err == nil || !strings.HasPrefix(rest, `data: {"error":{`) || !strings.HasSuffix(rest, "\n\n") {
			t.Fatalf("cut at %d: %q %v", cut, r.body, r.err)
		}
	}
}

func TestEventsLongerThanWhatIsHeldPass(t *testing.T) {
	t.Parallel()
	long := "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" + strings.Repeat("x", 300<<10) + "\"}}]}\n\n"
	want := long + "data: {\"choices\":[]}\n\n" + long + "data: [DONE]\n\n"
	g := startGateway(t, poolYAML("", engine(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for rest := want; rest != ""; {
			n := min(len(rest), 5000)
			_, _ = io.WriteString(w, rest[:n])
			w.(http.Flusher).Flush()
			rest = rest[n:]
		}
	})))
	r := g.post("/v1/chat/completions", `{"model":"m","stream":true,"messages":[]}`)
	if r.err != nil || r.body != want {
		t.Fatalf("%d of %d bytes, %v", len(r.body), len(want), r.err)
	}
}

func TestStreamThatEndsInOrderWithoutItsMarkIsAFailure(t *testing.T) {
	t.Parallel()
	g := startGateway(t, poolYAML("", engine(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n")
	})))
	r := g.post("/v1/chat/completions", `{"model":"m","stream":true,"messages":[]}`)
	if r.err == nil || !strings.Contains(r.body, codeTruncated) {
		t.Fatalf("%+v", r)
	}
}

func TestErrorAsFirstEventBecomesAStatus(t *testing.T) {
	t.Parallel()
	g := startGateway(t, poolYAML("", engine(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"error\":{\"message\":\"full\",\"type\":\"SERVICE_UNAVAILABLE\",\"code\":503}}\n\ndata: [DONE]\n\n")
	})))
	r := g.post("/v1/chat/completions", `{"model":"m","stream":true,"messages":[]}`)
	var e struct{ Error struct{ Message string } }
	if r.status != 503 || json.Unmarshal([]byte(r.body), &e) != nil || e.Error.Message != "full" {
		t.Fatalf("%+v", r)
	}
}

func TestInjectionFieldsAreStripped(t *testing.T) {
	t.Parallel()
	var got box[string]
	var header box[http.Header]
	g := startGateway(t, poolYAML("", engine(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got.set(string(b))
		header.set(r.Header)
		_, _ = io.WriteString(w, "{}")
	})))
	g.post("/v1/chat/completions",
		`{"kv_transfer_params":{"remote_host":"evil"},"model":"m","bootstrap_host":"evil","messages":[],"rid":"x"}`,
		"X-Data-Parallel-Rank", "3", "Traceparent", "00-1-2-01", "X-Internal", "no")
	if got.get() != `{"model":"m","messages":[]}` {
		t.Fatalf("engine got %q", got.get())
	}
	if header.get().Get("X-Data-Parallel-Rank") != "" || header.get().Get("X-Internal") != "" || header.get().Get("Traceparent") == "" {
		t.Fatalf("engine got %v", header.get())
	}
}

func TestInjectionFieldsAreStrippedOnPassthroughPaths(t *testing.T) {
	t.Parallel()
	var got box[string]
	g := startGateway(t, "routes: {passthrough: [/invocations]}\n"+poolYAML("", engine(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got.set(string(b))
	})))
	g.post("/invocations", `{"prompt":"x","kv_transfer_params":{"remote_host":"evil"}}`)
	if got.get() != `{"prompt":"x"}` {
		t.Fatalf("engine got %q", got.get())
	}
	if r := g.post("/invocations", `{"kv_transfer_params":NaN}`); r.status != 400 {
		t.Fatalf("%+v", r)
	}
	g.post("/invocations", "--x\r\nraw", "Content-Type", "multipart/form-data; boundary=x")
	if got.get() != "--x\r\nraw" {
		t.Fatalf("engine got %q", got.get())
	}
}

func TestAliasIsRewrittenInPlace(t *testing.T) {
	t.Parallel()
	var got box[string]
	g := startGateway(t, poolYAML("", engine(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got.set(string(b))
		_, _ = io.WriteString(w, "{}")
	})))
	g.post("/v1/chat/completions", `{"a":1, "model" : "alias","messages":[]}`)
	if got.get() != `{"a":1, "model" : "m","messages":[]}` {
		t.Fatalf("engine got %q", got.get())
	}
}

func TestLargeAndChunkedAnswersAreRelayed(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("0123456789abcdef", 128<<10) // 2 MiB
	for _, chunked := range []bool{false, true} {
		g := startGateway(t, poolYAML("", engine(t, func(w http.ResponseWriter, r *http.Request) {
			if !chunked {
				w.Header().Set("Content-Length", "2097152")
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, large)
		})))
		if r := g.post("/v1/chat/completions", chat); r.err != nil || r.body != large {
			t.Fatalf("chunked=%v: %d bytes, %v", chunked, len(r.body), r.err)
		}
		eventually(t, "settled", func() bool { return g.server.InFlight() == 0 })
	}
}

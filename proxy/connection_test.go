package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

const sseBody = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n"

func bothEngine(t *testing.T) string {
	t.Helper()
	return engine(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if strings.Contains(string(b), `"stream":true`) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, sseBody)
			return
		}
		w.Header().Set("X-Length", r.Header.Get("Content-Length"))
		_, _ = io.WriteString(w, `{"ok":true}`)
	})
}

func rawPost(version, extra, body string) string {
	return fmt.Sprintf("POST /v1/chat/completions HTTP/%s\r\nHost: x\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s",
		version, extra, len(body), body)
}

const streamReq = `{"model":"m","stream":true,"messages":[]}`

func TestRequestsPipelinedBehindAStreamAreServed(t *testing.T) {
	t.Parallel()
	g := startGateway(t, poolYAML("", bothEngine(t)))
	c := g.raw(rawPost("1.1", "", streamReq) + rawPost("1.1", "", chat) + rawPost("1.1", "", streamReq) + rawPost("1.1", "", chat))
	r := bufio.NewReader(c)
	for i := range 4 {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("answer %d: %v", i, err)
		}
		b, err := io.ReadAll(resp.Body)
		want := sseBody
		if i%2 == 1 {
			want = `{"ok":true}`
		}
		if err != nil || string(b) != want {
			t.Fatalf("answer %d: %q %v", i, b, err)
		}
	}
}

func TestOldClientsGetAStreamThatEndsWithTheConnection(t *testing.T) {
	t.Parallel()
	g := startGateway(t, poolYAML("", bothEngine(t)))
	for _, req := range []string{rawPost("1.0", "", streamReq), rawPost("1.0", "Connection: keep-alive\r\n", streamReq)} {
		b, err := io.ReadAll(g.raw(req))
		if err != nil {
			t.Fatal(err)
		}
		head, body, _ := strings.Cut(string(b), "\r\n\r\n")
		if body != sseBody || strings.Contains(strings.ToLower(head), "chunked") || !strings.Contains(head, "Connection: close") {
			t.Fatalf("%q", b)
		}
	}
}

func TestCloseIsHonouredAfterAStream(t *testing.T) {
	t.Parallel()
	g := startGateway(t, poolYAML("", bothEngine(t)))
	b, err := io.ReadAll(g.raw(rawPost("1.1", "Connection: close\r\n", streamReq)))
	if err != nil || !strings.HasSuffix(string(b), "\r\n0\r\n\r\n") || !strings.Contains(string(b), "Connection: close") {
		t.Fatalf("%q %v", b, err)
	}
}

func TestChunkedRequestsReachTheEngineWithALength(t *testing.T) {
	t.Parallel()
	g := startGateway(t, poolYAML("", bothEngine(t)))
	c := g.raw(fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(chat), chat))
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || resp.StatusCode != 200 || resp.Header.Get("X-Length") != fmt.Sprint(len(chat)) {
		t.Fatalf("%v %v", resp, err)
	}
	_ = resp.Body.Close()
}

func TestHeadHasNoBody(t *testing.T) {
	t.Parallel()
	g := startGateway(t, poolYAML("", engine(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"object":"list","data":[]}`)
	})))
	c := g.raw("HEAD /v1/models HTTP/1.1\r\nHost: x\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n")
	r := bufio.NewReader(c)
	head, _ := http.NewRequestWithContext(t.Context(), http.MethodHead, "/", http.NoBody)
	resp, err := http.ReadResponse(r, head)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%v %v", resp, err)
	}
	_ = resp.Body.Close()
	if resp, err = http.ReadResponse(r, nil); err != nil || resp.StatusCode != 200 {
		t.Fatalf("%v %v", resp, err)
	}
	_ = resp.Body.Close()
}

func TestCutAnswerWithoutFramingIsReset(t *testing.T) {
	t.Parallel()
	g := startGateway(t, poolYAML("", engine(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"half":`)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})))
	if b, err := io.ReadAll(g.raw(rawPost("1.0", "", chat))); err == nil {
		t.Fatalf("a cut answer looks complete: %q", b)
	}
}

func TestHeadOfAStreamIsNoFailure(t *testing.T) {
	t.Parallel()
	g := startGateway(t, "routes: {passthrough: [/events]}\n"+poolYAML("", engine(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, sseBody)
	})))
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodHead, g.url+"/events", http.NoBody)
	if r := g.do(req); r.status != 200 || r.body != "" {
		t.Fatalf("%+v", r)
	}
}

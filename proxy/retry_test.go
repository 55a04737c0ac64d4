package proxy

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// refused is an address where nothing listens.
func refused(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return "http://" + ln.Addr().String()
}

func answering(t *testing.T, n *atomic.Int64) string {
	t.Helper()
	return engine(t, func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"ok":true}`)
	})
}

func TestDeadReplicaIsPassedOver(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	g := startGateway(t, poolYAML("  policy: round_robin\n", refused(t), answering(t, &n)))
	for range 20 {
		if r := g.post("/v1/chat/completions", chat); r.status != 200 {
			t.Fatalf("%+v", r)
		}
	}
	if n.Load() != 20 {
		t.Fatalf("%d answers", n.Load())
	}
}

func TestRefusalGoesElsewhereAndElseIsPassedOn(t *testing.T) {
	t.Parallel()
	var busy, n atomic.Int64
	full := engine(t, func(w http.ResponseWriter, r *http.Request) {
		busy.Add(1)
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"error":"full"}`)
	})
	g := startGateway(t, poolYAML("  policy: round_robin\n", full, answering(t, &n)))
	for range 4 {
		if r := g.post("/v1/chat/completions", chat); r.status != 200 {
			t.Fatalf("%+v", r)
		}
	}
	alone := startGateway(t, poolYAML("", full))
	r := alone.post("/v1/chat/completions", chat)
	if r.status != 503 || r.header.Get("Retry-After") != "7" || r.body != `{"error":"full"}` {
		t.Fatalf("%+v", r)
	}
	if s := alone.fleet.Pools()[0].Snapshot()[0]; s.Breaker != "closed" {
		t.Fatalf("backpressure counted as a failure: %+v", s)
	}
}

func TestClientErrorsAreNotRetried(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	bad := func() string {
		return engine(t, func(w http.ResponseWriter, r *http.Request) {
			n.Add(1)
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"too long"}}`)
		})
	}
	g := startGateway(t, poolYAML("", bad(), bad()))
	r := g.post("/v1/chat/completions", chat)
	if r.status != 400 || n.Load() != 1 || r.body != `{"error":{"message":"too long"}}` {
		t.Fatalf("%d tries, %+v", n.Load(), r)
	}
}

func TestAnswerCutBeforeItsStatusWasSentIsAnError(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	cut := func() string {
		return engine(t, func(w http.ResponseWriter, r *http.Request) {
			n.Add(1)
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		})
	}
	g := startGateway(t, poolYAML("", cut(), cut()))
	r := g.post("/v1/chat/completions", chat)
	if r.status != 502 || !strings.Contains(r.body, codeTruncated) || n.Load() != 1 {
		t.Fatalf("%d tries, %+v", n.Load(), r)
	}
}

func TestSilentEngineIsGivenUp(t *testing.T) {
	t.Parallel()
	g := startGateway(t, poolYAML("  timeouts: {first_byte: 30ms, first_byte_per_kib: 0s}\n",
		engine(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		})))
	r := g.post("/v1/chat/completions", chat)
	if r.status != 504 || !strings.Contains(r.body, codeFirstByte) {
		t.Fatalf("%+v", r)
	}
}

func TestDeadKeptConnectionIsReplayed(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() { // answers one request per connection, keeps it open, then drops it on the next
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				buf := make([]byte, 64<<10)
				if _, err := c.Read(buf); err != nil {
					return
				}
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
				_, _ = c.Read(buf)
			}()
		}
	}()
	g := startGateway(t, poolYAML("", "http://"+ln.Addr().String()))
	for range 5 {
		if r := g.post("/v1/chat/completions", chat); r.status != 200 {
			t.Fatalf("%+v", r)
		}
	}
}

func TestStrayBytesNeverReachAnotherRequest(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	late := make(chan net.Conn, 10)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				buf := make([]byte, 64<<10)
				for {
					if _, err := c.Read(buf); err != nil {
						return
					}
					_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
					late <- c
				}
			}()
		}
	}()
	g := startGateway(t, poolYAML("", "http://"+ln.Addr().String()))
	if r := g.post("/v1/chat/completions", chat); r.body != "{}" {
		t.Fatalf("%+v", r)
	}
	c := <-late
	if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nSECRET"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if r := g.post("/v1/chat/completions", chat); r.body != "{}" {
			t.Fatalf("another request's bytes: %+v", r)
		}
	}
}

func TestAnswerOfADrainingEngineIsAskedForElsewhere(t *testing.T) {
	t.Parallel()
	aborted := func(stream bool) string {
		return engine(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if !stream {
				_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"ha"},"finish_reason": "abort"}]}`)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"abort\"}]}\n\ndata: [DONE]\n\n")
		})
	}
	const whole = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"all\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	good := engine(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if strings.Contains(string(b), `"stream":true`) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, whole)
			return
		}
		_, _ = io.WriteString(w, `{"ok":true}`)
	})
	for _, stream := range []bool{false, true} {
		g := startGateway(t, poolYAML("  policy: round_robin\n", aborted(stream), good))
		body, want := chat, `{"ok":true}`
		if stream {
			body, want = `{"model":"m","stream":true,"messages":[]}`, whole
		}
		for range 4 {
			if r := g.post("/v1/chat/completions", body); r.body != want || r.err != nil {
				t.Fatalf("stream=%v: %+v", stream, r)
			}
		}
	}
}

// mortal is an engine that dies, listener and all, under its second request: the
// connection that the first one left open breaks, and a new one is refused.
func mortal(t *testing.T, deaths *atomic.Int64) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				buf := make([]byte, 64<<10)
				if _, err := c.Read(buf); err != nil {
					return
				}
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
				if _, err := c.Read(buf); err == nil {
					deaths.Add(1)
					_ = ln.Close()
				}
			}()
		}
	}()
	return "http://" + ln.Addr().String()
}

func TestRequestThatKillsEnginesStopsAtTwo(t *testing.T) {
	t.Parallel()
	var deaths atomic.Int64
	g := startGateway(t, poolYAML("  policy: round_robin\n  retry: {max_attempts: 4}\n",
		mortal(t, &deaths), mortal(t, &deaths), mortal(t, &deaths), mortal(t, &deaths)))
	for range 4 { // leave a warm connection to each
		if r := g.post("/v1/chat/completions", chat); r.status != 200 {
			t.Fatalf("%+v", r)
		}
	}
	if r := g.post("/v1/chat/completions", chat); r.status < 500 {
		t.Fatalf("%+v", r)
	}
	if n := deaths.Load(); n > 2 {
		t.Fatalf("%d engines died of one request", n)
	}
}

func TestUnknownPostIsNotRepeated(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	dying := func() string {
		return engine(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			n.Add(1)
			panic(http.ErrAbortHandler)
		})
	}
	g := startGateway(t, "routes: {passthrough: [/v1/load_lora_adapter]}\n"+poolYAML("", dying(), dying(), dying()))
	if r := g.post("/v1/load_lora_adapter", `{"lora_name":"x"}`); r.status != 502 || n.Load() != 1 {
		t.Fatalf("%d engines asked, %+v", n.Load(), r)
	}
}

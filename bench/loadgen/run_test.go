package loadgen

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"sync"
	"testing"
	"time"

	"penstock/bench/trace"
)

const good = `data: {"choices":[{"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}

: comment

data: {"choices":[{"delta":{"content":"he"},"finish_reason":null}]}

data: {"choices":[{"delta":{"content":"llo \"finish_reason\":\"abort\""},"finish_reason":null}]}

data: {"choices":[{"delta":{},"finish_reason":"stop"}]}

data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}

data: [DONE]

`

const head200 = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"

// raw answers every request on every connection with text; an empty text closes
// the connection.
func raw(t *testing.T, text string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				buf := make([]byte, 64<<10)
				if _, err := c.Read(buf); err == nil { // requests here are small
					_, _ = io.WriteString(c, text)
				}
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	return "http://" + l.Addr().String()
}

func config(url string, n int) Config {
	tr := &trace.Trace{BlockTokens: 4}
	for i := range n {
		tr.Requests = append(tr.Requests, trace.Request{At: time.Duration(i) * time.Millisecond, Input: 8, Output: 2})
	}
	return Config{URL: url, Trace: tr, Synth: trace.Synth{Model: "m", API: trace.Chat, Streams: true}, Timeout: time.Minute}
}

func sized(body string) string {
	return "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
}

func TestEveryEndIsTold(t *testing.T) {
	t.Parallel()
	f := func(name, text string, want Kind) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := Run(t.Context(), config(raw(t, text), 3))
			if err != nil {
				t.Fatal(err)
			}
			wantErrors := map[Kind]int{}
			if want != "" {
				wantErrors[want] = 3
			}
			if r.Requests != 3 || !reflect.DeepEqual(r.Errors, wantErrors) || (r.OK == 3) != (want == "") {
				t.Fatalf("got %d requests, %d ok, errors %v; want %q", r.Requests, r.OK, r.Errors, want)
			}
		})
	}
	sse := head200
	f("complete with a length", sse+sized(good), "")
	f("complete up to the close", sse+"\r\n"+good, "")
	f("complete in chunks", sse+"Transfer-Encoding: chunked\r\n\r\n"+chunks(good), "")
	f("complete with CRLF lines and a 100 before", "HTTP/1.1 100 Continue\r\n\r\n"+sse+sized(crlf(good)), "")
	f("no last chunk", sse+"Transfer-Encoding: chunked\r\n\r\n"+chunks(good)[:len(chunks(good))-5], Truncated)
	f("cut before the length", sse+"Content-Length: 9999\r\n\r\n"+good, Truncated)
	f("clean end without [DONE]", sse+sized(good[:len(good)-14]), Truncated)
	f("clean end without finish_reason", sse+sized("data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n\n"), Truncated)
	f("end inside an event", sse+sized(good+"data: {"), Truncated)
	f("event after [DONE]", sse+sized(good+"data: {}\n\n"), WrongContent)
	f("event that is not JSON", sse+sized("data: {\"choices\"\n\n"), WrongContent)
	f("error event", sse+sized("data: {\"error\": {\"message\":\"x\"}}\n\ndata: [DONE]\n\n"), ErrorEvent)
	f("aborted by the engine", sse+sized("data: {\"choices\":[{\"finish_reason\":\"abort\"}]}\n\ndata: [DONE]\n\n"), Aborted)
	f("JSON where a stream was asked", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"+sized("{}"), WrongContent)
	f("not HTTP", "SSH-2.0-OpenSSH\r\n", WrongContent)
	f("closed without an answer", "", Reset)
	f("head cut", "HTTP/1.1 200 OK\r\nContent-", Reset)
	f("429", "HTTP/1.1 429 Too Many Requests\r\n"+sized("{}"), Status4xx)
	f("503 without a length", "HTTP/1.1 503 Service Unavailable\r\n\r\n{}", Status5xx)
	f("bad chunk", sse+"Transfer-Encoding: chunked\r\n\r\nxyz\r\n", WrongContent)
}

func chunks(text string) string {
	out := ""
	for len(text) > 0 {
		n := min(37, len(text)) // cuts lines and events anywhere
		out += strconv.FormatInt(int64(n), 16) + "\r\n" + text[:n] + "\r\n"
		text = text[n:]
	}
	return out + "0\r\n\r\n"
}

func crlf(text string) string {
	out := ""
	for _, c := range text {
		if c == '\n' {
			out += "\r"
		}
		out += string(c)
	}
	return out
}

func TestWholeAnswers(t *testing.T) {
	t.Parallel()
	f := func(name, body string, want Kind) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(raw(t, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"+sized(body)), 1)
			cfg.Synth.Streams, cfg.Synth.API = false, trace.Completions
			r, err := Run(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			if (want == "" && r.OK != 1) || (want != "" && r.Errors[want] != 1) {
				t.Fatalf("got %d ok, errors %v; want %q", r.OK, r.Errors, want)
			}
		})
	}
	f("complete", `{"choices":[{"text":"x","finish_reason":"length"}],"usage":{"prompt_tokens":3}}`, "")
	f("no finish_reason", `{"choices":[{"text":"x","finish_reason":null}]}`, Truncated)
	f("aborted", `{"choices":[{"text":"x","finish_reason":"abort"}]}`, Aborted)
	f("no choices", `{}`, WrongContent)
	f("not JSON", `{`, WrongContent)
	f("error with status 200", `{"error":{"message":"x"}}`, ErrorEvent)
}

func TestConnectRefused(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	r, err := Run(t.Context(), config(s.URL, 2))
	if err != nil || r.Errors[Connect] != 2 {
		t.Fatalf("got %+v, %v", r, err)
	}
}

func TestTimeoutAndCancel(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	arrived := make(chan struct{}, 8)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived <- struct{}{}
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}))
	defer s.Close()
	defer close(hold)
	cfg := config(s.URL, 1)
	cfg.Timeout = 20 * time.Millisecond
	r, err := Run(t.Context(), cfg)
	if err != nil || r.Errors[Timeout] != 1 {
		t.Fatalf("got %+v, %v; want one timeout", r, err)
	}
	<-arrived
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	r, err = Run(ctx, config(s.URL, 1))
	if err != nil || r.Requests != 0 || r.Canceled != 1 {
		t.Fatalf("got %+v, %v; want one canceled", r, err)
	}
}

func TestConnectionsAreReusedAndReplacedWhenDead(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	opened, served := 0, 0
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		served++
		n := served
		mu.Unlock()
		_, _ = io.Copy(io.Discard, r.Body)
		if n == 3 { // as if the server had closed the idle connection just now
			c, _, _ := http.NewResponseController(w).Hijack()
			_ = c.Close()
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, good)
	}))
	s.Config.ConnState = func(_ net.Conn, st http.ConnState) {
		if st == http.StateNew {
			mu.Lock()
			opened++
			mu.Unlock()
		}
	}
	s.Start()
	defer s.Close()
	cfg := config(s.URL, 6)
	cfg.Concurrency = 1
	r, err := Run(t.Context(), cfg)
	if err != nil || r.OK != 6 {
		t.Fatalf("got %+v, %v; want 6 ok", r, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if opened > 3 { // one, its replacement, and one if the worker was not yet idle
		t.Fatalf("%d connections for 6 requests in turn", opened)
	}
}

// jump is a clock that is late by a fixed time at every slot, and on which
// nothing else takes time.
type jump struct {
	mu   sync.Mutex
	at   time.Time
	late time.Duration
}

func (j *jump) clock() clock {
	return clock{
		now: func() time.Time {
			j.mu.Lock()
			defer j.mu.Unlock()
			return j.at
		},
		wait: func(ctx context.Context, until time.Time) error {
			j.mu.Lock()
			defer j.mu.Unlock()
			if at := until.Add(j.late); at.After(j.at) {
				j.at = at
			}
			return ctx.Err()
		},
	}
}

func TestLateSendsAreFlaggedAndCounted(t *testing.T) {
	t.Parallel()
	f := func(late time.Duration, flagged bool) {
		t.Helper()
		cfg := config(raw(t, head200+sized(good)), 1)
		cfg.clock = (&jump{at: time.Unix(1000, 0), late: late}).clock()
		r, err := Run(t.Context(), cfg)
		if err != nil || r.OK != 1 {
			t.Fatalf("got %+v, %v", r, err)
		}
		p := r.Report(0)
		if p.Late != flagged || p.LateSendP99 < late.Seconds() || p.LateSendP99 > late.Seconds()*1.01+1e-6 {
			t.Fatalf("late by %s: reported %g, flag %t", late, p.LateSendP99, p.Late)
		}
		if p.TTFTP50 < late.Seconds() { // it counts from the intended send
			t.Fatalf("TTFT %g hides a delay of %s", p.TTFTP50, late)
		}
	}
	f(20*time.Millisecond, true)
	f(500*time.Microsecond, false)
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	f := func(change func(c *Config)) {
		t.Helper()
		cfg := config("http://127.0.0.1:1", 1)
		change(&cfg)
		if _, err := Run(t.Context(), cfg); err == nil {
			t.Errorf("Run accepted %+v", cfg)
		}
	}
	f(func(c *Config) { c.URL = "ftp://x" })
	f(func(c *Config) { c.URL = "http://\x00" })
	f(func(c *Config) { c.Trace = &trace.Trace{} })
	f(func(c *Config) { c.Headers = []string{"a: b\r\nc: d"} })
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	f := func(base string, api trace.API, want string) {
		t.Helper()
		cfg := config(base, 1)
		cfg.Synth.API = api
		r, err := newRun(cfg)
		if err != nil || r.target.path != want {
			t.Errorf("%s: path %q, %v; want %q", base, r.target.path, err, want)
		}
	}
	f("http://h", trace.Chat, "/v1/chat/completions")
	f("http://h/", trace.Completions, "/v1/completions")
	f("http://h/v1", trace.Chat, "/v1/chat/completions")
	f("http://h/base/v1/", trace.Completions, "/base/v1/completions")
	f("http://h/x/chat/completions", trace.Chat, "/x/chat/completions")
}

package enginesim

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

func fault(t *testing.T, text string) Fault {
	t.Helper()
	f, err := ParseFault(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFaultOnStream(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault  string
		events int    // complete events that arrive
		done   bool   // the last of them is [DONE]
		whole  bool   // the body ends as HTTP wants it
		has    string // in the body
	}{
		{"die_after_events=0", 0, false, false, ""},
		{"die_after_events=3", 3, false, false, ""},
		{"die_after_events=99", 6, false, false, ""}, // all but [DONE]
		{"rst_after_events=2", 2, false, false, ""},
		{"abort_after_events=2", 5, true, true, `"finish_reason":"abort"`}, // 2, abort, usage, [DONE]
		{"error_after_events=2", 4, true, true, `data: {"error":{"message"`},
		{"error_first_event", 2, true, true, `"code":503`},
		{"split_events", 7, true, true, ""},
		{"crlf", 7, true, true, "\r\n\r\n"},
		{"close_idle", 7, true, true, ""},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			s := start(t, instant(VLLM))
			s.SetFault(fault(t, c.fault))
			r := s.post("/v1/chat/completions", chatStream)
			if r.status != http.StatusOK {
				t.Fatalf("status %d, %v", r.status, r.err)
			}
			if (r.err == nil) != c.whole {
				t.Errorf("reading ended with %v, want a whole body: %v", r.err, c.whole)
			}
			ev := r.events()
			if len(ev) != c.events {
				t.Errorf("%d events, want %d: %q", len(ev), c.events, ev)
			}
			if got := len(ev) > 0 && ev[len(ev)-1] == "[DONE]"; got != c.done {
				t.Errorf("ends in [DONE]: %v, want %v", got, c.done)
			}
			if !strings.Contains(r.body, c.has) {
				t.Errorf("body lacks %q: %s", c.has, r.body)
			}
			if st := s.Stats(); st.BlocksUsed != 0 || st.Running+st.Waiting != 0 {
				t.Errorf("the engine still holds %+v", st)
			}
		})
	}
}

func TestResetIsSeenAsReset(t *testing.T) {
	t.Parallel()
	s := start(t, instant(VLLM))
	s.SetFault(Fault{Cut: CutReset, After: 1})
	if r := s.post("/v1/chat/completions", chatStream); !errors.Is(r.err, syscall.ECONNRESET) {
		t.Errorf("reading ended with %v, want a reset", r.err)
	}
}

func TestFaultOnAnswerInOnePiece(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault  string
		status int // 0: no response at all
		whole  bool
		has    string
	}{
		{"status=503,retry_after=2", 503, true, `"code":503`},
		{"status=429", 429, true, `"code":429`},
		{"status=500", 500, true, `"InternalServerError"`},
		{"truncate_json", 200, false, ""},
		{"die_after_events=0", 0, false, ""},
		{"die_after_events=1", 200, false, ""},
		{"rst_after_events=1", 200, false, ""},
		{"abort_after_events=2", 200, true, `"finish_reason":"abort"`},
		{"error_after_events=1", 500, true, `"error"`},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			s := start(t, instant(VLLM))
			s.SetFault(fault(t, c.fault))
			r := s.post("/v1/chat/completions", chat)
			if r.status != c.status || (r.err == nil) != c.whole {
				t.Errorf("status %d, error %v; want %d, whole %v", r.status, r.err, c.status, c.whole)
			}
			if !strings.Contains(r.body, c.has) {
				t.Errorf("body lacks %q: %s", c.has, r.body)
			}
			if strings.Contains(c.fault, "retry_after") && r.header.Get("Retry-After") != "2" {
				t.Errorf("Retry-After %q, want 2", r.header.Get("Retry-After"))
			}
		})
	}
}

func TestHangEndsWithTheClient(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"hang", "hang_after_events=2", "comments_only"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := instant(VLLM)
			cfg.HeartbeatEvery = time.Millisecond
			s := start(t, cfg)
			s.SetFault(fault(t, name))
			done := arrivals(s.OnDone)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if name == "hang" {
				go cancelWhenAccepted(s, cancel)
				if _, err := s.do(ctx, "POST", "/v1/chat/completions", chatStream); err == nil {
					t.Error("a hanging server answered")
				}
				return
			}
			resp, err := s.do(ctx, "POST", "/v1/chat/completions", chatStream)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			lines := bufio.NewScanner(resp.Body)
			for range 4 { // two events, or two comments, each with its empty line
				lines.Scan()
				if name == "comments_only" && lines.Text() != "" && !strings.HasPrefix(lines.Text(), ":") {
					t.Errorf("line %q is no comment", lines.Text())
				}
			}
			cancel()
			await(t, done, "end of the request")
		})
	}
}

// cancelWhenAccepted gives up once the server has the request.
func cancelWhenAccepted(s *started, cancel context.CancelFunc) {
	defer cancel()
	for !s.faults.inUse() {
		runtime.Gosched()
	}
}

func TestReplacingTheFaultEndsAHang(t *testing.T) {
	t.Parallel()
	s := start(t, instant(VLLM))
	s.SetFault(fault(t, "hang_after_events=1"))
	resp, err := s.do(t.Context(), "POST", "/v1/chat/completions", chatStream)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	s.SetFault(Fault{})
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("a stream that hung ended as if it were whole")
	}
}

func TestFaultAppliesTimesAndPath(t *testing.T) {
	t.Parallel()
	s := start(t, instant(VLLM))
	s.SetFault(fault(t, "times=2,status=503"))
	if r := s.ask("GET", "/v1/models", ""); r.status != 200 {
		t.Errorf("a fault without a path hit /v1/models: %d", r.status)
	}
	var got []int
	for range 3 {
		got = append(got, s.post("/v1/chat/completions", chat).status)
	}
	if fmt.Sprint(got) != "[503 503 200]" {
		t.Errorf("statuses %v, want two faults and then none", got)
	}
	s.SetFault(fault(t, "path=/health,status=503"))
	if r := s.ask("GET", "/health", ""); r.status != 503 {
		t.Errorf("/health gave %d, want 503", r.status)
	}
}

func TestHeaderFaultOnlyWhenAllowed(t *testing.T) {
	t.Parallel()
	for _, allowed := range []bool{false, true} {
		cfg := instant(VLLM)
		cfg.AllowHeaderFaults = allowed
		s := start(t, cfg)
		want := map[bool]int{false: 200, true: 418}[allowed]
		if r := s.post("/v1/chat/completions", chat, "x-sim-fault", "status=418"); r.status != want {
			t.Errorf("allowed %v: status %d, want %d", allowed, r.status, want)
		}
	}
}

func TestSurplusBytesFollowTheResponse(t *testing.T) {
	t.Parallel()
	s := start(t, instant(VLLM))
	s.SetFault(Fault{Surplus: true})
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(chat), chat)
	in := bufio.NewReader(conn)
	for _, want := range []string{"chat.completion", "poison"} {
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if !strings.Contains(string(body), want) {
			t.Errorf("body %q, want %q in it", body, want)
		}
	}
}

func TestRefusedConnections(t *testing.T) {
	t.Parallel()
	s := start(t, instant(VLLM))
	s.SetFault(Fault{Refuse: 1})
	if r := s.ask("GET", "/health", ""); r.err == nil && r.status == 200 {
		t.Error("the first connection was served")
	}
	if r := s.ask("GET", "/health", ""); r.status != 200 {
		t.Errorf("the second connection: %d, %v", r.status, r.err)
	}
}

func TestRestartKillsRequestsAndForgetsTheCache(t *testing.T) {
	t.Parallel()
	s := start(t, instant(VLLM))
	long := `{"model":"m","prompt":"` + strings.Repeat("word ", 100) + `","max_tokens":1}`
	s.post("/v1/completions", long)
	before := s.Stats().BlocksCached
	held := fault(t, "hang_after_events=1")
	s.SetFault(held)
	resp, err := s.do(t.Context(), "POST", "/v1/chat/completions", chatStream)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	s.SetFault(Fault{Restart: true})
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("a request survived the restart")
	}
	if after := s.Stats().BlocksCached; before == 0 || after != 0 {
		t.Errorf("%d blocks cached before the restart, %d after; want some and none", before, after)
	}
}

func TestSlowFaultReachesTheEngine(t *testing.T) {
	t.Parallel()
	s := start(t, instant(VLLM))
	s.SetFault(Fault{Slow: 4})
	if got := s.ranks[0].engine.Config().Slow; got != 4 {
		t.Errorf("engine slowed by %v, want 4", got)
	}
	s.SetFault(Fault{})
	if got := s.ranks[0].engine.Config().Slow; got != 1 {
		t.Errorf("engine slowed by %v after the fault, want 1", got)
	}
}

func TestControlEndpointRoundTrip(t *testing.T) {
	t.Parallel()
	s := start(t, instant(SGLang))
	r := s.post("/sim/faults", `{"die_after_events":3,"times":2,"split_events":true,"slow":1.5,"retry_after":"7","path":"/v1"}`)
	if r.status != 200 {
		t.Fatalf("status %d: %s", r.status, r.body)
	}
	want := Fault{Cut: CutDie, After: 3, Times: 2, SplitEvents: true, Slow: 1.5, RetryAfter: "7", Path: "/v1"}
	if got := s.faults.get(); got != want {
		t.Errorf("fault %+v, want %+v", got, want)
	}
	var got Fault
	if err := json.Unmarshal([]byte(s.ask("GET", "/sim/faults", "").body), &got); err != nil || got != want {
		t.Errorf("read back %+v, %v", got, err)
	}
	if r := s.post("/sim/faults", `{"explode":1}`); r.status != 400 {
		t.Errorf("an unknown fault gave %d", r.status)
	}
	s.ask("DELETE", "/sim/faults", "")
	if !reflect.DeepEqual(s.faults.get(), Fault{}) {
		t.Error("the fault outlived its deletion")
	}
}

// FuzzParseFault checks that what parses survives a round trip through JSON.
func FuzzParseFault(f *testing.F) {
	f.Add("die_after_events=3,crlf,slow=2")
	f.Add("hang, status=503,retry_after=1")
	f.Add("error_first_event")
	f.Fuzz(func(t *testing.T, text string) {
		fault, err := ParseFault(text)
		if err != nil {
			return
		}
		data, err := json.Marshal(fault)
		if err != nil {
			t.Fatal(err)
		}
		var back Fault
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if fault.Cut == CutNone || fault.Cut == CutHang {
			fault.After, back.After = 0, 0 // without a meaning there
		}
		if strings.ToValidUTF8(fault.Path+fault.RetryAfter, "") == fault.Path+fault.RetryAfter && back != fault {
			t.Errorf("%+v came back as %+v", fault, back)
		}
	})
}

// inUse reports whether the standing fault has met a request.
func (b *faultBox) inUse() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used > 0
}

package enginesim

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"penstock/bench/enginesim/core"
)

func TestClientGoneFreesTheEngine(t *testing.T) {
	t.Parallel()
	for _, d := range []Dialect{VLLM, SGLang, TRTLLM} {
		for _, body := range []string{longChat, strings.Replace(longChat, `,"stream":true`, "", 1)} {
			s := start(t, endless(d))
			accepted, aborted := arrivals(s.OnRequest), arrivals(s.OnAbort)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				resp, err := s.do(ctx, "POST", "/v1/chat/completions", body)
				if err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
			}()
			await(t, accepted, "request")
			if st := s.Stats(); st.Running+st.Waiting != 1 {
				t.Errorf("%s: %d requests in the engine, want 1", d, st.Running+st.Waiting)
			}
			cancel()
			if i := await(t, aborted, "abort"); !i.Aborted || i.Finish != "abort" {
				t.Errorf("%s: logged as %+v", d, i)
			}
			st := s.Stats()
			if st.BlocksUsed != 0 || st.Running+st.Waiting != 0 || st.Aborted != 1 {
				t.Errorf("%s: after the client left: %+v", d, st)
			}
		}
	}
}

// pipe is a listener without a network, so that time can be faked.
type pipe struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipe) Close() error {
	select {
	case <-p.done:
	default:
		close(p.done)
	}
	return nil
}
func (p *pipe) Addr() net.Addr { return &net.TCPAddr{} }

// inFakeTime runs fn against a server inside a synctest bubble.
func inFakeTime(t *testing.T, cfg Config, fn func(t *testing.T, s *Server, dial func() net.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		p := &pipe{conns: make(chan net.Conn), done: make(chan struct{})}
		done := make(chan error, 1)
		go func() { done <- s.Serve(p) }()
		fn(t, s, func() net.Conn {
			near, far := net.Pipe()
			p.conns <- far
			return near
		})
		_ = s.Close()
		<-done
	})
}

func sendRequest(c net.Conn, path, body string) {
	_, _ = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
}

func TestDisconnectIsNoticedAsLateAsTheEngineWould(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d      Dialect
		stream bool
		want   time.Duration
	}{
		{VLLM, true, 0},
		{VLLM, false, 0},
		{SGLang, true, 2 * time.Second},
		{SGLang, false, 4 * time.Second},
		{TRTLLM, true, time.Second},
	} {
		cfg := Default(c.d)
		cfg.Model = "m"
		cfg.Engine.Timing = core.Timing{Base: 3600}
		inFakeTime(t, cfg, func(t *testing.T, s *Server, dial func() net.Conn) {
			aborted := make(chan time.Time, 1)
			s.OnAbort(func(RequestInfo) { aborted <- time.Now() })
			body := longChat
			if !c.stream {
				body = strings.Replace(longChat, `,"stream":true`, "", 1)
			}
			conn := dial()
			go func() { _, _ = io.Copy(io.Discard, conn) }()
			sendRequest(conn, "/v1/chat/completions", body)
			synctest.Wait()
			left := time.Now()
			_ = conn.Close()
			if got := (<-aborted).Sub(left); got != c.want {
				t.Errorf("%s, stream %v: noticed after %v, want %v", c.d, c.stream, got, c.want)
			}
		})
	}
}

func TestHeadersBeforeOrWithTheFirstToken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d     Dialect
		early bool
	}{{VLLM, true}, {SGLang, false}, {TRTLLM, true}} {
		cfg := Default(c.d)
		cfg.Model = "m"
		cfg.Engine.Timing = core.Timing{Base: 7}
		inFakeTime(t, cfg, func(t *testing.T, _ *Server, dial func() net.Conn) {
			conn := dial()
			defer func() { _ = conn.Close() }()
			sent := time.Now()
			sendRequest(conn, "/v1/chat/completions", longChat)
			in := bufio.NewReader(conn)
			_, _ = in.ReadByte()
			want := 7 * time.Second
			if c.early {
				want = 0
			}
			if got := time.Since(sent); got != want {
				t.Errorf("%s: first header byte after %v, want %v", c.d, got, want)
			}
			for { // the first event is there one step after the request
				line, err := in.ReadString('\n')
				if err != nil || strings.HasPrefix(line, "data: ") {
					break
				}
			}
			if got := time.Since(sent); got != 7*time.Second {
				t.Errorf("%s: first event after %v, want 7s", c.d, got)
			}
		})
	}
}

func TestSpeedScalesTime(t *testing.T) {
	t.Parallel()
	cfg := Default(VLLM)
	cfg.Model, cfg.Speed = "m", 10
	cfg.Engine.Timing = core.Timing{Base: 1}
	inFakeTime(t, cfg, func(t *testing.T, s *Server, dial func() net.Conn) {
		conn := dial()
		defer func() { _ = conn.Close() }()
		done := make(chan struct{})
		s.OnDone(func(RequestInfo) { close(done) })
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		began := time.Now()
		sendRequest(conn, "/v1/chat/completions", chat)
		<-done
		// Four tokens of one simulated second.
		if got := time.Since(began).Truncate(time.Millisecond); got != 400*time.Millisecond {
			t.Errorf("took %v, want 400ms", got)
		}
	})
}

func TestIdleConnectionIsClosedAfterFiveSeconds(t *testing.T) {
	t.Parallel()
	inFakeTime(t, instant(VLLM), func(t *testing.T, _ *Server, dial func() net.Conn) {
		conn := dial()
		_, _ = io.WriteString(conn, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
		began := time.Now()
		_, _ = io.Copy(io.Discard, conn)
		if got := time.Since(began); got != 5*time.Second {
			t.Errorf("closed after %v, want 5s", got)
		}
	})
}

func TestSGLangHealthTakesASecondAndAToken(t *testing.T) {
	t.Parallel()
	inFakeTime(t, Default(SGLang), func(t *testing.T, s *Server, dial func() net.Conn) {
		conn := dial()
		defer func() { _ = conn.Close() }()
		began := time.Now()
		_, _ = io.WriteString(conn, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
		line, _ := bufio.NewReader(conn).ReadString('\n')
		if !strings.Contains(line, "200") || time.Since(began) != time.Second {
			t.Errorf("%q after %v, want 200 after 1s", line, time.Since(began))
		}
		if s.Stats().OutputTokens != 1 {
			t.Errorf("%d tokens generated, want 1", s.Stats().OutputTokens)
		}
	})
}

func TestFullQueue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d      Dialect
		body   string
		status int
		has    string
	}{
		{VLLM, chat, 503, `"code":503`},
		{VLLM, chatStream, 503, `"code":503`},
		{SGLang, chat, 503, `"object":"error"`},
		{SGLang, chatStream, 200, `data: {"error":{"object":"error","message":"The request queue is full.","type":"SERVICE_UNAVAILABLE","param":null,"code":503}}`},
	} {
		cfg := endless(c.d)
		cfg.Engine.MaxQueued, cfg.Engine.MaxSeqs = 1, 1
		s := start(t, cfg)
		accepted := arrivals(s.OnRequest)
		ctx, cancel := context.WithCancel(t.Context())
		for range 2 { // one runs, one waits
			go func() {
				if resp, err := s.do(ctx, "POST", "/v1/chat/completions", longChat); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body) // to close it would be to leave
					_ = resp.Body.Close()
				}
			}()
			await(t, accepted, "request")
			waitRunning(s)
		}
		r := s.post("/v1/chat/completions", c.body)
		if r.status != c.status || !strings.Contains(r.body, c.has) {
			t.Errorf("%s: %d %s, want %d with %s", c.d, r.status, r.body, c.status, c.has)
		}
		cancel()
	}
}

// waitRunning returns once a sequence is in the batch: the queue has room again.
func waitRunning(s *started) {
	for s.Stats().Running == 0 {
		s.ranks[0].kick()
	}
}

func TestDrainEndsNewRequestsAsAborted(t *testing.T) {
	t.Parallel()
	s := start(t, instant(VLLM))
	s.post("/sim/drain", "")
	r := s.post("/v1/chat/completions", chatStream)
	if r.status != 200 || !strings.Contains(r.body, `"finish_reason":"abort"`) || !strings.HasSuffix(r.body, "data: [DONE]\n\n") {
		t.Errorf("%d %s", r.status, r.body)
	}
	s.post("/sim/drain?on=false", "")
	if r := s.post("/v1/chat/completions", chat); strings.Contains(r.body, "abort") {
		t.Errorf("still draining: %s", r.body)
	}
}

func TestReplicasAnswerAlike(t *testing.T) {
	t.Parallel()
	a, b := instant(VLLM), instant(VLLM)
	b.Seed = 99
	body := `{"model":"m","prompt":"same","max_tokens":50,"n":3,"seed":5}`
	one, two := start(t, a).post("/v1/completions", body), start(t, b).post("/v1/completions", body)
	if shape(one.body) != shape(two.body) {
		t.Errorf("%s\nand\n%s", one.body, two.body)
	}
	if strings.Contains(two.body, `"text":""`) {
		t.Error("an empty answer")
	}
}

func TestCachedTokensAreReported(t *testing.T) {
	t.Parallel()
	cfg := instant(VLLM)
	cfg.CacheReport = true
	s := start(t, cfg)
	ids := make([]int, 100)
	for i := range ids {
		ids[i] = 1000 + i
	}
	body := string(mustJSON(map[string]any{"model": "m", "prompt": ids, "max_tokens": 1}))
	s.post("/v1/completions", body)
	done := arrivals(s.OnDone)
	r := s.post("/v1/completions", body)
	if !strings.Contains(r.body, `"cached_tokens":96`) {
		t.Errorf("want 96 of 100 tokens cached: %s", r.body)
	}
	if i := await(t, done, "end"); i.CachedTokens != 96 || i.PromptTokens != 100 || i.OutputTokens != 1 {
		t.Errorf("logged as %+v", i)
	}
	if st := s.Stats(); st.PrefixHits != 96 || st.PrefixQueries != 200 {
		t.Errorf("hits %d of %d, want 96 of 200", st.PrefixHits, st.PrefixQueries)
	}
	salted := strings.Replace(body, "{", `{"cache_salt":"t",`, 1)
	if r := s.post("/v1/completions", salted); !strings.Contains(r.body, `"cached_tokens":0`) {
		t.Errorf("a salted request saw unsalted blocks: %s", r.body)
	}
}

func TestSecondTurnHitsTheFirst(t *testing.T) {
	t.Parallel()
	s := start(t, instant(VLLM))
	var first struct {
		Choices []struct{ Message struct{ Content string } }
	}
	turn := []map[string]string{{"role": "user", "content": strings.Repeat("word ", 50)}}
	ask := func() reply {
		return s.post("/v1/chat/completions", string(mustJSON(map[string]any{"model": "m", "messages": turn, "max_tokens": 40, "ignore_eos": true})))
	}
	if err := json.Unmarshal([]byte(ask().body), &first); err != nil {
		t.Fatal(err)
	}
	done := arrivals(s.OnDone)
	turn = append(turn, map[string]string{"role": "assistant", "content": first.Choices[0].Message.Content}, map[string]string{"role": "user", "content": "more"})
	ask()
	// 53 prompt tokens and 39 computed ones of the answer: 92, in blocks of 16.
	if i := await(t, done, "end"); i.CachedTokens != 80 {
		t.Errorf("%d tokens cached, want 80", i.CachedTokens)
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	cfg := instant(VLLM)
	cfg.Ranks, cfg.EchoID = 2, true
	s := start(t, cfg)
	r := s.post("/v1/chat/completions", chat, "X-Request-Id", "abc", "X-data-parallel-rank", "1")
	if !strings.Contains(r.body, `"id":"chatcmpl-abc"`) || r.header.Get("X-Request-Id") != "abc" || r.header.Get("Server") != "uvicorn" {
		t.Errorf("%v %s", r.header, r.body)
	}
	if reqs := s.Stats().Requests; len(reqs) != 1 || reqs[0].Rank != 1 || reqs[0].RequestID != "abc" {
		t.Errorf("logged %+v", reqs)
	}
	if r := s.post("/v1/chat/completions", chat, "X-data-parallel-rank", "2"); r.status != 400 {
		t.Errorf("rank 2 of 2: status %d", r.status)
	}
	if r := s.post("/v1/chat/completions", chat, "X-data-parallel-rank", "x"); r.status != 200 {
		t.Errorf("a rank that is no number: status %d, want it ignored", r.status)
	}
	if r := s.post("/v1/chat/completions", chat, "Content-Type", "text/plain"); r.status != 400 || !strings.Contains(r.body, `"Bad Request"`) {
		t.Errorf("wrong content type: %d %s", r.status, r.body)
	}
	sg := start(t, instant(SGLang))
	if r := sg.post("/v1/chat/completions", chat, "X-data-parallel-rank", "x"); r.status != 400 {
		t.Errorf("sglang, a rank that is no number: status %d", r.status)
	}
}

func TestKeyProtectsOnlyTheAPIPaths(t *testing.T) {
	t.Parallel()
	cfg := instant(VLLM)
	cfg.APIKey = "k"
	s := start(t, cfg)
	for path, want := range map[string]int{"/v1/models": 401, "/metrics": 200, "/health": 200, "/version": 200} {
		if r := s.ask("GET", path, ""); r.status != want {
			t.Errorf("%s without a key: %d, want %d", path, r.status, want)
		}
	}
	if r := s.ask("GET", "/v1/models", "", "Authorization", "Bearer k"); r.status != 200 {
		t.Errorf("with the key: %d", r.status)
	}
}

func TestStoredResponses(t *testing.T) {
	t.Parallel()
	s := start(t, instant(VLLM))
	id := func(r reply) string {
		var v struct{ ID string }
		if err := json.Unmarshal([]byte(r.body), &v); err != nil {
			t.Fatalf("%v: %s", err, r.body)
		}
		return v.ID
	}
	first := s.post("/v1/responses", `{"model":"m","input":"one","max_output_tokens":3}`)
	if got := s.ask("GET", "/v1/responses/"+id(first), ""); got.body != first.body {
		t.Errorf("read back %s, want %s", got.body, first.body)
	}
	next := s.post("/v1/responses", fmt.Sprintf(`{"model":"m","input":"two","max_output_tokens":3,"previous_response_id":%q}`, id(first)))
	if next.status != 200 || !strings.Contains(next.body, `"previous_response_id":"`+id(first)) {
		t.Errorf("%d %s", next.status, next.body)
	}
	if r := s.post("/v1/responses/"+id(first)+"/cancel", ""); r.status != 400 {
		t.Errorf("cancelling a finished answer: %d", r.status)
	}
	unstored := s.post("/v1/responses", `{"model":"m","input":"x","max_output_tokens":1,"store":false}`)
	if r := s.ask("GET", "/v1/responses/"+id(unstored), ""); r.status != 404 {
		t.Errorf("an answer that was not stored: %d", r.status)
	}
}

func TestBackgroundResponseCanBeCancelled(t *testing.T) {
	t.Parallel()
	s := start(t, endless(VLLM))
	aborted := arrivals(s.OnAbort)
	r := s.post("/v1/responses", `{"model":"m","input":"one","background":true}`)
	var v struct{ ID, Status string }
	if err := json.Unmarshal([]byte(r.body), &v); err != nil || v.Status != "queued" {
		t.Fatalf("%v: %s", err, r.body)
	}
	if r := s.post("/v1/responses/"+v.ID+"/cancel", ""); !strings.Contains(r.body, `"status":"cancelled"`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	await(t, aborted, "abort")
	if st := s.Stats(); st.BlocksUsed != 0 {
		t.Errorf("%d blocks still used", st.BlocksUsed)
	}
}

func TestPriorityDirections(t *testing.T) {
	t.Parallel()
	five, half := 5.0, 0.5
	for d, c := range map[Dialect]struct {
		p    *float64
		want int
	}{VLLM: {&five, 5}, SGLang: {&five, -5}, TRTLLM: {&half, -500}} {
		if got := (&apiRequest{Priority: c.p}).priority(d); got != c.want {
			t.Errorf("%s: %d, want %d", d, got, c.want)
		}
	}
}

func TestCloseNeverCompletesAnAnswer(t *testing.T) {
	t.Parallel()
	for _, body := range []string{longChat, strings.Replace(longChat, `,"stream":true`, "", 1)} {
		s := start(t, endless(VLLM))
		accepted := arrivals(s.OnRequest)
		got := make(chan reply, 1)
		go func() { got <- s.post("/v1/chat/completions", body) }()
		await(t, accepted, "request")
		_ = s.Close()
		if r := <-got; r.err == nil {
			t.Errorf("a request cut by Close ended well: %d %q", r.status, r.body)
		}
		_ = s.Close() // again
	}
}

func TestServeAfterCloseReturns(t *testing.T) {
	t.Parallel()
	s, err := New(instant(VLLM))
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(ln); err != nil {
		t.Error(err)
	}
}

// census counts what an observer hears.
type census struct{ stored, removed, cleared int }

func (c *census) Stored(s core.Stored)                 { c.stored += len(s.Keys) }
func (c *census) Removed(keys []core.Key, _ core.Tier) { c.removed += len(keys) }
func (c *census) Cleared()                             { c.cleared++ }

func TestObserverHearsTheCache(t *testing.T) {
	t.Parallel()
	cfg := instant(VLLM)
	var heard census
	cfg.Observer = func(int) core.Observer { return &heard }
	s := start(t, cfg)
	s.post("/v1/completions", `{"model":"m","prompt":[`+strings.Repeat("7,", 39)+`7],"max_tokens":1}`)
	s.post("/reset_prefix_cache", "")
	s.ranks[0].mu.Lock() // what the observer wrote under it
	defer s.ranks[0].mu.Unlock()
	if heard != (census{stored: 2, cleared: 1}) {
		t.Errorf("heard %+v, want 2 blocks stored and one clear", heard)
	}
}

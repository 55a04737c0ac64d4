package enginesim

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"penstock/bench/enginesim/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// instant is a server whose answers cost no time.
func instant(d Dialect) Config {
	cfg := Default(d)
	cfg.Engine.Timing, _ = core.Preset("instant")
	cfg.Model = "m"
	cfg.HealthDelay, cfg.GoneDelay, cfg.GoneDelayStream = 0, 0, 0
	return cfg
}

// endless is a prompt answer that takes an hour of simulated time per token.
func endless(d Dialect) Config {
	cfg := instant(d)
	cfg.Engine.Timing = core.Timing{Base: 3600}
	return cfg
}

// started is a running server.
type started struct {
	*Server
	url    string
	addr   string
	client *http.Client
	t      *testing.T
}

func start(t *testing.T, cfg Config) *started {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(ln) }()
	tr := &http.Transport{DisableCompression: true}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		_ = s.Close()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return &started{Server: s, url: "http://" + ln.Addr().String(), addr: ln.Addr().String(), client: &http.Client{Transport: tr}, t: t}
}

// do sends one request; headers alternate name and value.
func (s *started) do(ctx context.Context, method, path, body string, headers ...string) (*http.Response, error) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return s.client.Do(req)
}

// reply is an answer read to its end.
type reply struct {
	status int
	header http.Header
	body   string
	err    error // of reading the body
}

func (s *started) ask(method, path, body string, headers ...string) reply {
	s.t.Helper()
	resp, err := s.do(s.t.Context(), method, path, body, headers...)
	if err != nil {
		return reply{err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	return reply{status: resp.StatusCode, header: resp.Header, body: string(b), err: err}
}

func (s *started) post(path, body string, headers ...string) reply {
	s.t.Helper()
	return s.ask(http.MethodPost, path, body, headers...)
}

// events are the data lines of a stream.
func (r reply) events() []string {
	var out []string
	for block := range strings.SplitSeq(strings.ReplaceAll(r.body, "\r\n", "\n"), "\n\n") {
		for line := range strings.SplitSeq(block, "\n") {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				out = append(out, data)
			}
		}
	}
	return out
}

// arrivals collects what a hook reports.
func arrivals(set func(func(RequestInfo))) <-chan RequestInfo {
	ch := make(chan RequestInfo, 64)
	set(func(i RequestInfo) { ch <- i })
	return ch
}

func await(t *testing.T, ch <-chan RequestInfo, what string) RequestInfo {
	t.Helper()
	select {
	case i := <-ch:
		return i
	case <-time.After(10 * time.Second):
		t.Fatalf("no %s within 10 s", what)
		return RequestInfo{}
	}
}

const (
	chat       = `{"model":"m","messages":[{"role":"user","content":"Where does the water go?"}],"max_tokens":4}`
	chatStream = `{"model":"m","messages":[{"role":"user","content":"Where does the water go?"}],"max_tokens":4,"stream":true,"stream_options":{"include_usage":true}}`
	longChat   = `{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":100,"ignore_eos":true,"stream":true}`
)

func TestMainExitCodes(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	for _, c := range []struct {
		name string
		args []string
		want int
		out  string
	}{
		{"runs until the context ends", []string{"--listen", "127.0.0.1:0", "--replicas", "3", "--preset", "instant", "--engine", "sglang"}, 0, "http://127.0.0.1:"},
		{"help", []string{"-h"}, 0, ""},
		{"unknown engine", []string{"--engine", "abacus"}, 2, `"abacus"`},
		{"unknown preset", []string{"--preset", "z80"}, 2, `"z80"`},
		{"bad fault", []string{"--faults", "explode"}, 2, `"explode"`},
		{"too few blocks", []string{"--blocks", "3"}, 2, "3 blocks"},
		{"stray argument", []string{"now"}, 2, `"now"`},
		{"address taken", []string{"--listen", taken.Addr().String()}, 1, "cannot listen"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if got := Main(cancelled, c.args, &out, &out); got != c.want {
				t.Errorf("exit code %d, want %d; output %s", got, c.want, &out)
			}
			if !strings.Contains(out.String(), c.out) {
				t.Errorf("output %q lacks %q", &out, c.out)
			}
			if c.name == "runs until the context ends" && strings.Count(out.String(), "http://") != 3 {
				t.Errorf("output %q, want three URLs", &out)
			}
		})
	}
}

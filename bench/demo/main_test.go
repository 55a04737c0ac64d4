package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"penstock/configs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeGateway proxies by net/http: by a hash of the session header where the
// policy says session, else in turn. broken makes it answer 502.
func fakeGateway(broken bool) StartGateway {
	return func(_ context.Context, cfg *configs.Config) (string, string, func() error, error) {
		pool := &cfg.Pools[0]
		transport := &http.Transport{MaxIdleConnsPerHost: 64}
		var turn atomic.Uint32
		p := &httputil.ReverseProxy{FlushInterval: -1, Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
			n := turn.Add(1)
			if pool.Policy == configs.PolicySession {
				h := fnv.New32a()
				_, _ = io.WriteString(h, r.In.Header.Get(pool.PolicyOptions.SessionHeaders[0]))
				n = h.Sum32()
			}
			u, err := url.Parse(pool.Replicas[int(n)%len(pool.Replicas)].URL)
			if err != nil {
				panic("BUG: " + err.Error())
			}
			r.SetURL(u)
		}}
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if broken {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			// The engine sends its head early. Without this net/http closes the
			// request's body then, while the transport waits for its end.
			_ = http.NewResponseController(w).EnableFullDuplex()
			p.ServeHTTP(w, r)
		}))
		return s.URL, s.URL + "/admin", func() error {
			s.Close()
			transport.CloseIdleConnections()
			return nil
		}, nil
	}
}

func TestDemoComparesPolicies(t *testing.T) {
	t.Parallel()
	var out, notes bytes.Buffer
	code := Main(t.Context(), fakeGateway(false), []string{"--for", "6s", "--json"}, &out, &notes)
	if code != exitDone {
		t.Fatalf("exit code %d: %s%s", code, out.String(), notes.String())
	}
	var got struct {
		Requests   int                `json:"requests"`
		OK         int                `json:"ok"`
		TTFTP99    float64            `json:"ttft_p99"`
		Policy     string             `json:"policy"`
		HitRate    map[string]float64 `json:"hit_rate"`
		RoundRobin struct {
			Requests int `json:"requests"`
		} `json:"round_robin"`
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", out.String())
	if got.Requests == 0 || got.OK != got.Requests || got.RoundRobin.Requests != got.Requests || got.Policy != "session" || got.TTFTP99 <= 0 {
		t.Fatalf("got %+v", got)
	}
	if s, r := got.HitRate["session"], got.HitRate["round_robin"]; s <= r || r <= 0 || s >= 1 {
		t.Fatalf("hit rate %g with sessions, %g in turn: want more with sessions", s, r)
	}
	if !strings.Contains(notes.String(), "gateway http://127.0.0.1:") {
		t.Fatalf("the URLs are not printed: %s", notes.String())
	}
}

// stopAfterURLs cancels once the gateway's address was printed.
type stopAfterURLs struct {
	bytes.Buffer
	cancel context.CancelFunc
}

func (s *stopAfterURLs) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("gateway http")) {
		s.cancel()
	}
	return s.Buffer.Write(b)
}

func TestInterruptPrintsTheSummary(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &stopAfterURLs{cancel: cancel}
	Main(ctx, fakeGateway(false), []string{"--policy", "round_robin"}, out, io.Discard)
	if !strings.Contains(out.String(), "hit rate") {
		t.Fatalf("no table in %q", out.String())
	}
}

func TestFailuresAreTold(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if code := Main(t.Context(), fakeGateway(true), []string{"--for", "1s"}, &out, io.Discard); code != exitFailed {
		t.Fatalf("exit code %d when every request failed, want 1", code)
	}
	if !strings.Contains(out.String(), "status_5xx") {
		t.Fatalf("the table does not say why: %s", out.String())
	}
	cannot := func(context.Context, *configs.Config) (string, string, func() error, error) {
		return "", "", nil, errors.New("no port")
	}
	var errs bytes.Buffer
	if code := Main(t.Context(), cannot, []string{"--for", "1s"}, io.Discard, &errs); code != exitFailed || !strings.Contains(errs.String(), "no port") {
		t.Fatalf("exit code %d, %q", code, errs.String())
	}
}

func TestWrongArguments(t *testing.T) {
	t.Parallel()
	f := func(args ...string) {
		t.Helper()
		if code := Main(t.Context(), fakeGateway(false), args, io.Discard, io.Discard); code != exitUsage {
			t.Errorf("%q: exit code %d, want 2", args, code)
		}
	}
	f("--replicas", "0")
	f("--for", "-1s")
	f("--policy", "nonsense")
	f("extra")
	f("--nope")
}

package engine

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"penstock/configs"
	"penstock/pools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t *testing.T, body string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }))
	t.Cleanup(s.Close)
	return s
}

func TestOnlyRegisteredReplicasAreCheckedAtDial(t *testing.T) {
	t.Parallel()
	errNo := errors.New("not allowed")
	s := serve(t, "hello")
	c := NewClient(Options{AllowAddr: func(a netip.Addr) error {
		if !a.IsLoopback() {
			t.Errorf("asked about %v", a)
		}
		return errNo
	}})
	t.Cleanup(c.Close)
	if a, err := c.Get(context.Background(), pools.Replica{URL: s.URL}, configs.Secret{}, "/"); err != nil || !a.OK() || string(a.Body) != "hello" {
		t.Errorf("configured: %+v, %v", a, err)
	}
	if _, err := c.Get(context.Background(), pools.Replica{URL: s.URL, Registered: true}, configs.Secret{}, "/"); !errors.Is(err, errNo) {
		t.Errorf("registered: %v", err)
	}
}

func TestPostSendsItsBodyAsJSON(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write([]byte(r.Method + " " + r.URL.Path + " " + r.Header.Get("Content-Type") + " " + r.Header.Get("Authorization") + " " + string(body)))
	}))
	t.Cleanup(s.Close)
	c := NewClient(Options{})
	t.Cleanup(c.Close)
	a, err := c.PostJSON(context.Background(), pools.Replica{URL: s.URL + "/base"}, configs.NewSecret("k"), "/tokenize", []byte(`{"a":1}`))
	if want := `POST /base/tokenize application/json Bearer k {"a":1}`; err != nil || string(a.Body) != want {
		t.Errorf("got %q, %v", a.Body, err)
	}
	a, err = c.Get(context.Background(), pools.Replica{URL: s.URL}, configs.Secret{}, "/version")
	if want := "GET /version   "; err != nil || string(a.Body) != want {
		t.Errorf("got %q, %v", a.Body, err)
	}
}

func TestAnswerIsBounded(t *testing.T) {
	t.Parallel()
	s := serve(t, strings.Repeat("x", MaxBody+1))
	c := NewClient(Options{})
	t.Cleanup(c.Close)
	if _, err := c.Get(context.Background(), pools.Replica{URL: s.URL}, configs.Secret{}, "/"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
}

func TestTLSIsThePools(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(s.Close)
	trusting := x509.NewCertPool()
	trusting.AddCert(s.Certificate())
	for name, c := range map[string]struct {
		conf *tls.Config
		ok   bool
	}{"the pool's CA": {&tls.Config{RootCAs: trusting}, true}, "the system's trust": {nil, false}} {
		client := NewClient(Options{TLS: c.conf})
		t.Cleanup(client.Close)
		if _, err := client.Get(context.Background(), pools.Replica{URL: s.URL}, configs.Secret{}, "/"); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFollowStartsAndEndsOnePerLife(t *testing.T) {
	t.Parallel()
	set, err := pools.New("p", configs.Pool{Replicas: []configs.Replica{{ID: "a", URL: "http://a"}, {ID: "b", URL: "http://b"}}}, pools.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	type event struct {
		id    pools.ReplicaID
		begin bool
	}
	events := make(chan event)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		Follow(ctx, set, func(ctx context.Context, id pools.ReplicaID, _ pools.Epoch) {
			events <- event{id, true}
			<-ctx.Done()
			events <- event{id, false}
		})
	}()
	expect := func(want ...event) {
		t.Helper()
		got := map[event]int{}
		for range want {
			got[<-events]++
		}
		for _, e := range want {
			if got[e] != 1 {
				t.Fatalf("events %v, want %v", got, want)
			}
		}
	}
	expect(event{"a", true}, event{"b", true})
	if _, err := set.Remove("a"); err != nil {
		t.Fatal(err)
	}
	expect(event{"a", false})
	epoch := set.View().Members[0].Epoch
	if err := set.Add(pools.Replica{ID: "b", URL: "http://b", Epoch: epoch + 5}); err != nil { // a new life
		t.Fatal(err)
	}
	expect(event{"b", false}, event{"b", true})
	cancel()
	expect(event{"b", false})
	<-done
	if _, ok := Current(set, "b", epoch); ok {
		t.Error("a life that is over is current")
	}
	if r, ok := Current(set, "b", epoch+5); !ok || r.URL != "http://b" {
		t.Errorf("%+v %v", r, ok)
	}
}

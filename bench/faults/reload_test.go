//go:build linux

package faults

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"penstock/configs"
)

// badFiles are the validation corpus and what goes wrong with files besides.
func badFiles(t *testing.T, good []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{
		"cut in half":  good[:len(good)/2],
		"binary":       []byte("\x00\x01\xff\xfe"),
		"a dead proxy": []byte("<html>502 Bad Gateway</html>"),
		"a loop":       []byte("a: &a [*a]\n"),
		"deep":         []byte(strings.Repeat("[", 100_000)),
		"no such file": nil,
	}
	corpus, err := filepath.Glob("../../configs/testdata/bad/*.yaml")
	if err != nil || len(corpus) == 0 {
		t.Fatalf("cannot find the corpus of bad files: %v", err)
	}
	for _, path := range corpus {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(path)] = text
	}
	return files
}

func TestBadReloadUnderLoadChangesNothing(t *testing.T) {
	real(t)
	e := engine(t, 0)
	g := start(t, []string{e.URL}, nil)
	good, err := os.ReadFile(g.ConfigPath)
	if err != nil {
		t.Fatal(err)
	}
	before, err := g.Get(t.Context(), "/api/v1/config")
	if err != nil {
		t.Fatal(err)
	}
	l := startLoad(t, g.Data, 4)
	failed := 0.0
	for name, text := range badFiles(t, good) {
		g.replace(text)
		signal(t, g, syscall.SIGHUP)
		failed++
		g.eventually(name+" refused", func() bool {
			return g.metric("penstock_config_reloads_total", `result="failed"`) == failed
		})
		status, _, err := g.Ask(t.Context(), http.MethodPost, "/api/v1/reload", "")
		if err != nil || status < 400 {
			t.Errorf("%s: reload by the API: status %d, %v", name, status, err)
		}
		failed++
		l.passes(3)
	}
	if n := g.metric("penstock_config_reload_successful"); n != 0 {
		t.Errorf("the last reload is called successful")
	}
	after, err := g.Get(t.Context(), "/api/v1/config")
	if err != nil || after != before {
		t.Errorf("another configuration is in force: %v\n%s", err, after)
	}
	g.replace(good)
	signal(t, g, syscall.SIGHUP)
	g.eventually("the good file taken again", func() bool {
		return g.metric("penstock_config_reload_successful") == 1
	})
	l.finish()
}

// replace puts text where the configuration is; nil takes the file away.
func (r *rig) replace(text []byte) {
	r.t.Helper()
	var err error
	if text == nil {
		err = os.Remove(r.ConfigPath)
	} else {
		err = os.WriteFile(r.ConfigPath, text, 0o600)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// reload applies a configuration and waits until it is in force.
func (r *rig) reload(cfg *configs.Config) {
	r.t.Helper()
	before := r.metric("penstock_config_reloads_total", `result="applied"`)
	if err := WriteConfig(r.ConfigPath, cfg); err != nil {
		r.t.Fatal(err)
	}
	signal(r.t, r, syscall.SIGHUP)
	r.eventually("the configuration applied", func() bool {
		return r.metric("penstock_config_reloads_total", `result="applied"`) > before
	})
}

func TestReplicasComeAndGoUnderLoadWithoutAFailure(t *testing.T) {
	real(t)
	a, b, c := engine(t, 2*time.Millisecond), engine(t, 2*time.Millisecond), engine(t, 2*time.Millisecond)
	g := start(t, []string{a.URL}, nil)
	_, long := g.open(&Chat{Tokens: 1500, Stream: true}, 2) // about three seconds, on a
	l := startLoad(t, g.Data, 4)
	l.passes(10)
	g.reload(named(map[string]string{"a2": b.URL, "a3": c.URL}))
	l.passes(10)
	received := a.Stats().Received
	for range 5 {
		g.reload(named(map[string]string{"a2": b.URL}))
		l.passes(10)
		g.reload(named(map[string]string{"a2": b.URL, "a3": c.URL}))
		l.passes(10)
	}
	l.finish()
	if n := a.Stats().Received; n != received {
		t.Errorf("%d requests reached the replica after it was removed", n-received)
	}
	if c.Stats().Received == 0 {
		t.Error("the added replica got nothing")
	}
	g.reload(named(map[string]string{"a2": b.URL})) // as many replicas as at the start
	long.Rest()
	if !long.Complete() || !long.Clean {
		t.Errorf("the stream on the removed replica was cut: %s", long)
	}
}

// named is a configuration with replicas by name.
func named(urls map[string]string) *configs.Config {
	cfg := Config()
	for id, url := range urls {
		r := configs.DefaultReplica()
		r.ID, r.URL = id, url
		cfg.Pools[0].Replicas = append(cfg.Pools[0].Replicas, r)
	}
	return cfg
}

// A replica that joins a fleet under load is not handed everything at once.
func TestReplicaThatJoinsStartsSlowly(t *testing.T) {
	real(t)
	a, b := engine(t, 0), engine(t, 0)
	probed := func(urls ...string) *configs.Config {
		cfg := Config(urls...)
		p := &cfg.Pools[0]
		p.Health.Disabled, p.Health.Interval, p.Health.Timeout, p.Health.Rise = false, ms(1000), ms(1000), 1
		p.SlowStart = ms(60_000)
		return cfg
	}
	g := start(t, []string{a.URL}, func(c *configs.Config) { *c = *probed(a.URL) })
	g.eventually("the first replica ready", func() bool {
		return g.metric("penstock_replica_state", `replica="r0"`, `state="ready"`) == 1
	})
	g.reload(probed(a.URL, b.URL))
	g.eventually("the second replica ready", func() bool {
		return g.metric("penstock_replica_state", `replica="r1"`, `state="ready"`) == 1
	})
	before := a.Stats().Received
	l := startLoad(t, g.Data, 8)
	l.passes(200)
	l.finish()
	first, second := a.Stats().Received-before, b.Stats().Received
	if second*3 > first {
		t.Errorf("the new replica got %d requests, the old one %d", second, first)
	}
	if n := g.metric("penstock_replica_ramp", `replica="r0"`); n != 1 {
		t.Errorf("the first replica of an empty fleet ramps at %g", n)
	}
	g.reload(probed(a.URL)) // as many probes as at the start
}

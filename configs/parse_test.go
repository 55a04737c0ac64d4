package configs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// fixed are surroundings that do not depend on the machine.
func fixed() Options {
	return Options{
		Getenv: func(name string) string { return map[string]string{"KEY": "sk-0123456789abcdef"}[name] },
		ReadFile: func(path string) ([]byte, error) {
			if path == "key.txt" {
				return []byte("sk-0123456789abcdef\r\n"), nil
			}
			return nil, fmt.Errorf("open %s: %w", path, os.ErrNotExist)
		},
		Now: func() time.Time { return time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC) },
	}
}

func corpus(t testing.TB, kind string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", kind, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in testdata/%s: %v", kind, err)
	}
	return files
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func lines(list []Problem) []byte {
	var b strings.Builder
	for _, p := range list {
		b.WriteString(p.String() + "\n")
	}
	return []byte(b.String())
}

func TestBadFilesReportEveryProblem(t *testing.T) {
	t.Parallel()
	for _, path := range corpus(t, "bad") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			r := Check(read(t, path), fixed())
			if r.Config != nil || len(r.Errors) == 0 {
				t.Fatal("accepted")
			}
			for _, p := range r.Errors {
				if p.Line == 0 {
					t.Errorf("no line: %s", p)
				}
			}
			golden(t, strings.TrimSuffix(path, ".yaml")+".txt", lines(r.Errors))
		})
	}
}

func TestGoodFilesParseWithTheirWarnings(t *testing.T) {
	t.Parallel()
	for _, path := range corpus(t, "good") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			r := Check(read(t, path), fixed())
			if len(r.Errors) > 0 {
				t.Fatalf("refused:\n%s", lines(r.Errors))
			}
			golden(t, strings.TrimSuffix(path, ".yaml")+".txt", lines(r.Warnings))
		})
	}
}

// onlyInCode lists the bad files whose problems a schema cannot express: they
// concern several values, or the surroundings.
var onlyInCode = map[string]bool{
	"two_defaults.yaml": true, "same_address.yaml": true, "times.yaml": true,
	"two_documents.yaml": true, "merge_keys.yaml": true,
}

func TestSchemaAgreesWithParse(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	verdict := func(path string) error {
		var doc any
		if err := yaml.Unmarshal(read(t, path), &doc); err != nil {
			return err
		}
		return schema.Validate(plain(doc))
	}
	for _, path := range corpus(t, "good") {
		if err := verdict(path); err != nil {
			t.Errorf("%s: the schema refuses it: %v", path, err)
		}
	}
	if err := verdict("example.yaml"); err != nil {
		t.Errorf("example.yaml: the schema refuses it: %v", err)
	}
	for _, path := range corpus(t, "bad") {
		if err := verdict(path); err == nil && !onlyInCode[filepath.Base(path)] {
			t.Errorf("%s: the schema accepts it", path)
		}
	}
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("config.json", doc); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile("config.json")
}

// plain turns what YAML knows and JSON does not into text.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			v[k] = plain(item)
		}
	case []any:
		for i, item := range v {
			v[i] = plain(item)
		}
	case time.Time:
		return v.Format(time.RFC3339)
	}
	return v
}

func TestEffectiveParsesToTheSameConfiguration(t *testing.T) {
	t.Parallel()
	for _, path := range corpus(t, "good") {
		c, err := Parse(read(t, path), fixed())
		if err != nil {
			t.Fatal(err)
		}
		checkRoundTrip(t, c)
	}
}

// checkRoundTrip states the property: what is printed is read back as it was.
func checkRoundTrip(t *testing.T, c *Config) {
	t.Helper()
	opts := fixed()
	opts.AllowMasked = true
	text := c.Effective()
	again := Check(text, opts)
	// Two different keys are both printed as ***, which makes them the same.
	again.Errors = withoutText(again.Errors, "is the same key as")
	if len(again.Errors) > 0 {
		t.Fatalf("its own output is refused:\n%s\n%s", lines(again.Errors), text)
	}
	if again.Config == nil {
		return
	}
	if again.Config.hideSecrets(); true {
		hidden := *c
		hidden.Pools = append([]Pool(nil), c.Pools...)
		hidden.Auth.Keys = append([]APIKey(nil), c.Auth.Keys...)
		hidden.hideSecrets()
		if d := Diff(&hidden, again.Config); d != nil || !reflect.DeepEqual(&hidden, again.Config) {
			t.Fatalf("reading it back changes %q\n%s", d, text)
		}
	}
}

func withoutText(list []Problem, text string) []Problem {
	var kept []Problem
	for _, p := range list {
		if !strings.Contains(p.Message, text) {
			kept = append(kept, p)
		}
	}
	return kept
}

func (c *Config) hideSecrets() {
	c.Admin.Token = NewSecret(c.Admin.Token.String())
	for i := range c.Auth.Keys {
		c.Auth.Keys[i].Key = NewSecret(c.Auth.Keys[i].Key.String())
	}
	for i := range c.Pools {
		c.Pools[i].Secret = NewSecret(c.Pools[i].Secret.String())
	}
}

func TestLoadFileNamesTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(path, []byte("pools: []\nlog: {level: loud}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := LoadFile(path)
	var all *Errors
	if !errors.As(err, &all) || len(all.Problems) != 2 {
		t.Fatalf("got %v", err)
	}
	if want := path + `:1:8: pools: at least one pool is needed`; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %q, want prefix %q", err, want)
	}
	if _, err := LoadFile(path + ".missing"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestListedBlocksStartFromDefaults(t *testing.T) {
	t.Parallel()
	c, err := Parse(read(t, "testdata/good/full.yaml"), fixed())
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range c.Pools {
		if p.Connections != DefaultPool().Connections || p.Breaker != DefaultPool().Breaker {
			t.Errorf("pool %d: got %+v", i, p)
		}
	}
	if got := c.Listen.TLS.ReloadInterval; got != seconds(30) {
		t.Errorf("tls.reload_interval: got %s", got)
	}
	if r := c.Pools[0].Replicas[1]; r.Weight != 1 || r.Ranks != 1 || r.ID != "10.0.0.2:443/engine" {
		t.Errorf("replica: got %+v", r)
	}
	if h := c.Pools[1].Health; h.Interval != seconds(20) || h.Timeout != seconds(10) || h.Path != "/health" {
		t.Errorf("sglang health: got %+v", h)
	}
	if c.Pools[0].Retry.OnStatus != nil {
		t.Errorf("on_status: got %v, want the empty list of the file", c.Pools[0].Retry.OnStatus)
	}
	if c.Pools[0].Timeouts.Total != 0 || c.Pools[0].Timeouts.Gap != seconds(60) {
		t.Errorf("timeouts: got %+v", c.Pools[0].Timeouts)
	}
}

func TestAliasBombIsRefused(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("pools:\n  - replicas: &r [")
	b.WriteString(strings.Repeat("{url: x}, ", 2000))
	b.WriteString("]\n")
	for range 100 {
		b.WriteString("  - replicas: *r\n")
	}
	r := Check([]byte(b.String()), fixed())
	if !strings.Contains(string(lines(r.Errors)), "more than 100000 values") {
		t.Error("100 x 2000 replicas were not refused")
	}
}

func TestFromUpstreams(t *testing.T) {
	t.Parallel()
	c := FromUpstreams([]string{"http://127.0.0.1:8000", "http://127.0.0.1:8001/base/"})
	if w, err := c.Validate(); err != nil || w != nil {
		t.Fatalf("warnings %v, error %v", w, err)
	}
	p := c.Pools[0]
	if len(c.Pools) != 1 || p.Name != "default" || !p.Default || p.Engine != EngineAuto || !c.Routes.PassthroughAll {
		t.Errorf("got %+v", c)
	}
	if p.Replicas[1].URL != "http://127.0.0.1:8001/base" || p.Replicas[1].ID != "127.0.0.1:8001/base" {
		t.Errorf("got %+v", p.Replicas[1])
	}
	if _, err := FromUpstreams([]string{"nonsense"}).Validate(); err == nil {
		t.Error("a bad URL was accepted")
	}
}

func FuzzParse(f *testing.F) {
	for _, kind := range []string{"good", "bad"} {
		for _, path := range corpus(f, kind) {
			f.Add(read(f, path))
		}
	}
	f.Add(Example())
	f.Fuzz(func(t *testing.T, data []byte) {
		r := Check(data, fixed())
		if (r.Config == nil) == (len(r.Errors) == 0) {
			t.Fatal("either a configuration or errors")
		}
		if r.Config != nil {
			checkRoundTrip(t, r.Config)
		}
	})
}

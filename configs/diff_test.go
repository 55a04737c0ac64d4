package configs

import (
	"slices"
	"strings"
	"testing"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	f := func(name string, change func(*Config), want, restart []string) {
		t.Helper()
		a, errA := Parse(read(t, "testdata/good/full.yaml"), fixed())
		b, errB := Parse(read(t, "testdata/good/full.yaml"), fixed())
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		change(b)
		if got := Diff(a, b); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		if got := RestartNeeded(a, b); !slices.Equal(got, restart) {
			t.Errorf("%s: restart: got %q, want %q", name, got, restart)
		}
	}
	f("nothing", func(*Config) {}, nil, nil)
	f("order of pools", func(c *Config) { slices.Reverse(c.Pools) }, nil, nil)
	f("a weight", func(c *Config) { c.Pools[0].Replicas[0].Weight = 9 }, []string{"pools[chat].replicas[10.0.0.1:8000].weight"}, nil)
	f("a label", func(c *Config) { c.Pools[0].Replicas[0].Labels["zone"] = "b" }, []string{"pools[chat].replicas[10.0.0.1:8000].labels"}, nil)
	f("a pool gone", func(c *Config) { c.Pools = c.Pools[:1] }, []string{"pools[embed] removed"}, nil)
	f("a replica more", func(c *Config) { c.Pools[1].Replicas = append(c.Pools[1].Replicas, Replica{ID: "n"}) },
		[]string{"pools[embed].replicas[n] added"}, nil)
	f("a secret", func(c *Config) { c.Admin.Token = NewSecret("other") }, []string{"admin.token"}, nil)
	f("the second key of an id", func(c *Config) { c.Auth.Keys[1].Trusted = true }, []string{"auth.keys[team-a#2].trusted"}, nil)
	f("the address", func(c *Config) { c.Listen.Address = ":1" }, []string{"listen.address"}, []string{"listen.address"})
	f("a certificate", func(c *Config) { c.Listen.TLS.CertFile = "x" }, []string{"listen.tls.cert_file"}, []string{"listen.tls.cert_file"})
	f("no TLS", func(c *Config) { c.Listen.TLS = nil }, []string{"listen.tls"}, []string{"listen.tls"})
}

func TestRestartPathsExist(t *testing.T) {
	t.Parallel()
	for _, path := range restartPaths {
		if !strings.Contains(string(Example()), path[strings.LastIndexByte(path, '.')+1:]+":") {
			t.Errorf("no such key: %s", path)
		}
	}
}

// TestGuideNamesWhatNeedsARestart keeps docs/configuration.md honest.
func TestGuideNamesWhatNeedsARestart(t *testing.T) {
	t.Parallel()
	guide := string(read(t, "../docs/configuration.md"))
	for _, path := range restartPaths {
		block, key, _ := strings.Cut(path, ".")
		row := guide[strings.Index(guide, "| `"+block+"` |"):]
		row, _, _ = strings.Cut(row, "\n")
		if !strings.Contains(row, "`"+key+"`") {
			t.Errorf("the row of %s lacks %s", block, key)
		}
	}
}

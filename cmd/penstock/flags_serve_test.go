package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"penstock/configs"
)

var updateFlags = flag.Bool("update-flags", false, "rewrite docs/family-flags.md")

func noEnv(string) string { return "" }

func parse(t *testing.T, line string) *serveOptions {
	t.Helper()
	o, err := parseServe(strings.Fields(line), noEnv)
	if err != nil {
		t.Fatalf("serve %s: %v", line, err)
	}
	return o
}

func urls(c *configs.Config) []string {
	var out []string
	for _, r := range c.Pools[0].Replicas {
		out = append(out, r.URL)
	}
	return out
}

// TestFamilyCommandsStart holds command lines as the peers document them.
func TestFamilyCommandsStart(t *testing.T) {
	t.Parallel()
	f := func(line string, check func(c *configs.Config) bool) {
		t.Helper()
		if o := parse(t, line); !check(o.Config) {
			t.Errorf("serve %s: got\n%s", line, o.Config.Effective())
		}
	}
	two := []string{"http://worker1:8000", "http://worker2:8000"}
	f("--worker-urls http://worker1:8000 http://worker2:8000", func(c *configs.Config) bool {
		p := c.Pools[0]
		return slices.Equal(urls(c), two) && c.Listen.Address == "0.0.0.0:30000" && c.Admin.WorkerAPIOnData &&
			c.Listen.MaxBodyBytes == 512<<20 && p.Policy == configs.PolicyConsistentHash && p.PolicyOptions.SessionHeaders == nil
	})
	f("--worker-urls http://worker1:8000 http://worker2:8000 --policy round_robin --host 0.0.0.0 --port 30000", func(c *configs.Config) bool {
		return c.Pools[0].Policy == configs.PolicyRoundRobin && c.Listen.Address == "0.0.0.0:30000"
	})
	f("--host 127.0.0.1 --port 4001 --policy power_of_two --prometheus-port 4002 --prometheus-host 127.0.0.1", func(c *configs.Config) bool {
		return c.Listen.Address == "127.0.0.1:4001" && len(c.Pools[0].Replicas) == 0 && c.Admin.ExternalMetrics == "127.0.0.1:4002" &&
			c.Pools[0].Policy == configs.PolicyPowerOfTwo
	})
	f("--worker-urls=http://worker1:8000 --worker_urls http://worker2:8000", func(c *configs.Config) bool { return slices.Equal(urls(c), two) })
	f("--worker-urls --port 9000", func(c *configs.Config) bool { return len(urls(c)) == 0 })
	f("--enable-igw", func(c *configs.Config) bool { return len(urls(c)) == 0 && c.Admin.WorkerAPIOnData })
	f("--worker-urls http://w1:8000 http://w2:8000 --retry-max-retries 3 --retry-initial-backoff-ms 100 --retry-max-backoff-ms 10000"+
		" --retry-backoff-multiplier 2.0 --retry-jitter-factor 0.1", func(c *configs.Config) bool { return c.Pools[0].Retry.MaxAttempts == 3 })
	f("--worker-urls http://w1:8000 --disable-retries --retry-max-retries 9", func(c *configs.Config) bool { return c.Pools[0].Retry.MaxAttempts == 1 })
	f("--worker-urls http://w1:8000 --cb-failure-threshold 5 --cb-success-threshold 2 --cb-timeout-duration-secs 30 --cb-window-duration-secs 60",
		func(c *configs.Config) bool {
			return c.Pools[0].Breaker == configs.Breaker{Failures: 5, HalfOpenRequests: 2, Open: configs.Duration(30 * time.Second)}
		})
	f("--worker-urls http://w1:8000 --disable-circuit-breaker", func(c *configs.Config) bool { return c.Pools[0].Breaker.Failures == 0 })
	f("--worker-urls http://w1:8000 --max-concurrent-requests 256 --rate-limit-tokens-per-second 512 --queue-size 128 --queue-timeout-secs 30",
		func(c *configs.Config) bool { return c.Limits.MaxInFlight == 256 })
	f("--worker-urls http://w1:8000 --max-concurrent-requests -1", func(c *configs.Config) bool { return c.Limits.MaxInFlight == 0 })
	f("--worker-urls http://w1:8000 --max-concurrent-requests=-1", func(c *configs.Config) bool { return c.Limits.MaxInFlight == 0 })
	f("--worker-urls http://w1:8000 --health-check-timeout-secs 5 --health-check-interval-secs 60 --health-failure-threshold 4"+
		" --health-success-threshold 1 --health-check-endpoint healthz --health-check-port 9000", func(c *configs.Config) bool {
		h := c.Pools[0].Health
		return h.Timeout.D() == 5*time.Second && h.Interval.D() == time.Minute && h.Fall == 4 && h.Rise == 1 && h.Path == "/healthz" &&
			c.Pools[0].Replicas[0].HealthURL == "http://w1:9000/healthz"
	})
	f("--worker-urls http://w1:8000 --health-check-timeout-secs 30", func(c *configs.Config) bool { return c.Pools[0].Health.Interval.D() == 30*time.Second })
	f("--worker-urls http://w1:8000 --disable-health-check --remove-unhealthy-workers", func(c *configs.Config) bool { return c.Pools[0].Health.Disabled })
	f("--worker-urls http://w1:8000 --policy cache_aware --cache-threshold 0.5 --balance-abs-threshold 32 --balance-rel-threshold 1.5"+
		" --eviction-interval-secs 120 --max-tree-size 67108864 --block-size 16 --eviction-interval 30", func(c *configs.Config) bool {
		return c.Pools[0].Policy == configs.PolicyConsistentHash
	})
	f("--worker-urls http://w1:8000 --policy prefix_hash --prefix-token-count 512 --prefix-hash-load-factor 1.5", func(c *configs.Config) bool {
		return c.Pools[0].PolicyOptions.PrefixBytes == 2048 && c.Pools[0].PolicyOptions.LoadFactor == 1.5
	})
	f("--worker-urls http://w1:8000 --policy consistent_hash --intra-node-data-parallel-size 8", func(c *configs.Config) bool {
		return c.Pools[0].Replicas[0].Ranks == 8 && len(c.Pools[0].PolicyOptions.SessionHeaders) > 0
	})
	f("--worker-urls http://w1:8000 --api-key sk-0123456789abcdef --dp-aware", func(c *configs.Config) bool {
		return c.Auth.Keys[0].Key.Reveal() == "sk-0123456789abcdef" && c.Pools[0].Secret.Reveal() == "sk-0123456789abcdef" && c.Pools[0].Replicas[0].Ranks == 1
	})
	f("--worker-urls http://w1:8000 --tokenizer-path /models/q --model-path testdata --chat-template t.jinja --block-size 64"+
		" --tokenizer-cache-enable-l1 --tokenizer-cache-l1-max-memory 104857600 --tool-call-parser qwen25 --reasoning-parser qwen3", func(c *configs.Config) bool {
		t := c.Pools[0].Tokenizer
		return t.Path == "/models/q" && t.ChatTemplate == "t.jinja" && t.BlockSize == 64 && t.Memo == 100<<20 &&
			t.ToolCallParser == "qwen25" && t.ReasoningParser == "qwen3"
	})
	f("--worker-urls http://w1:8000 --model-path "+tinyTokenizer, func(c *configs.Config) bool { return c.Pools[0].Tokenizer.Path == tinyTokenizer })
	f("--worker-urls http://w1:8000 --model-path Qwen/Qwen3-8B", func(c *configs.Config) bool { return c.Pools[0].Tokenizer.Path == "" })
	f("--worker-urls https://w1:8000 --tls-cert-path a.pem --tls-key-path b.pem --client-cert-path c.pem --client-key-path d.pem --ca-cert-paths e.pem",
		func(c *configs.Config) bool {
			return c.Listen.TLS.CertFile == "a.pem" && c.Listen.TLS.KeyFile == "b.pem" &&
				c.Pools[0].TLS == configs.ClientTLS{CertFile: "c.pem", KeyFile: "d.pem", CAFile: "e.pem"}
		})
	f("--worker-urls http://w1:8000 --request-timeout-secs 60 --shutdown-grace-period-secs 20 --drain-settle-secs 3 --max-payload-size 1048576",
		func(c *configs.Config) bool {
			t := c.Pools[0].Timeouts
			return t.Total.D() == time.Minute && t.FirstByte.D() == time.Minute && c.Shutdown.Drain.D() == 20*time.Second &&
				c.Shutdown.Settle.D() == 3*time.Second && c.Listen.MaxBodyBytes == 1<<20
		})
	f("--worker-urls http://w1:8000 --log-level debug --log-json --log-dir /var/log --request-id-headers X-Request-Id x-trace-id", func(c *configs.Config) bool {
		return c.Log.Level == configs.LogDebug && slices.Equal(c.Headers.RequestIDs, []string{"x-request-id", "x-trace-id"})
	})
	f("--worker-urls http://w1:8000 --model-alias gpt-4o=llama gpt-4=llama --model-alias e=embed", func(c *configs.Config) bool {
		m := c.Pools[0].Models
		return len(m) == 2 && slices.Equal(m[0].Aliases, []string{"gpt-4o", "gpt-4"}) && m[1].ID == "embed"
	})
	f("--worker-urls http://w1:8000 --backend sglang --model-path m --tokenizer-path t --chat-template c --tokenizer-cache-enable-l0"+
		" --reasoning-parser qwen3 --tool-call-parser json --history-backend none --enable-trace --otlp-traces-endpoint localhost:4317"+
		" --worker-startup-timeout-secs 600 --worker-startup-check-interval 30 --cors-allowed-origins http://a http://b", func(c *configs.Config) bool {
		return c.Pools[0].Engine == configs.EngineSGLang && c.Pools[0].Health.Interval.D() == 20*time.Second
	})
	f("--host :: --port 1 --worker-urls http://[::1]:8000", func(c *configs.Config) bool {
		return c.Listen.Address == "[::]:1" && c.Pools[0].Replicas[0].ID == "[::1]:8000"
	})
}

func TestOwnCommands(t *testing.T) {
	t.Parallel()
	o := parse(t, "--upstream http://127.0.0.1:8000")
	if d := configs.Diff(configs.FromUpstreams([]string{"http://127.0.0.1:8000"}), o.Config); d != nil || o.Warnings != nil {
		t.Errorf("differs from FromUpstreams in %q, warnings %q", d, o.Warnings)
	}
	o = parse(t, "--upstream http://a:1 http://b:2 --upstream http://c:3 --port 9000 --listen 127.0.0.1:0 --admin off"+
		" --policy session --takeover --handover-socket /run/p.sock --print-config")
	c := o.Config
	if len(urls(c)) != 3 || c.Listen.Address != "127.0.0.1:0" || c.Admin.Address != "" || c.Pools[0].Policy != configs.PolicySession ||
		!o.Takeover || !o.PrintConfig || c.Admin.WorkerAPIOnData || c.Listen.MaxBodyBytes != 64<<20 {
		t.Errorf("got %+v\n%s", o, c.Effective())
	}
	if c := parse(t, "--upstream http://a:1 --port 9000").Config; c.Listen.Address != ":9000" {
		t.Errorf("got %s", c.Listen.Address)
	}
	if _, err := parseServe([]string{"--help"}, noEnv); !errors.Is(err, errHelp) {
		t.Errorf("got %v", err)
	}
}

func TestConfigFileWithOverrides(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "penstock.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("listen: {address: ':1'}\nauth: {keys: [{id: a, key: env:K}]}\npools:\n  - replicas: []\n")
	env := func(name string) string { return map[string]string{"K": "0123456789abcdef"}[name] }
	args := []string{"--config", path, "--host", "127.0.0.1", "--policy", "random", "--log-level", "WARN", "--log-json=false"}
	o, err := parseServe(args, env)
	if err != nil {
		t.Fatal(err)
	}
	c := o.Config
	if o.ConfigPath != path || c.Listen.Address != "127.0.0.1:1" || c.Pools[0].Policy != configs.PolicyRandom ||
		c.Log.Level != configs.LogWarn || c.Log.Format != configs.LogText || c.Auth.Keys[0].Key.Reveal() != "0123456789abcdef" {
		t.Errorf("got\n%s", c.Effective())
	}
	if len(o.Warnings) != 1 || !strings.HasPrefix(o.Warnings[0], path+":4:15: pools[0].replicas: ") {
		t.Errorf("got warnings %q", o.Warnings)
	}
	write("listen: {address: ':2'}\npools:\n  - replicas: [{url: 'http://a:1'}]\n")
	next, err := o.reloader(env)(t.Context())
	if err != nil || next.Listen.Address != "127.0.0.1:2" || next.Pools[0].Policy != configs.PolicyRandom {
		t.Errorf("reload: got %v, %v", next, err)
	}
	write("lisen: {}\n")
	_, err = o.reloader(env)(t.Context())
	var all *configs.Errors
	if !errors.As(err, &all) || all.File != path || len(all.Problems) != 2 {
		t.Errorf("reload of a bad file: got %v", err)
	}
	if parse(t, "--upstream http://a:1").reloader(env) != nil {
		t.Error("a reload without a file")
	}
}

func TestWrongCommandsAreUsageErrors(t *testing.T) {
	t.Parallel()
	f := func(line string, want ...string) {
		t.Helper()
		_, err := parseServe(strings.Fields(line), noEnv)
		if _, ok := errors.AsType[usageError](err); !ok {
			t.Errorf("serve %s: got %v, want a usage error", line, err)
			return
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("serve %s: got %q, want %q in it", line, err, w)
			}
		}
		if n := strings.Count(err.Error(), "\n") + 1; len(want) > 0 && n != len(want) {
			t.Errorf("serve %s: got %d lines, want %d:\n%s", line, n, len(want), err)
		}
	}
	f("", "nothing to serve")
	f("--log-level debug", "nothing to serve")
	f("--pd-disaggregation --prefill http://p:1 9001 --prefill http://q:2 none --decode http://d:3 --policy cache_aware",
		"--pd-disaggregation, --prefill, --decode: "+whyDisaggregation)
	f("--vllm-pd-disaggregation --vllm-discovery-address 0.0.0.0:30001", "--vllm-pd-disaggregation, --vllm-discovery-address: "+whyDisaggregation)
	f("--prefill=http://p:1 9001", "--prefill: ")
	f("--service-discovery --selector app=sglang tier=x --service-discovery-port 8000", "--service-discovery, --selector: "+whyDiscovery)
	f("--worker-urls grpc://w:1", "gRPC")
	f("--upstream grpc://w:1", "gRPC")
	f("--upstream http://a --worker-urls http://b", "exclude each other")
	f("--config f.yaml --upstream http://a", "--upstream and --config exclude each other")
	f("--config f.yaml --cb-failure-threshold 3 --cache-threshold 1",
		"--cb-failure-threshold and --config", "--cache-threshold and --config")
	f("--config missing.yaml", "cannot read configuration")
	f("--upstream", "needs at least one URL")
	f("--upstream ftp://a", "must start with http://")
	f("--upstream http://a http://a", "is the URL of pools[0].replicas[0] already")
	f("--wroker-urls http://a --polcy x", "unknown flag --wroker-urls; did you mean --worker-urls?", "unknown flag --polcy; did you mean --policy?")
	f("http://a", "did you mean --upstream http://a?")
	f("penstock.yaml", "did you mean --config penstock.yaml?")
	f("--port", "--port needs a value: PORT")
	f("--port --host a", "--port needs a value: PORT")
	f("--port 70000 --worker-urls", "--port: \"70000\" is no whole number")
	f("--worker-urls http://a --policy fastest", "\"fastest\" is not one of")
	f("--worker-urls http://a --dp-aware=maybe", "is a switch")
	f("--worker-urls http://a --backend anthropic", "is not one of sglang")
	f("--worker-urls http://a --history-backend redis", "is not supported")
	f("--worker-urls http://a --model-alias x", "is not ALIAS=MODEL")
	f("--worker-urls http://a --api-key env:NOPE", "environment variable \"NOPE\"")
	f("--upstream http://a --takeover", "--takeover needs")
	f("--upstream http://a --log-level loud", "log.level")
}

func TestUsageErrorsHideSecrets(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--api-keyy=sk-secret"},
		{"--worker-urls", "http://a", "--api-key=sk-secret", "--port", "x"},
		{"--config", "x", "--api-key", "sk-secret"},
		{"--apikey", "sk-secret"},
	} {
		if _, err := parseServe(args, noEnv); err == nil || strings.Contains(err.Error(), "sk-secret") {
			t.Errorf("%q: got %v", args[0], err)
		}
	}
}

func TestIgnoredFlagsWarnOncePerReason(t *testing.T) {
	t.Parallel()
	o := parse(t, "--upstream http://a:1 --cache-threshold 0.3 --max_tree_size 9 --cache-threshold 0.4 --queue-size 1 --enable-trace=false")
	want := []string{
		"--cache-threshold, --max_tree_size: no effect here: " + whyTree,
		"--queue-size: no effect here: " + whyQueue,
	}
	if !slices.Equal(o.Warnings, want) {
		t.Errorf("got %q, want %q", o.Warnings, want)
	}
}

func TestEveryFamilyPolicyIsMapped(t *testing.T) {
	t.Parallel()
	for _, p := range familyPolicies {
		o := parse(t, "--upstream http://a:1 --policy "+strings.ReplaceAll(p.name, "_", "-"))
		if got := string(o.Config.Pools[0].Policy); got != p.policy {
			t.Errorf("%s: got %s", p.name, got)
		}
		if warned := strings.Contains(strings.Join(o.Warnings, "\n"), "policy "+p.name+" is served by"); warned != (p.differs != "") {
			t.Errorf("%s: warned %t", p.name, warned)
		}
	}
}

func FuzzParseServe(f *testing.F) {
	f.Add("--worker-urls http://w1:8000 http://w2:8000 --policy cache_aware --port 30000")
	f.Add("--upstream http://a --api-key x --max-concurrent-requests -1")
	f.Add("--prefill http://p 9001 --decode=http://d")
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, " ")
		if slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, "config") || strings.Contains(a, "file:") }) {
			return // reads files
		}
		o, err := parseServe(args, noEnv)
		var usage usageError
		switch {
		case err == nil && o.Config == nil, err != nil && !errors.Is(err, errHelp) && !errors.As(err, &usage):
			t.Errorf("%q: got %v, %v", args, o, err)
		case err == nil:
			if _, err := o.Config.Validate(); err != nil {
				t.Errorf("%q: an invalid configuration: %v", args, err)
			}
		}
	})
}

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

const flagsHead = `# Flags of the router family

` + "`penstock serve`" + ` accepts the flags that users of the SGLang router, its successor SMG and the
vLLM router type, in both spellings (` + "`--worker-urls a b`, `--worker-urls=a`, `--worker_urls a`" + `).
This page is generated from the flag table of the program.

Started this way the gateway takes over these habits of the family:

- it listens on ` + "`0.0.0.0:30000`" + ` unless ` + "`--host` or `--port`" + ` says otherwise;
- the worker API is served on the same port too (` + "`admin.worker_api_on_data`" + `); protect it with ` + "`--api-key`" + `;
- bodies may have 512 MiB;
- without ` + "`--policy` it is `cache_aware`" + `, mapped as below.

Everything else keeps Penstock's own default. ` + "`--print-config`" + ` shows what came out of it, which is
also logged at start. With ` + "`--upstream`" + ` the same flags work on top of Penstock's defaults; with
` + "`--config`" + ` only those marked † do, the rest belongs in the file.

A flag without effect is named once in the log with the reason. A refused one ends the program with
exit code 2.
`

func TestFamilyFlagsPageFollowsTheTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(flagsHead)
	table := func(title string, keep func(serveFlag) bool) {
		fmt.Fprintf(&b, "\n## %s\n\n| flag | effect | what it does, or why it does nothing |\n|---|---|---|\n", title)
		for _, f := range serveFlags {
			if !keep(f) {
				continue
			}
			mark := ""
			if f.file {
				mark = " †"
			}
			fmt.Fprintf(&b, "| `%s`%s | %s | %s |\n", strings.ReplaceAll(f.heading(), "|", `\|`), mark, f.effect, strings.ReplaceAll(f.does, "|", `\|`))
		}
	}
	table("The family's", func(f serveFlag) bool { return !f.own })
	table("Penstock's own", func(f serveFlag) bool { return f.own })
	b.WriteString("\n## Policies\n\n| name | served by |\n|---|---|\n")
	for _, p := range familyPolicies {
		fmt.Fprintf(&b, "| `%s` | %s |\n", p.name, p.describe())
	}
	b.WriteString("\nDashes may stand for the underscores.\n")

	const path = "../../docs/family-flags.md"
	if *updateFlags {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != b.String() {
		t.Errorf("%s is not what the table says; run go test ./cmd/penstock -run FamilyFlags -update-flags", path)
	}
}

func TestFlagTableIsSound(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, f := range serveFlags {
		for _, name := range f.names {
			if seen[name] {
				t.Errorf("--%s stands twice", name)
			}
			seen[name] = true
		}
		if f.does == "" || (f.set == nil) != (f.effect != flagMapped) || f.many && f.value == "" {
			t.Errorf("--%s: %+v", f.names[0], f)
		}
		if !strings.Contains(serveUsage(), f.heading()) {
			t.Errorf("--%s is not in the help", f.names[0])
		}
	}
	// The flags that must be known, whatever becomes of them.
	const family = `host port worker-urls policy cache-threshold balance-abs-threshold balance-rel-threshold
		eviction-interval eviction-interval-secs max-tree-size block-size dp-aware intra-node-data-parallel-size enable-igw
		pd-disaggregation vllm-pd-disaggregation prefill decode prefill-policy decode-policy kv-connector
		worker-startup-timeout-secs worker-startup-check-interval service-discovery selector prefill-selector decode-selector
		service-discovery-port service-discovery-namespace model-id-from model-alias log-level log-json log-dir prometheus-host
		prometheus-port request-id-headers request-timeout-secs shutdown-grace-period-secs max-payload-size cors-allowed-origins
		max-concurrent-requests queue-size queue-timeout-secs rate-limit-tokens-per-second retry-max-retries
		retry-initial-backoff-ms retry-max-backoff-ms retry-backoff-multiplier retry-jitter-factor disable-retries
		cb-failure-threshold cb-success-threshold cb-timeout-duration-secs cb-window-duration-secs disable-circuit-breaker
		health-failure-threshold health-success-threshold health-check-timeout-secs health-check-interval-secs
		health-check-endpoint health-check-port disable-health-check remove-unhealthy-workers drain-settle-secs model-path
		tokenizer-path chat-template tokenizer-cache-enable-l0 tokenizer-cache-enable-l1 reasoning-parser tool-call-parser
		history-backend api-key tls-cert-path tls-key-path enable-trace otlp-traces-endpoint`
	for name := range strings.FieldsSeq(family) {
		if !seen[name] {
			t.Errorf("--%s is unknown", name)
		}
	}
}

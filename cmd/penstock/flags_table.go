package main

// flagEffect is what a flag of `serve` does here.
type flagEffect uint8

// The effects. The zero value maps the flag to the configuration.
const (
	flagMapped  flagEffect = iota
	flagIgnored            // accepted, no effect; says why once
	flagRefused            // stops with exit code 2 and says why
)

// String names the effect for the help and the documentation.
func (e flagEffect) String() string {
	switch e {
	case flagIgnored:
		return "accepted, no effect"
	case flagRefused:
		return "refused"
	default:
		return "mapped"
	}
}

// serveFlag is one flag of `serve`. The parser, the help and docs/family-flags.md
// all read the same table.
type serveFlag struct {
	names  []string // spellings without dashes, the first is the one printed
	value  string   // what it takes; "" for a switch
	many   bool     // takes every value up to the next flag, and may be repeated
	own    bool     // Penstock's own; the others are the router family's
	shared bool     // a family flag that says nothing about how we were started
	file   bool     // may stand beside --config
	effect flagEffect
	does   string // effect, or the reason why there is none
	set    func(b *serveBuilder, values []string) error
}

const (
	whyDisaggregation = "prefill and decode on separate replicas is not in this version; give plain replicas with --worker-urls"
	whyDiscovery      = "replicas are not discovered in this version; list them with --worker-urls or register them through the worker API"
	whyTree           = "tunes the prefix tree of the family's cache_aware, which is not in this version"
	whyManual         = "tunes the remembered assignments of the family's manual policy; here a session is hashed"
	whyQueue          = "requests above --max-concurrent-requests are answered 429 at once; there is no queue"
	whyBackoff        = "a retry goes to another replica at once, under a budget, and has no back-off"
	whyAutoload       = "tokenizers are read from --tokenizer-path only, never fetched"
	whyCaches         = "known prompt starts are always remembered, in tokenizer.memo bytes"
	whyTrace          = "trace context is passed on, spans are not exported"
	whyStartup        = "a replica takes part as soon as its probe succeeds, with no limit on how long that takes"
	whyHistory        = "stored responses stay with the engine; follow-ups are sent to the replica that has them"
	whyOnlySplit      = "concerns separate prefill and decode replicas, which are not in this version"
)

// serveFlags is every flag that `serve` knows.
var serveFlags = []serveFlag{
	// Penstock's own.
	{names: []string{"config"}, value: "FILE", own: true, file: true, set: setConfigPath, does: "the configuration file"},
	{
		names: []string{"upstream"}, value: "URL...", many: true, own: true, set: setUpstreams,
		does: "one pool of these engines, every path passed on, no file needed",
	},
	{names: []string{"listen"}, value: "ADDR", own: true, file: true, set: setListen, does: "listen.address"},
	{names: []string{"admin"}, value: "ADDR", own: true, file: true, set: setAdmin, does: `admin.address; "off" for none`},
	{names: []string{"handover-socket"}, value: "PATH", own: true, file: true, set: setHandover, does: "listen.handover_socket"},
	{
		names: []string{"takeover"}, own: true, file: true, set: setTakeover,
		does: "take over the listening sockets of the gateway behind listen.handover_socket",
	},
	{names: []string{"print-config"}, own: true, file: true, set: setPrintConfig, does: "print the effective configuration and exit"},
	{names: []string{"help", "h"}, own: true, file: true, set: setHelp, does: "this text"},

	// Shared with the family, and allowed beside --config.
	{
		names: []string{"policy"}, value: "NAME", shared: true, file: true, set: setPolicy,
		does: "policy of every pool; family names are mapped, see below",
	},
	{names: []string{"log-level"}, value: "LEVEL", shared: true, file: true, set: setLogLevel, does: "log.level: debug, info, warn, error"},
	{names: []string{"log-json"}, shared: true, file: true, set: setLogJSON, does: "log.format: json (the default) or, with =false, text"},
	{names: []string{"host"}, value: "HOST", file: true, set: setHost, does: "host of listen.address; 0.0.0.0 unless given"},
	{names: []string{"port"}, value: "PORT", file: true, set: setPort, does: "port of listen.address; 30000 unless given"},

	// Workers.
	{
		names: []string{"worker-urls"}, value: "URL...", many: true, set: setWorkers,
		does: "replicas of the only pool; none: they are registered at run time",
	},
	{names: []string{"backend", "runtime"}, value: "NAME", set: setBackend, does: "engine: sglang, vllm, trtllm or openai"},
	{
		names: []string{"api-key"}, value: "KEY", set: setAPIKey,
		does: "auth.keys (asked from clients) and the pool's secret (sent to workers); env:NAME and file:PATH work",
	},
	{names: []string{"model-alias"}, value: "ALIAS=MODEL...", many: true, set: setModelAlias, does: "models: MODEL also answers to ALIAS"},
	{names: []string{"dp-aware"}, set: setDPAware, does: "replicas have the ranks of --intra-node-data-parallel-size"},
	{names: []string{"intra-node-data-parallel-size"}, value: "N", set: setRanks, does: "ranks of every replica"},
	{
		names: []string{"enable-igw"}, set: setNothing,
		does: "always so: models are learnt from the replicas, which may be registered at run time",
	},

	// Requests.
	{names: []string{"request-timeout-secs"}, value: "N", set: setTotal, does: "timeouts.total; first_byte and gap are kept below it"},
	{names: []string{"shutdown-grace-period-secs"}, value: "N", set: setDrain, does: "shutdown.drain"},
	{names: []string{"drain-settle-secs"}, value: "N", set: setSettle, does: "shutdown.settle"},
	{
		names: []string{"max-payload-size"}, value: "BYTES", set: setMaxBody,
		does: "listen.max_body_bytes; 512MiB unless given, as in the family",
	},
	{
		names: []string{"max-concurrent-requests"}, value: "N", set: setMaxInFlight,
		does: "limits.max_in_flight, a true bound on requests at once; -1 none",
	},
	{names: []string{"request-id-headers"}, value: "NAME...", many: true, set: setRequestIDs, does: "headers.request_ids"},
	{
		names: []string{"cors-allowed-origins"}, value: "ORIGIN...", many: true, effect: flagIgnored,
		does: "CORS answers are not in this version",
	},
	{names: []string{"queue-size"}, value: "N", effect: flagIgnored, does: whyQueue},
	{names: []string{"queue-timeout-secs"}, value: "N", effect: flagIgnored, does: whyQueue},
	{
		names: []string{"rate-limit-tokens-per-second"}, value: "N", effect: flagIgnored,
		does: "requests are bounded by how many run, not by a rate",
	},

	// Retries, breaker, health.
	{
		names: []string{"retry-max-retries"}, value: "N", set: setAttempts,
		does: "retry.max_attempts: the family counts tries, so 1 is off; at most 10",
	},
	{names: []string{"disable-retries"}, set: setNoRetries, does: "retry.max_attempts: 1"},
	{names: []string{"retry-initial-backoff-ms"}, value: "N", effect: flagIgnored, does: whyBackoff},
	{names: []string{"retry-max-backoff-ms"}, value: "N", effect: flagIgnored, does: whyBackoff},
	{names: []string{"retry-backoff-multiplier"}, value: "X", effect: flagIgnored, does: whyBackoff},
	{names: []string{"retry-jitter-factor"}, value: "X", effect: flagIgnored, does: whyBackoff},
	{
		names: []string{"cb-failure-threshold"}, value: "N", set: setBreakerFailures,
		does: "breaker.failures; 429 and a client that leaves do not count",
	},
	{names: []string{"cb-success-threshold"}, value: "N", set: setBreakerProbes, does: "breaker.half_open_requests"},
	{names: []string{"cb-timeout-duration-secs"}, value: "N", set: setBreakerOpen, does: "breaker.open"},
	{
		names: []string{"cb-window-duration-secs"}, value: "N", effect: flagIgnored,
		does: "the breaker counts failures in a row, not in a window",
	},
	{names: []string{"disable-circuit-breaker"}, set: setNoBreaker, does: "breaker.failures: 0"},
	{names: []string{"health-failure-threshold"}, value: "N", set: setFall, does: "health.fall"},
	{names: []string{"health-success-threshold"}, value: "N", set: setRise, does: "health.rise"},
	{names: []string{"health-check-timeout-secs"}, value: "N", set: setProbeTimeout, does: "health.timeout"},
	{names: []string{"health-check-interval-secs"}, value: "N", set: setProbeInterval, does: "health.interval"},
	{names: []string{"health-check-endpoint"}, value: "PATH", set: setProbePath, does: "health.path"},
	{names: []string{"health-check-port"}, value: "PORT", set: setProbePort, does: "health_url of every replica, on this port"},
	{names: []string{"disable-health-check"}, set: setNoProbes, does: "health.disabled"},
	{
		names: []string{"remove-unhealthy-workers"}, effect: flagIgnored,
		does: "an unhealthy replica gets no requests, and stays listed so that it can return",
	},
	{names: []string{"load-monitor-interval"}, value: "SECS", set: setLoadInterval, does: "load.interval"},

	// Policy knobs.
	{names: []string{"prefix-token-count"}, value: "N", set: setPrefixTokens, does: "policy_options.prefix_bytes, at 4 bytes a token"},
	{names: []string{"prefix-hash-load-factor"}, value: "X", set: setLoadFactor, does: "policy_options.load_factor"},
	{names: []string{"cache-threshold"}, value: "X", effect: flagIgnored, does: whyTree},
	{names: []string{"balance-abs-threshold"}, value: "N", effect: flagIgnored, does: whyTree},
	{names: []string{"balance-rel-threshold"}, value: "X", effect: flagIgnored, does: whyTree},
	{names: []string{"eviction-interval", "eviction-interval-secs"}, value: "N", effect: flagIgnored, does: whyTree},
	{names: []string{"max-tree-size"}, value: "N", effect: flagIgnored, does: whyTree},
	{names: []string{"block-size"}, value: "N", set: setBlockSize, does: "tokenizer.block_size"},
	{names: []string{"max-idle-secs"}, value: "N", effect: flagIgnored, does: whyManual},
	{names: []string{"assignment-mode"}, value: "NAME", effect: flagIgnored, does: whyManual},
	{
		names: []string{"routing-key-override"}, effect: flagIgnored,
		does: "x-smg-routing-key is read by the session and consistent_hash policies only",
	},
	{names: []string{"bucket-adjust-interval-secs"}, value: "N", effect: flagIgnored, does: whyOnlySplit},
	{names: []string{"dp-minimum-tokens-scheduler"}, effect: flagIgnored, does: "ranks are always chosen by load"},

	// Metrics, logs, traces.
	{names: []string{"prometheus-port"}, value: "PORT", set: setPrometheusPort, does: "port of admin.external_metrics"},
	{
		names: []string{"prometheus-host"}, value: "HOST", set: setPrometheusHost,
		does: "host of admin.external_metrics; 0.0.0.0 unless given, with port 29000",
	},
	{names: []string{"prometheus-duration-buckets"}, value: "X...", many: true, effect: flagIgnored, does: "the buckets are fixed"},
	{
		names: []string{"log-dir"}, value: "DIR", effect: flagIgnored,
		does: "the log goes to standard output; log.access_file of a configuration file splits the access log off",
	},
	{names: []string{"enable-trace"}, effect: flagIgnored, does: whyTrace},
	{names: []string{"otlp-traces-endpoint"}, value: "ADDR", effect: flagIgnored, does: whyTrace},

	// TLS.
	{names: []string{"tls-cert-path", "server-cert-path"}, value: "FILE", set: setCert, does: "listen.tls.cert_file"},
	{names: []string{"tls-key-path", "server-key-path"}, value: "FILE", set: setKey, does: "listen.tls.key_file"},
	{names: []string{"client-cert-path"}, value: "FILE", set: setClientCert, does: "tls.cert_file of the pool"},
	{names: []string{"client-key-path"}, value: "FILE", set: setClientKey, does: "tls.key_file of the pool"},
	{
		names: []string{"ca-cert-paths"}, value: "FILE...", many: true, set: setCA,
		does: "tls.ca_file of the pool; one file, which may hold several certificates",
	},

	// What the engines do here.
	{
		names: []string{"model-path"}, value: "NAME", set: setModelPath,
		does: "tokenizer.path where it is a folder here and --tokenizer-path is not given; a model's name has no effect",
	},
	{names: []string{"tokenizer-path"}, value: "PATH", set: setTokenizerPath, does: "tokenizer.path; a folder or file, not a model's name"},
	{names: []string{"chat-template"}, value: "PATH", set: setChatTemplate, does: "tokenizer.chat_template"},
	{names: []string{"disable-tokenizer-autoload"}, effect: flagIgnored, does: whyAutoload},
	{names: []string{"tokenizer-cache-enable-l0"}, effect: flagIgnored, does: whyCaches},
	{names: []string{"tokenizer-cache-l0-max-entries"}, value: "N", effect: flagIgnored, does: whyCaches},
	{names: []string{"tokenizer-cache-enable-l1"}, effect: flagIgnored, does: whyCaches},
	{names: []string{"tokenizer-cache-l1-max-memory"}, value: "BYTES", set: setMemo, does: "tokenizer.memo; at least 1MiB"},
	{
		names: []string{"reasoning-parser"}, value: "NAME", set: setReasoningParser,
		does: "tokenizer.reasoning_parser, as far as engines make other prompts by it; answers pass unchanged",
	},
	{
		names: []string{"tool-call-parser"}, value: "NAME", set: setToolCallParser,
		does: "tokenizer.tool_call_parser, as far as engines make other prompts by it; answers pass unchanged",
	},
	{names: []string{"history-backend"}, value: "NAME", set: setHistory, does: `"memory" and "none" have no effect: ` + whyHistory + `; databases are refused`},
	{names: []string{"worker-startup-timeout-secs"}, value: "N", effect: flagIgnored, does: whyStartup},
	{names: []string{"worker-startup-check-interval"}, value: "N", effect: flagIgnored, does: whyStartup},

	// Prefill and decode apart, discovery.
	{names: []string{"pd-disaggregation"}, effect: flagRefused, does: whyDisaggregation},
	{names: []string{"vllm-pd-disaggregation"}, effect: flagRefused, does: whyDisaggregation},
	{names: []string{"mini-lb"}, effect: flagRefused, does: whyDisaggregation},
	{names: []string{"prefill"}, value: "URL [PORT|none]", many: true, effect: flagRefused, does: whyDisaggregation},
	{names: []string{"decode"}, value: "URL", many: true, effect: flagRefused, does: whyDisaggregation},
	{names: []string{"vllm-discovery-address"}, value: "ADDR", effect: flagRefused, does: whyDisaggregation},
	{names: []string{"prefill-policy"}, value: "NAME", effect: flagIgnored, does: whyOnlySplit},
	{names: []string{"decode-policy"}, value: "NAME", effect: flagIgnored, does: whyOnlySplit},
	{names: []string{"kv-connector"}, value: "NAME", effect: flagIgnored, does: whyOnlySplit},
	{names: []string{"service-discovery"}, effect: flagRefused, does: whyDiscovery},
	{names: []string{"selector"}, value: "K=V...", many: true, effect: flagRefused, does: whyDiscovery},
	{names: []string{"prefill-selector"}, value: "K=V...", many: true, effect: flagRefused, does: whyDiscovery},
	{names: []string{"decode-selector"}, value: "K=V...", many: true, effect: flagRefused, does: whyDiscovery},
	{names: []string{"service-discovery-port"}, value: "PORT", effect: flagIgnored, does: whyDiscovery},
	{names: []string{"service-discovery-namespace"}, value: "NAME", effect: flagIgnored, does: whyDiscovery},
	{names: []string{"model-id-from"}, value: "SOURCE", effect: flagIgnored, does: whyDiscovery},
}

// familyPolicy is what a policy name of the family becomes.
type familyPolicy struct {
	name    string
	policy  string // one of ours
	byText  bool   // hashes the start of the prompt only, no session header
	differs string // how ours is unlike theirs; "" when a user cannot tell
}

// familyPolicies: dashes in a name read as underscores.
var familyPolicies = []familyPolicy{
	{name: "round_robin", policy: "round_robin"},
	{name: "roundrobin", policy: "round_robin"},
	{name: "random", policy: "random"},
	{name: "least_load", policy: "least_load"},
	{name: "power_of_two", policy: "power_of_two"},
	{name: "session", policy: "session"},
	{name: "consistent_hash", policy: "consistent_hash"},
	{name: "consistent_hashing", policy: "consistent_hash"},
	{
		name: "cache_aware", policy: "consistent_hash", byText: true,
		differs: "equal prompt starts go to one replica with bounded load; there is no prefix tree, so a longer match elsewhere is not seen",
	},
	{
		name: "prefixaware", policy: "consistent_hash", byText: true,
		differs: "equal prompt starts go to one replica with bounded load; there is no prefix trie",
	},
	{
		name: "kv_aware", policy: "consistent_hash", byText: true,
		differs: "equal prompt starts go to one replica with bounded load; the engines' cache events are not read in this version",
	},
	{
		name: "kvaware", policy: "consistent_hash", byText: true,
		differs: "equal prompt starts go to one replica with bounded load; the engines' cache events are not read in this version",
	},
	{name: "prefix_hash", policy: "consistent_hash", byText: true, differs: "the prompt's first bytes are hashed, not its first tokens"},
	{name: "rendezvous_hash", policy: "consistent_hash", differs: "the ring assigns keys to other replicas than rendezvous hashing does"},
	{
		name: "manual", policy: "session",
		differs: "a key is hashed to its replica, not remembered, so it may move when replicas come and go",
	},
	{
		name: "sticky_least_loaded", policy: "session",
		differs: "a new session is hashed to its replica under bounded load, not given to the least loaded one",
	},
	{
		name: "bucket", policy: "least_load",
		differs: "prompt-length buckets belong to prefill replicas; outstanding tokens are balanced instead",
	},
	{name: "passthrough", policy: "round_robin", differs: "several replicas take turns"},
}

package configs

// Config is one whole configuration file. It is immutable once Parse returned
// it: a reload builds a new one.
type Config struct {
	Listen   Listen   `yaml:"listen"`
	Admin    Admin    `yaml:"admin"`
	Auth     Auth     `yaml:"auth"`
	Headers  Headers  `yaml:"headers"`
	Routes   Routes   `yaml:"routes"`
	Limits   Limits   `yaml:"limits"`
	Pools    []Pool   `yaml:"pools"`
	Usage    Usage    `yaml:"usage"`
	Log      Log      `yaml:"log"`
	Expose   Expose   `yaml:"expose"`
	Shutdown Shutdown `yaml:"shutdown"`
}

// Listen is the data plane: where clients connect and what they may send.
type Listen struct {
	Address             string     `yaml:"address"`                // host:port; default ":8080"
	TLS                 *ServerTLS `yaml:"tls"`                    // left out: plain HTTP
	MaxConnections      int        `yaml:"max_connections"`        // 0: from the file descriptor limit
	MaxConnectionsPerIP int        `yaml:"max_connections_per_ip"` // 0: no limit
	HeaderTimeout       Duration   `yaml:"header_timeout"`         // whole request head; default 5s
	BodyMinRate         Size       `yaml:"body_min_rate"`          // bytes per second a body must arrive at; default 1KiB
	IdleTimeout         Duration   `yaml:"idle_timeout"`           // keep-alive wait for the next request; default 75s
	WriteTimeout        Duration   `yaml:"write_timeout"`          // sliding: one blocked write; default 30s
	UserTimeout         Duration   `yaml:"user_timeout"`           // TCP_USER_TIMEOUT; default 20s
	MaxHeaderBytes      Size       `yaml:"max_header_bytes"`       // request head; default 16KiB
	MaxHeaderFields     int        `yaml:"max_header_fields"`      // default 100
	MaxBodyBytes        Size       `yaml:"max_body_bytes"`         // default 64MiB
	MaxJSONDepth        int        `yaml:"max_json_depth"`         // default 64
	HalfCloseIsGone     bool       `yaml:"half_close_is_gone"`     // a FIN from the client cancels; default true
	Heartbeat           Duration   `yaml:"heartbeat"`              // SSE comment to the client when silent this long; 0 off
	HandoverSocket      string     `yaml:"handover_socket"`        // Unix socket path for restarts without a refused connection; "" off
}

// ServerTLS is a server certificate; its files are watched and reloaded.
type ServerTLS struct {
	CertFile       string   `yaml:"cert_file"`       // PEM, leaf first
	KeyFile        string   `yaml:"key_file"`        // PEM
	ClientCAFile   string   `yaml:"client_ca_file"`  // "" : no client certificate asked for
	ReloadInterval Duration `yaml:"reload_interval"` // default 30s
}

// Admin is the listener for metrics, health, the API and pprof.
type Admin struct {
	Address string     `yaml:"address"` // default "127.0.0.1:9090"; "" off
	Token   Secret     `yaml:"token"`   // bearer token; "" none asked
	TLS     *ServerTLS `yaml:"tls"`     // left out: plain HTTP
	Pprof   bool       `yaml:"pprof"`   // default true
	// WorkerAPIOnData serves the worker API of the router family on the data
	// listener too, as the routers do. Set by their flags; default false.
	WorkerAPIOnData bool `yaml:"worker_api_on_data"`
	// WorkerAllow limits which addresses may be registered at run time (CIDRs,
	// checked on the resolved address). Empty: loopback and private ranges,
	// never link-local.
	WorkerAllow []string `yaml:"worker_allow"`
	// ExternalMetrics is an extra address that serves /metrics alone ("" off).
	ExternalMetrics string `yaml:"external_metrics"`
}

// Auth lists the gateway's own API keys. Empty: clients' Authorization goes to
// the engine unchanged.
type Auth struct {
	Keys []APIKey `yaml:"keys"`
}

// APIKey is one client credential. Two keys with one ID are a rotation.
type APIKey struct {
	ID      string   `yaml:"id"`      // shown in logs and metrics
	SHA256  string   `yaml:"sha256"`  // SHA-256 of the key in hex; this or key
	Key     Secret   `yaml:"key"`     // the key itself, by env or file reference
	Expires string   `yaml:"expires"` // RFC 3339; "" never
	Tenant  string   `yaml:"tenant"`  // whose key it is, for logs and metrics
	Trusted bool     `yaml:"trusted"` // may send injection fields (disaggregation, ranks, priority)
	Models  []string `yaml:"models"`  // empty: all
}

// Headers adjusts what is passed on beyond the built-in allowlist.
type Headers struct {
	RequestAllow []string `yaml:"request_allow"` // extra request header names sent to the engine
	ResponseDeny []string `yaml:"response_deny"` // response header names not passed to the client
	RequestIDs   []string `yaml:"request_ids"`   // names searched for the caller's request id; default x-request-id first
}

// Routes says which paths are served beyond the built-in ones.
type Routes struct {
	// Passthrough lists further paths (exact, or a prefix ending in "/*") that
	// go to the default pool unread.
	Passthrough []string `yaml:"passthrough"`
	// PassthroughAll sends every unknown path to the default pool. Set by
	// --upstream mode; default false.
	PassthroughAll bool `yaml:"passthrough_all"`
}

// Limits bounds what the gateway holds at once.
type Limits struct {
	MaxInFlight    int      `yaml:"max_in_flight"`     // requests at once; 0: no limit
	MaxBodyMemory  Size     `yaml:"max_body_memory"`   // request bytes in memory at once; default 1GiB; 0: no limit
	StreamBuffer   Size     `yaml:"stream_buffer"`     // bytes queued per stream towards a slow client; default 64KiB
	ModelsCacheTTL Duration `yaml:"models_cache_ttl"`  // /v1/models answers; default 5s
	SessionTTL     Duration `yaml:"session_ttl"`       // how long a stored response keeps its replica; default 2h
	MaxSessions    int      `yaml:"max_sessions"`      // remembered stored responses; default 100000
	MaxMetricNames int      `yaml:"max_metric_models"` // distinct model label values; more count as "other"; default 100
}

// Pool is one set of interchangeable replicas of the same models.
type Pool struct {
	Name           string        `yaml:"name"`    // in logs and metrics; may be left out when there is one pool
	Engine         Engine        `yaml:"engine"`  // default auto
	Models         []Model       `yaml:"models"`  // empty: whatever /v1/models of the replicas says
	Default        bool          `yaml:"default"` // takes what names no known model; one pool must, a single one does
	Policy         Policy        `yaml:"policy"`  // default least_load
	PolicyOptions  PolicyOptions `yaml:"policy_options"`
	Secret         Secret        `yaml:"secret"` // bearer token sent to the engines when the gateway has own keys
	TLS            ClientTLS     `yaml:"tls"`    // for https replicas
	Timeouts       Timeouts      `yaml:"timeouts"`
	Connections    Connections   `yaml:"connections"`
	Retry          Retry         `yaml:"retry"`
	Breaker        Breaker       `yaml:"breaker"`
	Health         Health        `yaml:"health"`
	Load           Load          `yaml:"load"`
	Tokenizer      Tokenizer     `yaml:"tokenizer"`
	SlowStart      Duration      `yaml:"slow_start"`      // ramp of a replica that became healthy; default 30s; 0 off
	PanicThreshold float64       `yaml:"panic_threshold"` // below this healthy share health is ignored; default 0.5; 0 off
	DrainTimeout   Duration      `yaml:"drain_timeout"`   // a removed replica's streams may run this long; default 180s
	Replicas       []Replica     `yaml:"replicas"`
}

// Model is one name that clients use.
type Model struct {
	ID       string   `yaml:"id"`       // name that the engine serves
	Aliases  []string `yaml:"aliases"`  // further names; rewritten to id in the body
	Adapters []string `yaml:"adapters"` // LoRA adapter names on this base, sent unchanged
}

// Replica is one engine endpoint.
type Replica struct {
	ID             string            `yaml:"id"`              // default: host:port and base path
	URL            string            `yaml:"url"`             // http or https, base path allowed
	Weight         int               `yaml:"weight"`          // share of traffic, 1..1000; default 1
	Ranks          int               `yaml:"ranks"`           // data-parallel ranks behind this URL; default 1
	MaxConcurrency int               `yaml:"max_concurrency"` // requests at once; 0: no limit
	Models         []string          `yaml:"models"`          // empty: all of the pool
	HealthURL      string            `yaml:"health_url"`      // default: the engine kind's path
	Labels         map[string]string `yaml:"labels"`          // free, shown by the API
}

// PolicyOptions holds the knobs of all policies; each says whose it is.
type PolicyOptions struct {
	SessionHeaders []string `yaml:"session_headers"` // session, consistent_hash: searched in order
	LoadFactor     float64  `yaml:"load_factor"`     // bounded load of the hash policies; default 1.25
	PrefixBytes    int      `yaml:"prefix_bytes"`    // consistent_hash without a session: prompt bytes hashed; default 1024
}

// ClientTLS is how https replicas are checked.
type ClientTLS struct {
	CAFile             string `yaml:"ca_file"`              // PEM; "": the system's authorities
	CertFile           string `yaml:"cert_file"`            // PEM client certificate; "" none
	KeyFile            string `yaml:"key_file"`             // PEM key of cert_file
	ServerName         string `yaml:"server_name"`          // name sent and checked; "": the URL's host
	InsecureSkipVerify bool   `yaml:"insecure_skip_verify"` // true: certificates are not checked; default false
}

// Timeouts bounds each phase of one upstream attempt. 0 means no limit.
type Timeouts struct {
	Dial            Duration `yaml:"dial"`               // default 2s
	Write           Duration `yaml:"write"`              // whole request written; default 30s
	FirstByte       Duration `yaml:"first_byte"`         // until the first response byte (stream: first event); default 300s
	FirstBytePerKiB Duration `yaml:"first_byte_per_kib"` // added per KiB of request body; default 100ms
	Gap             Duration `yaml:"gap"`                // between tokens of a stream, comments do not count; default 60s
	Total           Duration `yaml:"total"`              // whole request; default 30m
}

// Connections is the upstream pool of one replica.
type Connections struct {
	MaxIdle     int      `yaml:"max_idle"`     // kept open per replica; default 1024
	IdleTimeout Duration `yaml:"idle_timeout"` // below the engine's 5 s; default 3s
	KeepAlive   Duration `yaml:"keep_alive"`   // TCP keep-alive; default 15s
	UserTimeout Duration `yaml:"user_timeout"` // TCP_USER_TIMEOUT; default 20s
}

// Retry is when an attempt may be repeated on another replica.
type Retry struct {
	MaxAttempts   int     `yaml:"max_attempts"`   // tries in all, each on another replica; default 3; 1 off
	BudgetPercent float64 `yaml:"budget_percent"` // retries as a share of requests in flight; default 20
	BudgetMin     int     `yaml:"budget_min"`     // always allowed at once; default 3
	OnStatus      []int   `yaml:"on_status"`      // statuses with nothing generated; default 429, 503
	// MaxRetryAfter is the longest Retry-After for which the same replica is
	// avoided; a longer one is passed to the client when no other is left.
	MaxRetryAfter Duration `yaml:"max_retry_after"` // default 1s
}

// Breaker trips one replica after failures of the transport or 5xx answers.
type Breaker struct {
	Failures         int      `yaml:"failures"`           // consecutive; default 5; 0 off
	Open             Duration `yaml:"open"`               // before one probe request is let through; default 10s
	HalfOpenRequests int      `yaml:"half_open_requests"` // default 1
}

// Health is the active probe. What is left to the engine kind is filled in by
// Health.For once the kind is known.
type Health struct {
	Disabled bool     `yaml:"disabled"` // true: replicas count as healthy until requests fail; default false
	Path     string   `yaml:"path"`     // "": /health; the model list of a server without it (engine auto, openai)
	Interval Duration `yaml:"interval"` // 0: by engine kind (5s; sglang 20s, its probe generates a token; openai 10s)
	Timeout  Duration `yaml:"timeout"`  // 0: by engine kind (3s; sglang 10s; openai 5s)
	Fall     int      `yaml:"fall"`     // failures in a row to go down; default 3
	Rise     int      `yaml:"rise"`     // successes in a row to come up; default 2
}

// Load reads the engine's own load.
type Load struct {
	Disabled   bool     `yaml:"disabled"`    // true: only what this gateway sent counts; default false
	Interval   Duration `yaml:"interval"`    // default 2s, floor 1s
	Timeout    Duration `yaml:"timeout"`     // default 1s
	StaleAfter Duration `yaml:"stale_after"` // older readings are ignored; default 10s
	// TRTLLMMetrics permits reading TensorRT-LLM's /metrics, whose entries are
	// delivered once: set it only when the gateway is its single reader.
	TRTLLMMetrics bool `yaml:"trtllm_metrics"`
}

// Tokenizer turns prompts into block keys, as the pool's engines would make their
// tokens. Nothing is done while path is empty, text is not on and remote not always.
type Tokenizer struct {
	Path    string `yaml:"path"`    // folder with tokenizer.json, tokenizer_config.json and templates, or one tokenizer file; "" none
	Unicode int    `yaml:"unicode"` // character classes of the engine's image: 16, or 14 for tokenizers up to 0.21.1; default 16

	ChatTemplate   string         `yaml:"chat_template"`           // file, as the engines' --chat-template; "": the model's own
	ContentFormat  ContentFormat  `yaml:"content_format"`          // --chat-template-content-format; default auto, found as the engines do
	TemplateKwargs Object         `yaml:"default_template_kwargs"` // --default-chat-template-kwargs, such as {enable_thinking: false}
	Mode           TokenizerMode  `yaml:"mode"`                    // --tokenizer-mode; default auto, by the model's architecture
	ToolProjection ToolProjection `yaml:"tool_projection"`         // whose form of tools the template sees; default auto, by engine kind
	ToolCallParser string         `yaml:"tool_call_parser"`        // --tool-call-parser; "" none
	// ReasoningParser is the engines' --reasoning-parser; "" none.
	ReasoningParser string `yaml:"reasoning_parser"`
	// TrustRequestTemplate is --trust-request-chat-template: a request may bring
	// its template; default false.
	TrustRequestTemplate bool `yaml:"trust_request_template"`
	// ExcludeToolsWhenNone is --exclude-tools-when-tool-choice-none; default false.
	ExcludeToolsWhenNone bool `yaml:"exclude_tools_when_none"`
	// HarmonySystemInstructions is the engines' variable
	// VLLM_GPT_OSS_HARMONY_SYSTEM_INSTRUCTIONS; default false.
	HarmonySystemInstructions bool   `yaml:"harmony_system_instructions"`
	HarmonyDate               string `yaml:"harmony_date"`   // the engines' variable VLLM_SYSTEM_START_DATE, such as 2026-01-31; "": today
	Timezone                  string `yaml:"timezone"`       // the engines', for prompts with the date; IANA name, default UTC
	EngineVersion             string `yaml:"engine_version"` // such as 0.11.0; "": asked from the engines

	BlockSize       int        `yaml:"block_size"`       // tokens per key, as the engines' cache blocks; default 16
	Memo            Size       `yaml:"memo"`             // memory for known prompt starts; default 64MiB; 0 off
	MaxPrompt       Size       `yaml:"max_prompt"`       // longer bodies are routed by load; default 8MiB
	Budget          Duration   `yaml:"budget"`           // time for one prompt, waiting included, then it is routed by load; default 20ms; 0: 5s
	Text            Switch     `yaml:"text"`             // keys over the bytes of prompts that have none over tokens (auto: when there is a path); default auto
	Remote          RemoteMode `yaml:"remote"`           // the engines' own tokenizing where ours cannot tell (auto: of prompts that come again, always: waiting for it); default auto
	RemoteTimeout   Duration   `yaml:"remote_timeout"`   // of one question to an engine; default 1s
	RemoteCache     Size       `yaml:"remote_cache"`     // memory for such answers; default 32MiB
	Parity          ParityMode `yaml:"parity"`           // comparison with the engines' own tokens; default on
	ParityTolerance int        `yaml:"parity_tolerance"` // of the last 20 comparable answers this many may count other prompt tokens than the gateway before the engines are asked again; default 4
}

// Usage is how tokens are counted.
type Usage struct {
	// Audit "count" settles on the engine's usage when present and on counted
	// events otherwise; "inject" asks the engine for usage and takes the
	// usage-only event out of the answer again.
	Audit AuditMode `yaml:"audit"` // default count
}

// Log is the structured log and the access log.
type Log struct {
	Level      LogLevel  `yaml:"level"`       // default info
	Format     LogFormat `yaml:"format"`      // default json
	Access     bool      `yaml:"access"`      // one line per request; default true
	AccessFile string    `yaml:"access_file"` // "": standard output
}

// Expose is what clients may see of the inside.
type Expose struct {
	Replica  bool `yaml:"replica"`  // x-penstock-replica; default false
	Decision bool `yaml:"decision"` // x-penstock-decision; default false
}

// Shutdown is how the process ends.
type Shutdown struct {
	Settle Duration `yaml:"settle"` // readiness false, still accepting; default 5s
	Drain  Duration `yaml:"drain"`  // running streams may finish; default 180s
}

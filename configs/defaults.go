package configs

import "time"

// Default returns the configuration of an empty file: every documented default
// and no pool.
func Default() Config {
	return Config{
		Listen: Listen{
			Address:         ":8080",
			HeaderTimeout:   seconds(5),
			BodyMinRate:     1 << 10,
			IdleTimeout:     seconds(75),
			WriteTimeout:    seconds(30),
			UserTimeout:     seconds(20),
			MaxHeaderBytes:  16 << 10,
			MaxHeaderFields: 100,
			MaxBodyBytes:    64 << 20,
			MaxJSONDepth:    64,
			HalfCloseIsGone: true,
		},
		Admin:   Admin{Address: "127.0.0.1:9090", Pprof: true},
		Headers: Headers{RequestIDs: []string{"x-request-id", "x-correlation-id", "x-trace-id", "request-id"}},
		Limits: Limits{
			MaxBodyMemory:  1 << 30,
			StreamBuffer:   64 << 10,
			ModelsCacheTTL: seconds(5),
			SessionTTL:     Duration(2 * time.Hour),
			MaxSessions:    100_000,
			MaxMetricNames: 100,
		},
		Usage:    Usage{Audit: AuditCount},
		Log:      Log{Level: LogInfo, Format: LogJSON, Access: true},
		Shutdown: Shutdown{Settle: seconds(5), Drain: seconds(180)},
	}
}

// DefaultPool returns what every listed pool starts from.
func DefaultPool() Pool {
	return Pool{
		Engine: EngineAuto,
		Policy: PolicyLeastLoad,
		PolicyOptions: PolicyOptions{
			SessionHeaders: []string{"x-session-id", "x-conversation-id", "x-smg-routing-key", "x-user-id"},
			LoadFactor:     1.25,
			PrefixBytes:    1024,
		},
		Timeouts: Timeouts{
			Dial:            seconds(2),
			Write:           seconds(30),
			FirstByte:       seconds(300),
			FirstBytePerKiB: Duration(100 * time.Millisecond),
			Gap:             seconds(60),
			Total:           Duration(30 * time.Minute),
		},
		Connections: Connections{
			MaxIdle:     1024,
			IdleTimeout: seconds(3), // engines on uvicorn close at 5 s
			KeepAlive:   seconds(15),
			UserTimeout: seconds(20),
		},
		Retry: Retry{
			MaxAttempts:   3,
			BudgetPercent: 20,
			BudgetMin:     3,
			OnStatus:      []int{429, 503},
			MaxRetryAfter: seconds(1),
		},
		Breaker:        Breaker{Failures: 5, Open: seconds(10), HalfOpenRequests: 1},
		Health:         Health{Fall: 3, Rise: 2}, // the rest by engine kind, see EngineDefaults
		Load:           Load{Interval: seconds(2), Timeout: seconds(1), StaleAfter: seconds(10)},
		Tokenizer:      DefaultTokenizer(),
		SlowStart:      seconds(30),
		PanicThreshold: 0.5,
		DrainTimeout:   seconds(180),
	}
}

// DefaultTokenizer returns what every pool's tokenizer starts from.
func DefaultTokenizer() Tokenizer {
	return Tokenizer{
		Unicode: 16, ContentFormat: ContentAuto, Mode: ModeAuto, ToolProjection: ToolsAuto, Timezone: "UTC",
		BlockSize: 16, // vLLM's
		Memo:      64 << 20,
		MaxPrompt: 8 << 20,
		// A hundred thousand new tokens of English take 4 to 7 ms.
		Budget: Duration(20 * time.Millisecond),
		Text:   SwitchAuto, Remote: RemoteAuto, RemoteTimeout: seconds(1), RemoteCache: 32 << 20,
		Parity: ParityOn, ParityTolerance: 4,
	}
}

// DefaultReplica returns what every listed replica starts from.
func DefaultReplica() Replica { return Replica{Weight: 1, Ranks: 1} }

// DefaultServerTLS returns what every listed server certificate starts from.
func DefaultServerTLS() ServerTLS { return ServerTLS{ReloadInterval: seconds(30)} }

// EngineDefaults is what depends on the kind of engine behind a pool.
type EngineDefaults struct {
	HealthPath     string   // probe path below the base path; "": /health, or the model list of a server without it
	HealthInterval Duration // between probes
	HealthTimeout  Duration // of one probe
	IdleClose      Duration // the engine closes idle connections after this; 0 unknown
}

// engineDefaults: SGLang's /health generates a token and answers no sooner than
// 1 s after the call, so it is asked rarely and given time. A server of unknown
// make may have no /health, which only the probe can find out, so its path stays
// open.
var engineDefaults = map[Engine]EngineDefaults{
	EngineAuto:   {"", seconds(5), seconds(3), seconds(5)},
	EngineVLLM:   {"/health", seconds(5), seconds(3), seconds(5)},
	EngineSGLang: {"/health", seconds(20), seconds(10), seconds(5)},
	EngineTRTLLM: {"/health", seconds(5), seconds(3), seconds(5)},
	EngineOpenAI: {"", seconds(10), seconds(5), 0},
}

// EngineDefaultsOf returns the defaults of one kind; an unknown kind has those
// of EngineAuto.
func EngineDefaultsOf(kind Engine) EngineDefaults {
	if d, ok := engineDefaults[kind]; ok {
		return d
	}
	return engineDefaults[EngineAuto]
}

// For returns h with the settings left to the engine kind filled in. A pool
// with engine auto calls it with the kind that it detected.
func (h Health) For(kind Engine) Health {
	d := EngineDefaultsOf(kind)
	if h.Path == "" {
		h.Path = d.HealthPath
	}
	if h.Interval == 0 {
		h.Interval = d.HealthInterval
	}
	if h.Timeout == 0 {
		h.Timeout = min(d.HealthTimeout, h.Interval)
	}
	return h
}

// Resolve returns p with the settings left to the engine kind filled in.
func (p Pool) Resolve(kind Engine) Pool {
	p.Health = p.Health.For(kind)
	return p
}

// FromUpstreams returns the configuration of `serve --upstream`: one pool of
// the given URLs that serves every path. The caller validates it.
func FromUpstreams(urls []string) *Config {
	c := Default()
	c.Routes.PassthroughAll = true
	p := DefaultPool()
	p.Name, p.Default = "default", true
	for _, u := range urls {
		r := DefaultReplica()
		r.URL = u
		p.Replicas = append(p.Replicas, r)
	}
	c.Pools = []Pool{p}
	c.Complete()
	return &c
}

func seconds(n int) Duration { return Duration(time.Duration(n) * time.Second) }

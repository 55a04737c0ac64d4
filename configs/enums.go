package configs

// Engine is the kind of inference engine behind a pool.
type Engine string

// The engine kinds. EngineAuto asks the replica; EngineOpenAI assumes nothing
// beyond the OpenAI routes.
const (
	EngineAuto   Engine = "auto"
	EngineVLLM   Engine = "vllm"
	EngineSGLang Engine = "sglang"
	EngineTRTLLM Engine = "trtllm"
	EngineOpenAI Engine = "openai"
)

// Policy names a rule of choice.
type Policy string

// The policies.
const (
	PolicyRoundRobin     Policy = "round_robin"
	PolicyRandom         Policy = "random"
	PolicyLeastLoad      Policy = "least_load"
	PolicyPowerOfTwo     Policy = "power_of_two"
	PolicyConsistentHash Policy = "consistent_hash"
	PolicySession        Policy = "session"
)

// AuditMode is how usage is learned.
type AuditMode string

// The audit modes.
const (
	AuditCount  AuditMode = "count"
	AuditInject AuditMode = "inject"
)

// LogLevel is the least severe level written.
type LogLevel string

// The log levels.
const (
	LogDebug LogLevel = "debug"
	LogInfo  LogLevel = "info"
	LogWarn  LogLevel = "warn"
	LogError LogLevel = "error"
)

// LogFormat is the encoding of the log.
type LogFormat string

// The log formats.
const (
	LogJSON LogFormat = "json"
	LogText LogFormat = "text"
)

// enumValues lists what each enumeration accepts, in the order printed.
var enumValues = map[string][]string{
	"Engine":    {string(EngineAuto), string(EngineVLLM), string(EngineSGLang), string(EngineTRTLLM), string(EngineOpenAI)},
	"Policy":    {string(PolicyRoundRobin), string(PolicyRandom), string(PolicyLeastLoad), string(PolicyPowerOfTwo), string(PolicyConsistentHash), string(PolicySession)},
	"AuditMode": {string(AuditCount), string(AuditInject)},
	"LogLevel":  {string(LogDebug), string(LogInfo), string(LogWarn), string(LogError)},
	"LogFormat": {string(LogJSON), string(LogText)},
}

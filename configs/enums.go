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

// ContentFormat is how a message's content reaches the chat template.
type ContentFormat string

// The content formats, by vLLM's names "string" and "openai" for the last two.
const (
	ContentAuto   ContentFormat = "auto"
	ContentString ContentFormat = "string"
	ContentParts  ContentFormat = "parts"
)

// TokenizerMode selects the engines' own encoder of a model instead of its chat
// template.
type TokenizerMode string

// The tokenizer modes, by vLLM's names. ModeOther is any that has no name here.
const (
	ModeAuto        TokenizerMode = "auto"
	ModeHF          TokenizerMode = "hf"
	ModeMistral     TokenizerMode = "mistral"
	ModeDeepSeekV32 TokenizerMode = "deepseek_v32"
	ModeDeepSeekV4  TokenizerMode = "deepseek_v4"
	ModeOther       TokenizerMode = "other"
)

// ToolProjection is whose form the tools of a request take before they are
// rendered.
type ToolProjection string

// The tool projections. ToolsAsSent leaves them as the client wrote them.
const (
	ToolsAuto   ToolProjection = "auto"
	ToolsVLLM   ToolProjection = "vllm"
	ToolsSGLang ToolProjection = "sglang"
	ToolsAsSent ToolProjection = "as_sent"
)

// RemoteMode is when an engine is asked to tokenize. RemoteAuto asks beside the
// request, for the next one; RemoteAlways lets the request wait.
type RemoteMode string

// The remote modes.
const (
	RemoteAuto   RemoteMode = "auto"
	RemoteOff    RemoteMode = "off"
	RemoteAlways RemoteMode = "always"
)

// ParityMode is what a comparison with the engines' tokens decides. With
// ParityStrict nothing counts as exact before one has passed.
type ParityMode string

// The parity modes.
const (
	ParityOn     ParityMode = "on"
	ParityOff    ParityMode = "off"
	ParityStrict ParityMode = "strict"
)

// Switch is on, off, or left to the gateway.
type Switch string

// The switch positions.
const (
	SwitchAuto Switch = "auto"
	SwitchOn   Switch = "on"
	SwitchOff  Switch = "off"
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
	"Engine":         {string(EngineAuto), string(EngineVLLM), string(EngineSGLang), string(EngineTRTLLM), string(EngineOpenAI)},
	"Policy":         {string(PolicyRoundRobin), string(PolicyRandom), string(PolicyLeastLoad), string(PolicyPowerOfTwo), string(PolicyConsistentHash), string(PolicySession)},
	"AuditMode":      {string(AuditCount), string(AuditInject)},
	"ContentFormat":  {string(ContentAuto), string(ContentString), string(ContentParts)},
	"TokenizerMode":  {string(ModeAuto), string(ModeHF), string(ModeMistral), string(ModeDeepSeekV32), string(ModeDeepSeekV4), string(ModeOther)},
	"ToolProjection": {string(ToolsAuto), string(ToolsVLLM), string(ToolsSGLang), string(ToolsAsSent)},
	"RemoteMode":     {string(RemoteAuto), string(RemoteOff), string(RemoteAlways)},
	"ParityMode":     {string(ParityOn), string(ParityOff), string(ParityStrict)},
	"Switch":         {string(SwitchAuto), string(SwitchOn), string(SwitchOff)},
	"LogLevel":       {string(LogDebug), string(LogInfo), string(LogWarn), string(LogError)},
	"LogFormat":      {string(LogJSON), string(LogText)},
}

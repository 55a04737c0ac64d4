package chattemplate

import "time"

// Sources are a model's files, as they lie beside its weights; a nil one is absent.
type Sources struct {
	TokenizerConfig  []byte // tokenizer_config.json: special tokens and templates
	ChatTemplate     []byte // chat_template.jinja, which goes before TokenizerConfig's
	GenerationConfig []byte // generation_config.json; it has nothing that changes prompts yet
	ModelConfig      []byte // config.json: model_type and architectures
}

// Engine is the kind of engine whose prompts are made.
type Engine uint8

// The zero value is vLLM.
const (
	EngineVLLM Engine = iota
	EngineSGLang
	EngineTRTLLM
	EngineUnknown // prompts of text and ids only
)

// ContentFormat is how the contents of messages reach the template.
type ContentFormat uint8

// The zero value finds out as the engines do.
const (
	ContentAuto ContentFormat = iota
	ContentString
	ContentParts
)

// ToolProjection is the form in which the template sees tools.
type ToolProjection uint8

// The zero value goes by the engine.
const (
	ToolsAuto   ToolProjection = iota
	ToolsVLLM                  // name, description, parameters; null where missing
	ToolsSGLang                // description, name, parameters, strict
	ToolsNone                  // as the client wrote them
)

// TokenizerMode selects a renderer other than the template.
type TokenizerMode uint8

// The zero value goes by the model's architecture, as vLLM's "auto" does.
const (
	ModeAuto        TokenizerMode = iota
	ModeHF                        // the template, whatever the architecture
	ModeMistral                   // mistral-common, which is not built here
	ModeDeepSeekV32               // DeepSeek V3.2's encoder
	ModeDeepSeekV4                // DeepSeek V4's encoder
	ModeOther                     // another one, not built here
)

// Profile is how a pool's engines were started, as far as it changes prompts. The
// zero value is vLLM with its defaults.
type Profile struct {
	Engine        Engine
	Version       string // of the engine, such as 0.32.0; "" the newest known
	TokenizerMode TokenizerMode
	ContentFormat ContentFormat
	// DefaultKwargs is a JSON object, vLLM's --default-chat-template-kwargs.
	DefaultKwargs []byte
	// ChatTemplate replaces the model's template, as --chat-template does.
	ChatTemplate   []byte
	Location       *time.Location // the engines' time zone; nil UTC
	ToolProjection ToolProjection
	// ToolCallParser is the engine's --tool-call-parser. SGLang reads a few names.
	ToolCallParser string
	// ReasoningParser is the engine's --reasoning-parser.
	ReasoningParser string
	// TrustRequestTemplate is vLLM's --trust-request-chat-template; without it a
	// request with a template is refused.
	TrustRequestTemplate bool
	// ExcludeToolsWhenNone is --exclude-tools-when-tool-choice-none.
	ExcludeToolsWhenNone bool
	// DisabledThinkingEffort is the reasoning effort that thinking "disabled" of
	// Anthropic's API stands for; "" is found out as vLLM does.
	DisabledThinkingEffort string
	// HarmonySystemInstructions is VLLM_GPT_OSS_HARMONY_SYSTEM_INSTRUCTIONS.
	HarmonySystemInstructions bool
	// HarmonyDate is VLLM_SYSTEM_START_DATE; "" today.
	HarmonyDate string
	MaxOutput   int // bytes of a prompt; 0: 64 MiB
	MaxSteps    int // of a template; 0: 20 million
	MaxDepth    int // of a template; 0: 200
}

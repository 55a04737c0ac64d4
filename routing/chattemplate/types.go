package chattemplate

import "time"

// Kind is the API of a request.
type Kind uint8

// The kinds of request that have a prompt.
const (
	KindNone        Kind = iota
	KindChat             // /v1/chat/completions, and chat bodies of /tokenize
	KindCompletions      // /v1/completions, and prompt bodies of /tokenize
	KindResponses        // /v1/responses
	KindMessages         // /v1/messages, /v1/messages/count_tokens
	KindGenerate         // SGLang /generate
	KindTokens           // vLLM /inference/v1/generate
)

// Status says how far a prompt can be trusted to be the engine's.
type Status uint8

// The zero value promises nothing.
const (
	Unknown     Status = iota
	Approximate        // exact up to where Parts end; the engine's prompt goes on differently
	Exact
)

// String is the status as metric labels write it.
func (s Status) String() string {
	switch s {
	case Exact:
		return "exact"
	case Approximate:
		return "approximate"
	default:
		return "unknown"
	}
}

// Reason is one of a closed set; it is a metric label. The empty one means Exact.
type Reason string

// Why a prompt is not known, or not to its end.
const (
	ReasonKind            Reason = "kind"             // no such API at this engine, or no prompt in it
	ReasonEngine          Reason = "engine"           // nobody has said how this engine makes prompts
	ReasonEncoder         Reason = "encoder"          // the engine has an encoder for the model that is not built here
	ReasonNoTemplate      Reason = "no_template"      // neither the model nor the pool has a chat template
	ReasonTemplate        Reason = "template"         // the template does not compile here
	ReasonTemplateError   Reason = "template_error"   // the template raised; the engine refuses such a request
	ReasonSpecialTokens   Reason = "special_tokens"   // the template prints a token that only the tokenizer's class knows
	ReasonRequestTemplate Reason = "request_template" // the request brings its own template
	ReasonClock           Reason = "clock"            // the template prints the time of day
	ReasonMultimodal      Reason = "multimodal"       // images, audio, video or embeddings
	ReasonTruncated       Reason = "truncated"        // the engine cuts the prompt
	ReasonBatch           Reason = "batch"            // several prompts of which the first is none of ours
	ReasonStoredState     Reason = "stored_state"     // part of the prompt lies in the engine
	ReasonField           Reason = "field"            // a field that changes prompts in ways not built here
	ReasonBadRequest      Reason = "bad_request"      // the engine refuses it
	ReasonBadJSON         Reason = "bad_json"         // the body is not JSON
	ReasonLoneSurrogate   Reason = "lone_surrogate"   // half of a UTF-16 pair, which is no text
	ReasonLimit           Reason = "limit"            // over a limit of ours
	ReasonBudget          Reason = "budget"           // Worker.Expired said so
)

// Reasons lists every reason.
func Reasons() []Reason {
	return []Reason{
		ReasonKind, ReasonEngine, ReasonEncoder, ReasonNoTemplate, ReasonTemplate, ReasonTemplateError,
		ReasonSpecialTokens, ReasonRequestTemplate, ReasonClock, ReasonMultimodal, ReasonTruncated, ReasonBatch,
		ReasonStoredState, ReasonField, ReasonBadRequest, ReasonBadJSON, ReasonLoneSurrogate, ReasonLimit, ReasonBudget,
	}
}

// Part is a stretch of the prompt: text to be tokenized, or ids. Parts are tokenized
// one by one and their ids joined.
type Part struct {
	Text       []byte
	IDs        []uint32 // Text is empty
	AddSpecial bool     // the tokenizer's own BOS and EOS are added
	PlainText  bool     // special tokens typed into the text stay text
}

// Prompt is the prompt of one request. Its memory belongs to the Worker it came from
// and holds until that worker's next Render; the request's body must stay as long.
type Prompt struct {
	Status Status
	Reason Reason // why it is not Exact
	// Parts of the prompt. Of an Approximate prompt the last ends where the engine's
	// text goes on differently, so its last few tokens may be others there.
	Parts   []Part
	Adapter string // LoRA adapter named in the body (SGLang lora_path), "" none
	Salt    []byte // cache_salt
	Prompts int    // prompts in the request; above 1 Parts are those of the first
}

// Request is what Render reads.
type Request struct {
	Kind Kind
	Body []byte    // JSON, already checked to be valid UTF-8 and bounded in depth
	Now  time.Time // for templates that print the date
}

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

// Part is a stretch of the prompt: text to be tokenized, or ids.
type Part struct {
	Text       []byte
	IDs        []uint32 // Text is empty
	AddSpecial bool     // the tokenizer's own BOS and EOS are added
	PlainText  bool     // special tokens typed into the text stay text
}

// Prompt is the prompt of one request. Its memory belongs to the Worker it came from
// and holds until that worker's next Render.
type Prompt struct {
	Status  Status
	Reason  Reason // why it is not Exact
	Parts   []Part
	Adapter string // LoRA adapter named in the body (SGLang lora_path), "" none
	Salt    []byte // cache_salt
	Prompts int    // prompts in the request; above 1 Parts are those of the first
}

// Reason is one of a closed set; it is a metric label.
type Reason string

// Request is what Render reads.
type Request struct {
	Kind Kind
	Body []byte    // JSON, already checked to be valid UTF-8 and bounded in depth
	Now  time.Time // for templates that print the date
}

// Renderer renders requests for one pool. It is immutable.
type Renderer struct{}

// NewWorker makes the scratch memory of one user.
func (r *Renderer) NewWorker() *Worker { panic("not built yet") }

// Worker renders; for one goroutine at a time.
type Worker struct{}

// Render makes the prompt of a request.
func (w *Worker) Render(q *Request) *Prompt { panic("not built yet") }

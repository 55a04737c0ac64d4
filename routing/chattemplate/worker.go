package chattemplate

import (
	"errors"
	"time"

	"penstock/routing/chattemplate/deepseek"
	"penstock/routing/chattemplate/harmony"
	"penstock/routing/chattemplate/jinja"
	"penstock/routing/chattemplate/value"
)

// Worker renders; for one goroutine at a time.
type Worker struct {
	// Expired, when set, is asked now and then during Render; once it says true, the
	// prompt is Unknown.
	Expired func() bool
	// MaxMemory bounds the working memory of one prompt, in bytes, about; 0 is no
	// bound but those of Profile.
	MaxMemory int

	r      *Renderer
	env    jinja.Env
	mem    *value.Memory // of env
	now    time.Time     // in the engines' zone
	prompt Prompt
	parts  []Part
	text   []byte // of the prompt
	spare  [2][]byte
	ids    []uint32
	media  []medium // of the conversation

	deepseek  deepseek.Encoder
	harmony   harmony.Encoder
	messages  []harmony.Message
	functions []harmony.Function
	calls     []call
	// partial: the parts are a true start of the prompt, and no more.
	partial bool
	// keepCalls: tool calls have the key order they came with.
	keepCalls bool
}

// keepText is the size in bytes up to which a worker keeps its text for the next one.
const keepText = 8 << 20

// Render makes the prompt of a request.
func (w *Worker) Render(q *Request) *Prompt {
	reason := w.attempt(q)
	w.prompt.Reason = reason
	switch {
	case reason == "":
		w.prompt.Status, w.prompt.Parts = Exact, w.parts
	case w.partial && len(w.parts) > 0:
		w.prompt.Status, w.prompt.Parts = Approximate, w.parts
	default:
		w.prompt.Status, w.prompt.Parts = Unknown, nil
	}
	return &w.prompt
}

// attempt renders, unless the time or the memory runs out. What was in use then is
// dropped: it may be half done.
func (w *Worker) attempt(q *Request) (reason Reason) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case value.Stop:
			fresh := w.r.NewWorker()
			fresh.Expired, fresh.MaxMemory = w.Expired, w.MaxMemory
			*w = *fresh
			w.mem = &w.env.Memory
			reason = ReasonBudget
			if errors.Is(p.Err, value.ErrMemory) {
				reason = ReasonLimit
			}
		default:
			panic(p)
		}
	}()
	w.reset(q)
	return w.render(q)
}

func (w *Worker) reset(q *Request) {
	w.mem.Limit, w.mem.Expired = w.MaxMemory, w.Expired
	w.mem.Reset()
	w.now = q.Now.In(w.r.profile.Location)
	w.env.Now = w.now
	w.prompt = Prompt{}
	clear(w.parts)
	if cap(w.text) > keepText {
		w.text, w.spare, w.harmony.Text = nil, [2][]byte{}, nil
	}
	w.parts, w.text, w.ids, w.media = w.parts[:0], w.text[:0], w.ids[:0], w.media[:0]
	w.partial, w.keepCalls = false, false
}

func (w *Worker) render(q *Request) Reason {
	if q.Kind == KindNone {
		return ReasonKind
	}
	body, err := w.mem.Parse(q.Body)
	if err != nil {
		return parseReason(err)
	}
	if body.Kind() != value.Dict {
		return ReasonBadRequest
	}
	w.prompt.Prompts = 1
	switch w.r.profile.Engine {
	case EngineVLLM:
		return w.vllm(q.Kind, body)
	case EngineSGLang:
		return w.sglang(q.Kind, body)
	case EngineTRTLLM:
		return w.plain(q.Kind, body)
	default:
		return w.plain(q.Kind, body)
	}
}

func parseReason(err error) Reason {
	switch {
	case errors.Is(err, value.ErrSurrogate):
		return ReasonLoneSurrogate
	case errors.Is(err, value.ErrDepth):
		return ReasonLimit
	default:
		return ReasonBadJSON
	}
}

// renderReason is why a template gave no prompt.
func renderReason(err error) Reason {
	switch {
	case errors.Is(err, jinja.ErrLimit):
		return ReasonLimit
	case errors.Is(err, jinja.ErrUnsupported), errors.Is(err, jinja.ErrSyntax):
		return ReasonTemplate
	default:
		return ReasonTemplateError
	}
}

// vllm renders as vLLM does.
func (w *Worker) vllm(kind Kind, body value.Value) Reason {
	switch kind {
	case KindChat:
		return w.vllmChat(body)
	case KindCompletions:
		return w.vllmCompletion(body)
	case KindResponses:
		return w.vllmResponses(body)
	case KindMessages:
		return w.vllmAnthropic(body)
	case KindTokens:
		return w.vllmTokens(body)
	default:
		return ReasonKind
	}
}

// plain renders what is the same at every engine: ids.
func (w *Worker) plain(kind Kind, body value.Value) Reason {
	prompt := body.Get("prompt")
	if kind != KindCompletions || prompt.Kind() != value.List || prompt.Len() == 0 || !absent(body.Get("suffix")) {
		return ReasonEngine
	}
	if first := prompt.Index(0); first.Kind() != value.Int && first.Kind() != value.List {
		return ReasonEngine
	}
	return w.firstPrompt(prompt, false)
}

// addText adds text to the prompt.
func (w *Worker) addText(text []byte, addSpecial bool) {
	w.parts = append(w.parts, Part{Text: text, AddSpecial: addSpecial})
}

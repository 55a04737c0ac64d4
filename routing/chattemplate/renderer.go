package chattemplate

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"penstock/routing/chattemplate/jinja"
	"penstock/routing/chattemplate/value"
)

// Renderer renders requests for one pool. It is immutable.
type Renderer struct {
	profile    Profile
	limits     jinja.Limits
	encoder    encoder
	version    version
	multimodal bool // SGLang: prompts of text go through text once more
	templates  templates
	memory     value.Memory // of the values below; not changed after New
	special    []variable   // bos_token and its like
	unknown    []string     // special tokens that tokenizer_config.json does not tell
	kwargs     value.Value  // the engine's default kwargs, a Dict
	// What vLLM's Anthropic API finds out by trying.
	mergeSystem    bool   // system messages between turns go to the front
	disabledEffort string // the reasoning effort of disabled thinking
}

// variable is one name that templates see.
type variable struct {
	name string
	val  value.Value
}

// encoder is who makes the prompt of a chat.
type encoder uint8

const (
	encodeTemplate encoder = iota
	encodeHarmony
	encodeDeepSeekV32
	encodeDeepSeekV4
	encodeOther // one that is not built here
)

// New reads a model's files and makes the Renderer of a pool. A template that does
// not compile is no error here: TemplateError tells, and chats are Unknown, while
// completions still work.
func New(files Sources, p Profile) (*Renderer, error) {
	r := &Renderer{profile: p, limits: jinja.Limits{Depth: p.MaxDepth, Steps: p.MaxSteps, Output: p.MaxOutput}}
	if p.Location == nil {
		r.profile.Location = time.UTC
	}
	config, err := r.object("tokenizer_config.json", files.TokenizerConfig)
	if err != nil {
		return nil, err
	}
	model, err := r.object("config.json", files.ModelConfig)
	if err != nil {
		return nil, err
	}
	if r.kwargs, err = r.object("default template kwargs", p.DefaultKwargs); err != nil {
		return nil, err
	}
	r.version = parseVersion(p.Version)
	r.encoder = chooseEncoder(&p, model)
	if p.Engine == EngineSGLang {
		templateless := files.ChatTemplate == nil && absent(config.Get("chat_template")) && len(p.ChatTemplate) == 0
		r.encoder = chooseSGLangEncoder(&p, model, config, templateless)
		r.multimodal = isMultimodal(model)
	}
	r.templates.read(config, files.ChatTemplate, p.ChatTemplate)
	r.readSpecialTokens(config)
	if p.Engine == EngineVLLM {
		r.probe()
	}
	return r, nil
}

// TemplateError says why the chat template that serves most chats cannot be used, or
// that there is none; nil when it can, or when none is needed.
func (r *Renderer) TemplateError() error {
	if r.encoder != encodeTemplate {
		return nil
	}
	t := r.templates.choose(false)
	if t == nil {
		return errors.New("no chat template")
	}
	return t.err
}

// object parses a JSON object into the renderer's own memory; nothing is an empty one.
func (r *Renderer) object(name string, text []byte) (value.Value, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return r.memory.NewDict(0), nil
	}
	v, err := r.memory.Parse(bytes.Clone(text))
	if err != nil {
		return v, fmt.Errorf("cannot read %s: %w", name, err)
	}
	if v.Kind() != value.Dict {
		return v, fmt.Errorf("cannot read %s: it is no JSON object", name)
	}
	return v, nil
}

// chooseEncoder follows vLLM's config/model.py and online_renderer.py.
func chooseEncoder(p *Profile, model value.Value) encoder {
	switch p.TokenizerMode {
	case ModeDeepSeekV32:
		return encodeDeepSeekV32
	case ModeDeepSeekV4:
		return encodeDeepSeekV4
	case ModeMistral, ModeOther:
		return encodeOther
	default:
	}
	if string(model.Get("model_type").Bytes()) == "gpt_oss" {
		return encodeHarmony
	}
	if p.TokenizerMode == ModeHF {
		return encodeTemplate
	}
	for _, name := range model.Get("architectures").Items() {
		switch string(name.Bytes()) {
		case "DeepseekV32ForCausalLM":
			return encodeDeepSeekV32
		case "DeepseekV4ForCausalLM", "DeepseekV4ForConditionalGeneration":
			return encodeDeepSeekV4
		case "DeepseekV41ForCausalLM", "KimiK3ForConditionalGeneration", "MoonshotKimiaForCausalLM",
			"InklingForCausalLM", "InklingForConditionalGeneration":
			return encodeOther
		}
	}
	return encodeTemplate
}

// chooseSGLangEncoder follows SGLang's chat_encoding.py; models that it treats in ways
// of their own count as having an encoder.
func chooseSGLangEncoder(p *Profile, model, config value.Value, templateless bool) encoder {
	switch p.ToolCallParser {
	case "deepseekv32":
		return encodeDeepSeekV32
	case "deepseekv41", "deepseekv4", "kimi_k3", "muse":
		return encodeOther
	}
	switch string(model.Get("model_type").Bytes()) {
	case "minimax_m3_vl", "deepseek_v41":
		return encodeOther
	}
	architectures := model.Get("architectures").Items()
	if len(architectures) == 0 {
		return encodeTemplate
	}
	name := string(architectures[0].Bytes())
	for _, part := range [...]string{"DeepseekV4", "KimiK3", "Inkling", "HunYuan", "HYV"} {
		if strings.Contains(name, part) {
			return encodeOther
		}
	}
	if strings.Contains(name, "DeepseekV3") && templateless {
		return encodeDeepSeekV32
	}
	// Text-only requests to such models are decoded to text and encoded again.
	if isMultimodal(model) && config.Get("clean_up_tokenization_spaces").Truth() {
		return encodeOther
	}
	return encodeTemplate
}

// isMultimodal reports whether a model takes more than text.
func isMultimodal(model value.Value) bool {
	for _, key := range [...]string{"vision_config", "audio_config", "thinker_config", "visual", "vision_tower", "mm_vision_tower", "img_processor"} {
		if model.Has(key) {
			return true
		}
	}
	return false
}

// specialTokens are the names that transformers hands to templates.
func specialTokens() []string {
	return []string{"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}
}

// genericTokenizers have no special tokens but those of tokenizer_config.json.
func genericTokenizers() []string {
	return []string{"", "PreTrainedTokenizerFast", "PreTrainedTokenizer", "TokenizersBackend"}
}

// readSpecialTokens reads the special tokens. One that is missing altogether, not
// null, may have a default in the tokenizer's class.
func (r *Renderer) readSpecialTokens(config value.Value) {
	generic := slices.Contains(genericTokenizers(), string(config.Get("tokenizer_class").Bytes()))
	for _, name := range specialTokens() {
		v := config.Get(name)
		if v.Kind() == value.Dict {
			v = v.Get("content")
		}
		switch {
		case v.Kind() == value.String:
			r.special = append(r.special, variable{name, v})
		case v.Kind() == value.Undefined && !generic:
			r.unknown = append(r.unknown, name)
		}
	}
}

// NewWorker makes the scratch memory of one user.
func (r *Renderer) NewWorker() *Worker {
	w := &Worker{r: r}
	w.env.Limits = r.limits
	w.mem = &w.env.Memory
	return w
}

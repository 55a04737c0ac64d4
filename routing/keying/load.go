package keying

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"penstock/configs"
	"penstock/routing/chattemplate"
	"penstock/routing/keys"
	"penstock/routing/tokenizer"
)

// disk reads from the file system.
type disk struct{}

var _ files = disk{}

func (disk) vocabulary(path string, unicode int) (*vocabulary, error) {
	m, err := Load(path, unicode)
	if err != nil {
		return nil, err
	}
	v := &vocabulary{info: m.Info()}
	encoders := sync.Pool{New: func() any { return m.NewEncoder() }}
	v.ids = func(p *chattemplate.Prompt) ([]uint32, error) {
		e := encoders.Get().(*tokenizer.Encoder)
		defer encoders.Put(e)
		return keys.AppendIDs(nil, e, p)
	}
	v.index = func(o keys.Options) (*index, error) {
		k, err := keys.New(m, o)
		if err != nil {
			return nil, err
		}
		return &index{memo: k.Memo, worker: func(expired func() bool) keyer {
			w := k.NewWorker()
			w.Expired = expired
			return w
		}}, nil
	}
	return v, nil
}

// Load reads and checks the tokenizer at path: a folder, or one file in it.
func Load(path string, unicode int) (*tokenizer.Model, error) {
	files, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read tokenizer: %w", err)
	}
	o := tokenizer.Options{Unicode: tokenizer.Unicode16}
	if unicode == 14 {
		o.Unicode = tokenizer.Unicode14
	}
	m, err := tokenizer.Load(files, o)
	if err != nil {
		return nil, fmt.Errorf("cannot use tokenizer %q: %w", path, err)
	}
	if t, ok := any(m).(interface{ SelfTest() error }); ok {
		if err := t.SelfTest(); err != nil {
			return nil, fmt.Errorf("cannot use tokenizer %q: it fails its own test: %w", path, err)
		}
	}
	return m, nil
}

// open returns the folder of a tokenizer. A file that is named otherwise stands in
// for the tokenizer.json beside it.
func open(path string) (fs.FS, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return os.DirFS(path), nil
	}
	folder, name := filepath.Split(path)
	inner := os.DirFS(filepath.Clean("./" + folder))
	if filepath.IsAbs(path) {
		inner = os.DirFS(folder)
	}
	if strings.HasSuffix(name, ".json") && name != tokenizerFile && name != "tekken.json" {
		return renamed{inner, name}, nil
	}
	return inner, nil
}

const tokenizerFile = "tokenizer.json"

// renamed is a folder in which one file goes by the name tokenizer.json.
type renamed struct {
	inner fs.FS
	name  string
}

// Open implements fs.FS.
func (r renamed) Open(name string) (fs.File, error) {
	if name == tokenizerFile {
		name = r.name
	}
	return r.inner.Open(name)
}

// maxSource bounds each file that prompts are made of; the largest known
// tokenizer_config.json has some hundred KiB.
const maxSource = 16 << 20

// Sources reads the files that prompts are made of, and the template that replaces
// the model's, if there is one. Files that the model does not have are nil.
func Sources(path, template string) (chattemplate.Sources, []byte, error) {
	var out chattemplate.Sources
	var own []byte
	if template != "" {
		var err error
		if own, err = os.ReadFile(template); err != nil {
			return out, nil, fmt.Errorf("cannot read chat template: %w", err)
		}
	}
	if path == "" {
		return out, own, nil
	}
	folder, err := open(path)
	if err != nil {
		return out, nil, fmt.Errorf("cannot read tokenizer: %w", err)
	}
	for name, to := range map[string]*[]byte{
		"tokenizer_config.json": &out.TokenizerConfig, "chat_template.jinja": &out.ChatTemplate,
		"generation_config.json": &out.GenerationConfig, "config.json": &out.ModelConfig,
	} {
		if *to, err = readSmall(folder, name); err != nil {
			return out, nil, err
		}
	}
	return out, own, nil
}

func readSmall(folder fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(folder, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, err)
	}
	if info.Size() > maxSource {
		return nil, fmt.Errorf("cannot read %s: it has %d bytes, at most %d are read", name, info.Size(), maxSource)
	}
	text, err := fs.ReadFile(folder, name)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, err)
	}
	return text, nil
}

func (disk) sources(path, template string) (chattemplate.Sources, []byte, error) {
	return Sources(path, template)
}

func (disk) templates(s chattemplate.Sources, p *chattemplate.Profile) (*templates, error) {
	r, err := chattemplate.New(s, *p)
	if err != nil {
		return nil, fmt.Errorf("cannot use the model's files: %w", err)
	}
	worker := func(expired func() bool) renderer {
		w := r.NewWorker()
		w.Expired = expired
		return bounded{w}
	}
	return &templates{worker: worker, chats: r.TemplateError(), encoder: r.Encoder()}, nil
}

// Profile is how a pool's engines make prompts, by its settings.
func Profile(cfg *configs.Tokenizer, kind configs.Engine, version string, template []byte) *chattemplate.Profile {
	p := &chattemplate.Profile{
		Version: version, DefaultKwargs: []byte(cfg.TemplateKwargs), ChatTemplate: template,
		ToolCallParser: cfg.ToolCallParser, ReasoningParser: cfg.ReasoningParser,
		TrustRequestTemplate: cfg.TrustRequestTemplate, ExcludeToolsWhenNone: cfg.ExcludeToolsWhenNone,
		HarmonySystemInstructions: cfg.HarmonySystemInstructions, HarmonyDate: cfg.HarmonyDate,
		MaxOutput: maxRendered(cfg), MaxSteps: maxSteps,
	}
	if at, err := time.LoadLocation(cfg.Timezone); err == nil { // checked with the configuration
		p.Location = at
	}
	p.Engine = map[configs.Engine]chattemplate.Engine{
		configs.EngineVLLM: chattemplate.EngineVLLM, configs.EngineSGLang: chattemplate.EngineSGLang,
		configs.EngineTRTLLM: chattemplate.EngineTRTLLM,
	}[kind]
	if kind != configs.EngineVLLM && p.Engine == chattemplate.EngineVLLM {
		p.Engine = chattemplate.EngineUnknown
	}
	p.ContentFormat = map[configs.ContentFormat]chattemplate.ContentFormat{
		configs.ContentString: chattemplate.ContentString, configs.ContentParts: chattemplate.ContentParts,
	}[cfg.ContentFormat]
	p.ToolProjection = map[configs.ToolProjection]chattemplate.ToolProjection{
		configs.ToolsVLLM: chattemplate.ToolsVLLM, configs.ToolsSGLang: chattemplate.ToolsSGLang, configs.ToolsAsSent: chattemplate.ToolsNone,
	}[cfg.ToolProjection]
	p.TokenizerMode = map[configs.TokenizerMode]chattemplate.TokenizerMode{
		configs.ModeHF: chattemplate.ModeHF, configs.ModeMistral: chattemplate.ModeMistral,
		configs.ModeDeepSeekV32: chattemplate.ModeDeepSeekV32, configs.ModeDeepSeekV4: chattemplate.ModeDeepSeekV4,
		configs.ModeOther: chattemplate.ModeOther,
	}[cfg.Mode]
	return p
}

// maxSteps bounds a template: the largest ones take some thousand steps a message.
const maxSteps = 5_000_000

// maxRendered lets a prompt be longer than the body that it is made of: templates add
// text of their own, and write tools out.
func maxRendered(cfg *configs.Tokenizer) int { return int(cfg.MaxPrompt) + 2<<20 }

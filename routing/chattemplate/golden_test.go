package chattemplate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// golden is one case of testdata, written by testdata/gen.py.
type golden struct {
	Name     string
	Kind     string
	Template string
	Profile  struct {
		Exclude bool            `json:"exclude_tools"`
		Format  string          `json:"content_format"`
		Trust   bool            `json:"trust"`
		Kwargs  json.RawMessage `json:"kwargs"`
		Model   string          `json:"model"`
		Version string          `json:"version"`
	}
	Body string
	Want goldenPrompt
}

type goldenPrompt struct {
	Error      string
	Text       *string
	IDs        []uint32
	AddSpecial bool `json:"add_special"`
	Prompts    int
}

// lenient are requests that vLLM refuses and that are rendered here: nobody will see
// the prompt.
func lenient() []string {
	return []string{"an output_text part", "an input_text part", "an untyped answer in parts"}
}

// declined are the ends of the names of requests that vLLM takes and that are Unknown
// here, with a reason.
func declined() map[string]Reason {
	return map[string]Reason{
		"prompt [1.0, 2]":              ReasonBadRequest,
		"prompt [-1]":                  ReasonBadRequest,
		`{"truncation": "auto"}`:       ReasonTruncated,
		"deepseek_v4: no messages":     ReasonBadRequest,
		"harmony: a custom call":       ReasonField,
		"harmony: a name with a space": ReasonField,
	}
}

const goldenConfig = `{"bos_token":"<s>","eos_token":{"content":"</s>","lstrip":false},"pad_token":null}`

func readGoldens(t *testing.T, name string) []golden {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []golden
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Fatalf("no cases in %s", name)
	}
	return cases
}

func goldenRenderer(t *testing.T, g *golden) *Renderer {
	t.Helper()
	var template []byte
	if g.Template != "" {
		template = readTemplate(t, g.Template)
	}
	formats := map[string]ContentFormat{"string": ContentString, "openai": ContentParts}
	modes := map[string]TokenizerMode{"deepseek_v32": ModeDeepSeekV32, "deepseek_v4": ModeDeepSeekV4}
	var file []byte
	if g.Profile.Model != "" {
		file = readTemplate(t, "chatml")
	}
	model := `{"model_type":"` + g.Profile.Model + `"}`
	r, err := New(Sources{TokenizerConfig: []byte(goldenConfig), ChatTemplate: file, ModelConfig: []byte(model)}, Profile{
		TokenizerMode:        modes[g.Profile.Model],
		ChatTemplate:         template,
		ExcludeToolsWhenNone: g.Profile.Exclude,
		ContentFormat:        formats[g.Profile.Format],
		TrustRequestTemplate: g.Profile.Trust,
		DefaultKwargs:        g.Profile.Kwargs,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func readTemplate(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "templates", name+".jinja"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func goldenKind(kind string) Kind {
	return map[string]Kind{"chat": KindChat, "completion": KindCompletions, "responses": KindResponses, "messages": KindMessages}[kind]
}

func TestPromptsAreThoseOfVLLM(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"messages", "tools", "fields", "continue", "completions", "deepseek_v32", "deepseek_v4", "harmony", "responses", "anthropic"} {
		for _, g := range readGoldens(t, file) {
			t.Run(file+"/"+g.Name, func(t *testing.T) {
				t.Parallel()
				w := goldenRenderer(t, &g).NewWorker()
				q := Request{Kind: goldenKind(g.Kind), Body: []byte(g.Body), Now: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)}
				checkGolden(t, &g, w.Render(&q))
				checkGolden(t, &g, w.Render(&q)) // with used memory
			})
		}
	}
}

func checkGolden(t *testing.T, g *golden, p *Prompt) {
	t.Helper()
	for suffix, reason := range declined() {
		if !strings.HasSuffix(g.Name, suffix) {
			continue
		}
		if p.Status != Unknown || p.Reason != reason {
			t.Errorf("got %v %q, want unknown %q", p.Status, p.Reason, reason)
		}
		return
	}
	if g.Want.Error != "" {
		if p.Status != Unknown && !slices.ContainsFunc(lenient(), func(s string) bool { return strings.HasSuffix(g.Name, s) }) {
			t.Errorf("got %v %q, but vLLM refuses: %s", p.Status, p.Parts[0].Text, g.Want.Error)
		}
		return
	}
	if p.Status != Exact {
		t.Fatalf("got %v %q, want exact %v", p.Status, p.Reason, g.Want.Text)
	}
	text, ids := joinParts(p)
	if len(ids) > 0 || g.Want.Text == nil {
		if !slices.Equal(ids, g.Want.IDs) {
			t.Errorf("got ids %v, want %v", ids, g.Want.IDs)
		}
	} else if text != *g.Want.Text || p.Parts[0].AddSpecial != g.Want.AddSpecial {
		t.Errorf("got  %q, special %t\nwant %q, special %t", text, p.Parts[0].AddSpecial, *g.Want.Text, g.Want.AddSpecial)
	}
	if g.Want.Prompts != 0 && p.Prompts != g.Want.Prompts {
		t.Errorf("got %d prompts, want %d", p.Prompts, g.Want.Prompts)
	}
}

func joinParts(p *Prompt) (text string, ids []uint32) {
	for _, part := range p.Parts {
		text += string(part.Text)
		ids = append(ids, part.IDs...)
	}
	return text, ids
}

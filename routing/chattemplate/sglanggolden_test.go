package chattemplate

import (
	"strings"
	"testing"
	"time"
)

// TestPromptsAreThoseOfSGLangsCode compares with what SGLang's own models and functions
// make, of two versions.
func TestPromptsAreThoseOfSGLangsCode(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"sglang_0_5_22", "sglang_0_5_23"} {
		for _, g := range readGoldens(t, file) {
			t.Run(file+"/"+g.Name, func(t *testing.T) {
				t.Parallel()
				checkSGLang(t, &g)
			})
		}
	}
}

func checkSGLang(t *testing.T, g *golden) {
	t.Helper()
	files, profile := Sources{TokenizerConfig: []byte(goldenConfig)}, Profile{Engine: EngineSGLang, Version: g.Profile.Version}
	if g.Profile.Model == "" {
		files.ChatTemplate = readTemplate(t, g.Template)
	} else {
		files.ModelConfig = []byte(`{"architectures":["DeepseekV32ForCausalLM"]}`)
	}
	r, err := New(files, profile)
	if err != nil {
		t.Fatal(err)
	}
	p := r.NewWorker().Render(&Request{Kind: KindChat, Body: []byte(g.Body), Now: time.Unix(0, 0)})
	text, _ := joinParts(p)
	switch {
	case g.Want.Error != "":
		if p.Status == Exact {
			t.Errorf("got %q, but SGLang refuses: %s", text, g.Want.Error)
		}
	case declinedForSGLang(g.Name):
		if p.Status != Unknown {
			t.Errorf("got %v %q, want unknown", p.Status, text)
		}
	case p.Status != Exact || text != *g.Want.Text || p.Parts[0].AddSpecial != g.Want.AddSpecial:
		t.Errorf("got  %v %q %q\nwant %q", p.Status, p.Reason, text, *g.Want.Text)
	}
}

// declinedForSGLang tells the requests that SGLang takes and that are Unknown here. An
// empty conversation it takes only without its server, which refuses it.
func declinedForSGLang(name string) bool {
	for _, end := range []string{"a developer with tools", "a tool reference", "a tool's reference", "a thinking part", "arguments with a large int", "no messages"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

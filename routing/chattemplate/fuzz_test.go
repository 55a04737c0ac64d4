package chattemplate

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzRender renders hostile bodies through every engine, API and encoder: it must end,
// give the same prompt twice, and say why when there is none.
func FuzzRender(f *testing.F) {
	files, _ := filepath.Glob(filepath.Join("testdata", "*.json"))
	if len(files) == 0 {
		f.Fatal("no goldens")
	}
	seed := func(name string) {
		t := &testing.T{}
		for i, g := range readGoldens(t, name) {
			if i%7 == 0 {
				f.Add(byte(goldenKind(g.Kind)), byte(i), []byte(g.Body))
			}
		}
	}
	for _, file := range files {
		name := filepath.Base(file)
		seed(name[:len(name)-len(".json")])
	}
	f.Add(byte(KindGenerate), byte(0), []byte(`{"text":["a"]}`))
	f.Add(byte(KindTokens), byte(0), []byte(`{"token_ids":[1]}`))
	f.Add(byte(KindChat), byte(2), []byte(`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}},{"type":"text","text":"a"}]}]}`))
	workers := fuzzWorkers(f)
	f.Fuzz(func(t *testing.T, kind, which byte, body []byte) {
		if !utf8.Valid(body) || len(body) > 1<<16 {
			return
		}
		w := workers[int(which)%len(workers)]
		q := Request{Kind: Kind(kind % 8), Body: body, Now: time.Unix(1e9, 0)}
		first, ids, status := snapshot(w.Render(&q))
		again, moreIDs, same := snapshot(w.Render(&q))
		if first != again || !slices.Equal(ids, moreIDs) || status != same {
			t.Fatalf("two renderings differ: %q and %q", first, again)
		}
	})
}

// snapshot checks what holds of every prompt and copies it.
func snapshot(p *Prompt) (text string, ids []uint32, s Status) {
	text, ids = joinParts(p)
	known := p.Reason == "" || slices.Contains(Reasons(), p.Reason)
	if !known || (p.Status == Exact) != (p.Reason == "") || (p.Status == Unknown) != (p.Parts == nil) && p.Status != Exact {
		panic("BUG: a prompt without a reason, or with a strange one: " + string(p.Reason))
	}
	return text + "\x00" + string(p.Salt) + p.Adapter + string(p.Reason), ids, p.Status
}

func fuzzWorkers(f *testing.F) []*Worker {
	limits := Profile{MaxSteps: 200_000, MaxOutput: 1 << 20}
	var workers []*Worker
	add := func(template, model string, p Profile) {
		p.MaxSteps, p.MaxOutput = limits.MaxSteps, limits.MaxOutput
		var source []byte
		if template != "" {
			var err error
			if source, err = os.ReadFile(filepath.Join("testdata", "templates", template+".jinja")); err != nil {
				f.Fatal(err)
			}
		}
		r, err := New(Sources{TokenizerConfig: []byte(goldenConfig), ChatTemplate: source, ModelConfig: []byte(model)}, p)
		if err != nil {
			f.Fatal(err)
		}
		workers = append(workers, r.NewWorker())
	}
	for _, template := range []string{"", "dump", "parts", "chatml", "developer", "ordered"} {
		add(template, "", Profile{})
		add(template, "", Profile{Engine: EngineSGLang})
	}
	add("chatml", `{"model_type":"gpt_oss"}`, Profile{})
	add("", `{"architectures":["DeepseekV32ForCausalLM"]}`, Profile{})
	add("", `{"architectures":["DeepseekV4ForCausalLM"]}`, Profile{})
	add("dump", "", Profile{Engine: EngineTRTLLM})
	add("dump", "", Profile{ToolProjection: ToolsNone, ContentFormat: ContentParts, TrustRequestTemplate: true})
	return workers
}

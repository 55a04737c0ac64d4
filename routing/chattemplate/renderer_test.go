package chattemplate

import (
	"slices"
	"testing"
	"time"
)

func mustNew(t *testing.T, files Sources, p Profile) *Renderer {
	t.Helper()
	r, err := New(files, p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func renderText(r *Renderer, kind Kind, body string, now time.Time) (string, *Prompt) {
	p := r.NewWorker().Render(&Request{Kind: kind, Body: []byte(body), Now: now})
	text, _ := joinParts(p)
	return text, p
}

const hello = `{"messages":[{"role":"user","content":"Hi"}]}`

func TestNewRefusesBrokenFiles(t *testing.T) {
	t.Parallel()
	f := func(files Sources, p Profile) {
		t.Helper()
		if _, err := New(files, p); err == nil {
			t.Errorf("%q %q %q are taken", files.TokenizerConfig, files.ModelConfig, p.DefaultKwargs)
		}
	}
	f(Sources{TokenizerConfig: []byte("{")}, Profile{})
	f(Sources{TokenizerConfig: []byte("[]")}, Profile{})
	f(Sources{ModelConfig: []byte("x")}, Profile{})
	f(Sources{}, Profile{DefaultKwargs: []byte(`"x"`)})
}

func TestATemplateThatDoesNotCompileLeavesCompletions(t *testing.T) {
	t.Parallel()
	r := mustNew(t, Sources{ChatTemplate: []byte("{% if %}")}, Profile{})
	if r.TemplateError() == nil {
		t.Error("the template compiles")
	}
	if _, p := renderText(r, KindChat, hello, time.Time{}); p.Reason != ReasonTemplate {
		t.Errorf("got %v %q", p.Status, p.Reason)
	}
	if text, p := renderText(r, KindCompletions, `{"prompt":"a"}`, time.Time{}); p.Status != Exact || text != "a" {
		t.Errorf("got %v %q", p.Status, text)
	}
	if r := mustNew(t, Sources{}, Profile{}); r.TemplateError() == nil {
		t.Error("no template is no error")
	}
}

func TestTemplatesAreChosenByName(t *testing.T) {
	t.Parallel()
	const named = `{"chat_template":[{"name":"default","template":"D"},{"name":"tool_use","template":"T"},{"name":"rag","template":"R"}]}`
	const tools = `{"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"f"}}]}`
	f := func(files Sources, p Profile, body, want string) {
		t.Helper()
		if got, _ := renderText(mustNew(t, files, p), KindChat, body, time.Time{}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(Sources{TokenizerConfig: []byte(named)}, Profile{}, hello, "D")
	f(Sources{TokenizerConfig: []byte(named)}, Profile{}, tools, "T")
	f(Sources{TokenizerConfig: []byte(named)}, Profile{ChatTemplate: []byte("rag")}, tools, "R")
	f(Sources{TokenizerConfig: []byte(named)}, Profile{ChatTemplate: []byte("own")}, tools, "own")
	f(Sources{TokenizerConfig: []byte(named), ChatTemplate: []byte("file")}, Profile{}, tools, "file")
	f(Sources{TokenizerConfig: []byte(`{"chat_template":"one"}`)}, Profile{}, tools, "one")
	f(Sources{TokenizerConfig: []byte(`{"chat_template":[{"name":"rag","template":"R"}]}`)}, Profile{}, hello, "")
}

func TestDatesAreThoseOfTheEnginesZone(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 1, 23, 30, 0, 0, time.UTC)
	east := time.FixedZone("east", 3600)
	template := Sources{ChatTemplate: []byte(`{{ strftime_now('%Y-%m-%d') }}`)}
	if got, _ := renderText(mustNew(t, template, Profile{}), KindChat, hello, now); got != "2026-12-01" {
		t.Errorf("got %q in UTC", got)
	}
	if got, _ := renderText(mustNew(t, template, Profile{Location: east}), KindChat, hello, now); got != "2026-12-02" {
		t.Errorf("got %q in the east", got)
	}
}

func TestSpecialTokensThatOnlyTheClassKnowsAreNotGuessed(t *testing.T) {
	t.Parallel()
	f := func(config string, want Reason) {
		t.Helper()
		r := mustNew(t, Sources{ChatTemplate: []byte(`{{ bos_token }}x`), TokenizerConfig: []byte(config)}, Profile{})
		if _, p := renderText(r, KindChat, hello, time.Time{}); p.Reason != want {
			t.Errorf("%s: got %v %q, want %q", config, p.Status, p.Reason, want)
		}
	}
	f(`{"tokenizer_class":"LlamaTokenizerFast"}`, ReasonSpecialTokens)
	f(`{"tokenizer_class":"LlamaTokenizerFast","bos_token":null}`, "")
	f(`{"tokenizer_class":"LlamaTokenizerFast","bos_token":"<s>"}`, "")
	f(`{"tokenizer_class":"PreTrainedTokenizerFast"}`, "")
	f(`{}`, "")
}

func TestUnknownPromptsSayWhy(t *testing.T) {
	t.Parallel()
	r := mustNew(t, Sources{ChatTemplate: []byte(`{{ messages[0].content }}{% if stop %}{{ raise_exception('x') }}{% endif %}`)}, Profile{TrustRequestTemplate: true})
	f := func(kind Kind, body string, want Reason) {
		t.Helper()
		if _, p := renderText(r, kind, body, time.Time{}); p.Reason != want || p.Status != Unknown || !slices.Contains(Reasons(), want) {
			t.Errorf("%s: got %v %q, want %q", body, p.Status, p.Reason, want)
		}
	}
	f(KindChat, `{`, ReasonBadJSON)
	f(KindChat, `[]`, ReasonBadRequest)
	f(KindNone, hello, ReasonKind)
	f(KindGenerate, `{"text":"a"}`, ReasonKind)
	f(KindChat, `{"messages":[{"role":"user","content":"\ud800"}]}`, ReasonLoneSurrogate)
	f(KindChat, `{"messages":[{"role":"user","content":"a"}],"truncate_prompt_tokens":5}`, ReasonTruncated)
	f(KindChat, `{"messages":[{"role":"user","content":"a"}],"chat_template":"x"}`, ReasonRequestTemplate)
	f(KindChat, `{"messages":[{"role":"user","content":"a"}],"chat_template_kwargs":{"stop":true}}`, ReasonTemplateError)
	f(KindChat, `{"messages":[{"role":"user","content":"a"}],"chat_template_kwargs":{"padding":true}}`, ReasonField)
	f(KindResponses, `{"input":"a","previous_response_id":"resp_1"}`, ReasonStoredState)
	f(KindCompletions, `{"prompt":null,"prompt_embeds":"x"}`, ReasonMultimodal)
	f(KindTokens, `{"token_ids":[1],"features":{}}`, ReasonMultimodal)
	f(KindTokens, `{"token_ids":"x"}`, ReasonBadRequest)
	small := mustNew(t, Sources{ChatTemplate: []byte(`{% for i in range(1000) %}x{% endfor %}`)}, Profile{MaxOutput: 100})
	if _, p := renderText(small, KindChat, hello, time.Time{}); p.Reason != ReasonLimit {
		t.Errorf("got %v %q, want a limit", p.Status, p.Reason)
	}
	kimi := mustNew(t, Sources{ModelConfig: []byte(`{"architectures":["KimiK3ForConditionalGeneration"]}`)}, Profile{})
	if _, p := renderText(kimi, KindChat, hello, time.Time{}); p.Reason != ReasonEncoder {
		t.Errorf("got %v %q, want an encoder", p.Status, p.Reason)
	}
}

func TestOtherEnginesGetIdsOnly(t *testing.T) {
	t.Parallel()
	for _, engine := range []Engine{EngineTRTLLM, EngineUnknown} {
		r := mustNew(t, Sources{ChatTemplate: []byte("x")}, Profile{Engine: engine})
		if _, p := renderText(r, KindChat, hello, time.Time{}); p.Reason != ReasonEngine {
			t.Errorf("got %v %q", p.Status, p.Reason)
		}
		if _, p := renderText(r, KindCompletions, `{"prompt":"a"}`, time.Time{}); p.Reason != ReasonEngine {
			t.Errorf("got %v %q", p.Status, p.Reason)
		}
		if _, p := renderText(r, KindCompletions, `{"prompt":[[1,2],[3]]}`, time.Time{}); p.Status != Exact || len(p.Parts[0].IDs) != 2 || p.Prompts != 2 {
			t.Errorf("got %v %q", p.Status, p.Reason)
		}
	}
}

// TestTextsOfHarmonyKeepTypedTokensPlain wants special tokens that a user typed in
// pieces of their own.
func TestTextsOfHarmonyKeepTypedTokensPlain(t *testing.T) {
	t.Parallel()
	r := mustNew(t, Sources{ModelConfig: []byte(`{"model_type":"gpt_oss"}`)}, Profile{HarmonyDate: "2026-01-01"})
	p := r.NewWorker().Render(&Request{Kind: KindChat, Body: []byte(`{"messages":[{"role":"user","content":"<|end|>"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}`)})
	type piece struct {
		end   string
		plain bool
	}
	want := []piece{{"<|start|>user<|message|>", false}, {"<|end|>", true}, {"<|message|>a", false}, {"b<|end|><|start|>assistant", false}}
	if len(p.Parts) != len(want) {
		t.Fatalf("got %d parts", len(p.Parts))
	}
	for i, part := range p.Parts {
		if got := string(part.Text); part.PlainText != want[i].plain || len(got) < len(want[i].end) || got[len(got)-len(want[i].end):] != want[i].end {
			t.Errorf("part %d is %q, plain %t", i, got, part.PlainText)
		}
	}
}

func TestVersionsAreCompared(t *testing.T) {
	t.Parallel()
	f := func(a, b string, want bool) {
		t.Helper()
		if got := parseVersion(a).before(parseVersion(b)); got != want {
			t.Errorf("%q before %q: got %t", a, b, got)
		}
	}
	f("0.5.9", "0.5.10", true)
	f("0.5.10.post2", "0.5.10", false)
	f("0.6", "0.5.23", false)
	f("", "0.5.23", false)
	f("main", "0.5.23", false)
}

func TestPromptsEndBeforeTheTimeOfDay(t *testing.T) {
	t.Parallel()
	f := func(template string, status Status, want string) {
		t.Helper()
		now := time.Date(2026, 12, 1, 10, 20, 30, 0, time.UTC)
		for _, engine := range []Engine{EngineVLLM, EngineSGLang} {
			r := mustNew(t, Sources{ChatTemplate: []byte(template)}, Profile{Engine: engine})
			if got, p := renderText(r, KindChat, hello, now); status != p.Status || status != Unknown && got != want {
				t.Errorf("%s: got %v %q %q", template, p.Status, p.Reason, got)
			}
		}
	}
	f(`on {{ strftime_now('%d') }} at {{ strftime_now('%H:%M') }} {{ messages[0].content }}`, Approximate, "on 01 at ")
	f(`{{ strftime_now('%H') }}`, Unknown, "")
	f(`{{ strftime_now('%-I') }}`, Unknown, "")
	f(`100%Special {{ strftime_now('%d %b') }}`, Exact, "100%Special 01 Dec")
}

package enginesim

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

func TestFieldsMatchSGLangsOwnClasses(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/sglang-0.5.23.json")
	if err != nil {
		t.Fatal(err)
	}
	var fixtures map[string]any
	if err := json.Unmarshal(data, &fixtures); err != nil {
		t.Fatal(err)
	}
	cfg := instant(SGLang)
	cfg.CacheReport = true
	cfg.Engine.MaxModelLen = 256
	s := start(t, cfg)
	stream := s.post("/v1/chat/completions", chatStream).events()
	completion := `{"model":"m","prompt":"x","max_tokens":2}`
	ours := map[string]string{
		"chat":             s.post("/v1/chat/completions", chat).body,
		"chat_role":        stream[0],
		"chat_delta":       stream[1],
		"chat_finish":      stream[len(stream)-3],
		"chat_usage":       stream[len(stream)-2],
		"completion":       s.post("/v1/completions", completion).body,
		"completion_delta": s.post("/v1/completions", completion[:len(completion)-1]+`,"stream":true}`).events()[0],
		"error":            s.post("/v1/completions", `{"model":"m","prompt":""}`).body,
		"models":           s.ask("GET", "/v1/models", "").body,
		"tokenize":         s.post("/tokenize", `{"prompt":"x"}`).body,
		"detokenize":       s.post("/detokenize", `{"tokens":[300]}`).body,
		"embeddings":       s.post("/v1/embeddings", `{"model":"m","input":"x"}`).body,
		"score":            s.post("/v1/score", `{"model":"m","query":"x","items":["y"]}`).body,
		"rerank":           s.post("/v1/rerank", `{"model":"m","query":"x","documents":["y"]}`).body,
	}
	for name, theirs := range fixtures {
		var got any
		if err := json.Unmarshal([]byte(ours[name]), &got); err != nil {
			t.Errorf("%s: %v in %q", name, err, ours[name])
			continue
		}
		have, want := map[string]bool{}, map[string]bool{}
		paths(got, "", have)
		paths(theirs, "", want)
		if !slices.Equal(sorted(have), sorted(want)) {
			t.Errorf("%s: fields %v, want %v", name, sorted(have), sorted(want))
		}
	}
}

package enginesim

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var (
	volatile = regexp.MustCompile(`"(created|created_at)":\d+`)
	randomID = regexp.MustCompile(`[0-9a-f]{32}`)
)

// shape removes what differs from run to run.
func shape(body string) string {
	body = volatile.ReplaceAllString(body, `"$1":0`)
	seen := map[string]string{}
	return randomID.ReplaceAllStringFunc(body, func(id string) string {
		if seen[id] == "" {
			seen[id] = fmt.Sprintf("ID%d", len(seen)+1)
		}
		return seen[id]
	})
}

type goldenCase struct{ name, method, path, body string }

var commonCases = []goldenCase{
	{"chat", "POST", "/v1/chat/completions", chat},
	{"chat_stream_usage", "POST", "/v1/chat/completions", chatStream},
	{"chat_stream_ends_itself", "POST", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"end"}]}],"stream":true}`},
	{"completion", "POST", "/v1/completions", `{"model":"m","prompt":"Down the","max_tokens":3}`},
	{"completion_stream", "POST", "/v1/completions", `{"model":"m","prompt":[1,2,3],"max_tokens":2,"stream":true}`},
	{"completion_two_prompts", "POST", "/v1/completions", `{"model":"m","prompt":["a","b"],"max_tokens":1}`},
	{"chat_stop_string", "POST", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"Where does the water go?"}],"max_tokens":20,"ignore_eos":true,"stop":["o"]}`},
	{"responses", "POST", "/v1/responses", `{"model":"m","input":"Where?","max_output_tokens":3}`},
	{"responses_stream", "POST", "/v1/responses", `{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"Where?"}]}],"max_output_tokens":2,"stream":true}`},
	{"models", "GET", "/v1/models", ""},
	{"bad_json", "POST", "/v1/chat/completions", `{"model":`},
	{"bad_type", "POST", "/v1/chat/completions", `{"model":"m","messages":[],"max_tokens":"many"}`},
	{"missing_messages", "POST", "/v1/chat/completions", `{"model":"m"}`},
	{"too_long", "POST", "/v1/completions", `{"model":"m","prompt":"` + strings.Repeat("word ", 300) + `"}`},
	{"unknown_path", "GET", "/nowhere", ""},
	{"wrong_method", "GET", "/v1/chat/completions", ""},
}

var openCases = []goldenCase{
	{"messages", "POST", "/v1/messages", `{"model":"m","max_tokens":3,"system":"Be brief.","messages":[{"role":"user","content":"Where?"}]}`},
	{"messages_stream", "POST", "/v1/messages", `{"model":"m","max_tokens":2,"messages":[{"role":"user","content":"Where?"}],"stream":true}`},
	{"messages_error", "POST", "/v1/messages", `{"model":"m","messages":1}`},
	{"count_tokens", "POST", "/v1/messages/count_tokens", `{"model":"m","messages":[{"role":"user","content":"Where?"}]}`},
	{"embeddings", "POST", "/v1/embeddings", `{"model":"m","input":["a","b c"],"dimensions":3}`},
	{"rerank", "POST", "/v1/rerank", `{"model":"m","query":"q","documents":["a","b","c"],"top_n":2}`},
	{"score", "POST", "/v1/score", `{"model":"m","text_1":"q","text_2":["a","b"]}`},
	{"classify", "POST", "/classify", `{"model":"m","input":"a"}`},
	{"tokenize", "POST", "/tokenize", `{"model":"m","prompt":"the water flows"}`},
	{"detokenize", "POST", "/detokenize", `{"tokens":[300,301]}`},
}

var dialectCases = map[Dialect][]goldenCase{
	VLLM: append(slices.Clip(openCases),
		goldenCase{"unknown_model", "POST", "/v1/chat/completions", `{"model":"x","messages":[]}`},
		goldenCase{"token_ids", "POST", "/inference/v1/generate", `{"token_ids":[1,2,3],"sampling_params":{"max_tokens":2}}`},
		goldenCase{"token_ids_stream", "POST", "/inference/v1/generate", `{"token_ids":[1,2,3],"sampling_params":{"max_tokens":2},"stream":true,"stream_options":{"include_usage":true}}`},
		goldenCase{"chat_return_token_ids", "POST", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":2,"stream":true,"return_token_ids":true}`},
		goldenCase{"chat_continuous_usage", "POST", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":2,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`},
		goldenCase{"stream_options_alone", "POST", "/v1/chat/completions", `{"model":"m","messages":[],"stream_options":{}}`},
		goldenCase{"render_chat", "POST", "/v1/chat/completions/render", chat},
		goldenCase{"render_completion", "POST", "/v1/completions/render", `{"model":"m","prompt":["a","b"],"max_tokens":2}`},
		goldenCase{"priority_under_fcfs", "POST", "/v1/chat/completions", `{"model":"m","messages":[],"priority":1}`},
		goldenCase{"pooling", "POST", "/pooling", `{"model":"m","input":"a"}`},
		goldenCase{"version", "GET", "/version", ""},
		goldenCase{"health", "GET", "/health", ""},
		goldenCase{"load", "GET", "/load", ""},
		goldenCase{"no_response", "GET", "/v1/responses/resp_none", ""},
	),
	SGLang: append(slices.Clip(openCases),
		goldenCase{"any_model", "POST", "/v1/chat/completions", `{"model":"x","messages":[{"role":"user","content":"hi"}],"max_tokens":1}`},
		goldenCase{"generate", "POST", "/generate", `{"text":"Down the","sampling_params":{"max_new_tokens":2}}`},
		goldenCase{"generate_stream", "POST", "/generate", `{"input_ids":[1,2,3],"sampling_params":{"max_new_tokens":2},"stream":true}`},
		goldenCase{"generate_error", "POST", "/generate", `{}`},
		goldenCase{"server_info", "GET", "/server_info", ""},
		goldenCase{"model_info", "GET", "/model_info", ""},
		goldenCase{"health", "GET", "/health", ""},
		goldenCase{"no_response", "GET", "/v1/responses/resp_none", ""},
	),
	TRTLLM: {
		{"unknown_field", "POST", "/v1/chat/completions", `{"model":"m","messages":[],"kv_transfer_params":{}}`},
		{"stream_options_alone", "POST", "/v1/chat/completions", `{"model":"m","messages":[],"stream_options":{}}`},
		{"version", "GET", "/version", ""},
		{"server_info", "GET", "/server_info", ""},
		{"health", "GET", "/health", ""},
	},
}

// TestWireShapes compares every answer with its golden file.
func TestWireShapes(t *testing.T) {
	t.Parallel()
	for d, own := range dialectCases {
		for _, c := range append(slices.Clip(commonCases), own...) {
			t.Run(string(d)+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				cfg := instant(d)
				cfg.Engine.MaxModelLen, cfg.Engine.Blocks = 256, 64
				cfg.Adapters = []string{"lora-a"}
				cfg.CacheReport = true
				r := start(t, cfg).ask(c.method, c.path, c.body)
				if r.err != nil {
					t.Fatal(r.err)
				}
				got := fmt.Sprintf("%d %s\n%s", r.status, r.header.Get("Content-Type"), shape(r.body))
				compareGolden(t, filepath.Join("testdata", "golden", string(d), c.name+".txt"), got)
				if strings.HasPrefix(r.header.Get("Content-Type"), "application/json") && !json.Valid([]byte(r.body)) {
					t.Error("the body is not JSON")
				}
				for _, e := range r.events() {
					if e != "[DONE]" && !json.Valid([]byte(e)) {
						t.Errorf("event is not JSON: %s", e)
					}
				}
			})
		}
	}
}

func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, []byte(got)) {
		t.Errorf("differs from %s\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

// paths lists the keys of a JSON value as dotted paths; list items share "[]".
func paths(v any, at string, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, sub := range v {
			into[at+"."+k] = true
			paths(sub, at+"."+k, into)
		}
	case []any:
		for _, sub := range v {
			paths(sub, at+"[]", into)
		}
	}
}

func sorted(m map[string]bool) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

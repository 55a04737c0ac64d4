package sse

import (
	"encoding/json"
	"testing"
)

func TestUsageIsReadFromWholeAnswers(t *testing.T) {
	t.Parallel()
	f := func(api API, body string, want Usage, ok bool) {
		t.Helper()
		if got, found := UsageFromBody(api, []byte(body)); got != want || found != ok {
			t.Errorf("%s %s = %+v, %v", api, body, got, found)
		}
	}
	f(APIChat, `{"choices":[{"message":{"content":"\"usage\":{\"prompt_tokens\":9}","usage":{"prompt_tokens":8}}}],"usage":{"prompt_tokens":5,"total_tokens":7,"completion_tokens":2,"prompt_tokens_details":null}}`, Usage{5, 2, 0, true, false}, true)
	f(APIChat, `{"usage":{"prompt_tokens":5,"completion_tokens":2,"prompt_tokens_details":{"audio":1,"cached_tokens":0}}}`, Usage{5, 2, 0, true, true}, true)
	f(APIResponses, `{"output":[],"usage":{"input_tokens":5,"output_tokens":2,"input_tokens_details":{"cached_tokens":3}}}`, Usage{5, 2, 3, true, true}, true)
	f(APIMessages, `{"usage":{"input_tokens":5,"output_tokens":2,"cache_read_input_tokens":10,"cache_creation_input_tokens":1}}`, Usage{16, 2, 10, true, true}, true)
	f(APIGenerate, `{"text":"x","meta_info":{"prompt_tokens":5,"completion_tokens":2,"cached_tokens":4,"finish_reason":{"type":"stop"}}}`, Usage{5, 2, 4, true, true}, true)
	f(APIGenerate, ` [{"meta_info":{"prompt_tokens":5,"completion_tokens":2}}, {"meta_info":{"prompt_tokens":6,"completion_tokens":1}}]`, Usage{11, 3, 0, true, false}, true)
	f(APIChat, `{"usage":null}`, Usage{}, false)
	f(APIChat, `{"usage":{"prompt_tokens":-1,"completion_tokens":1.5}}`, Usage{}, false)
	f(APIChat, `{"usage":{"prompt_tokens":5},"choices":[`, Usage{5, 0, 0, true, false}, false)
	f(APIChat, `[]`, Usage{}, false)
	f(APIChat, ``, Usage{}, false)
}

// FuzzUsageFromBody: on valid JSON without escapes or repeats it agrees with
// encoding/json; on anything it ends.
func FuzzUsageFromBody(f *testing.F) {
	f.Add([]byte(`{"a":{"usage":{"prompt_tokens":1}},"usage":{"prompt_tokens":5,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":1}}}`))
	f.Add([]byte(`{"a":"\\\"usage","usage":{"prompt_tokens":"5"},"b":[[{}]]}`))
	f.Add([]byte(`{"usage":{"prompt_tokens":1},"usage":{"completion_tokens":2}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, ok := UsageFromBody(APIChat, body)
		if !json.Valid(body) || repeatsOrEscapes(body) {
			return
		}
		var doc map[string]json.RawMessage
		_ = json.Unmarshal(body, &doc)
		var use, details map[string]json.RawMessage
		_ = json.Unmarshal(doc["usage"], &use)
		_ = json.Unmarshal(use["prompt_tokens_details"], &details)
		number := func(m map[string]json.RawMessage, key string) (int64, bool) {
			var n int64
			raw := m[key]
			if len(raw) > 18 || len(raw) == 0 || raw[0] == '-' || json.Unmarshal(raw, &n) != nil || string(raw) == "null" {
				return 0, false
			}
			return n, true
		}
		var want Usage
		var a, b bool
		want.Prompt, a = number(use, "prompt_tokens")
		want.Completion, b = number(use, "completion_tokens")
		want.Cached, want.CachedKnown = number(details, "cached_tokens")
		want.Known = a || b
		if got != want || ok != want.Known {
			t.Fatalf("%s\n got %+v %v\nwant %+v", body, got, ok, want)
		}
	})
}

// repeatsOrEscapes reports documents in which names are not plain: an escape, a
// repeated name, or one of the other APIs' names that UsageFromBody also reads.
func repeatsOrEscapes(body []byte) bool {
	seen := map[string]int{}
	w := walker{b: body}
	for w.i < len(w.b) && !w.bad {
		if w.peek() != '"' {
			w.i++
			continue
		}
		s := string(w.text())
		seen[s]++
	}
	for s, n := range seen {
		switch s {
		case "usage", "prompt_tokens", "completion_tokens", "prompt_tokens_details", "cached_tokens":
			if n > 1 {
				return true
			}
		case "meta_info", "input_tokens", "output_tokens", "input_tokens_details", "cache_read_input_tokens", "cache_creation_input_tokens":
			return true
		}
		for i := range s {
			if s[i] == '\\' {
				return true
			}
		}
	}
	// cached_tokens directly in usage is SGLang's spelling.
	return seen["cached_tokens"] > 0 && seen["prompt_tokens_details"] == 0
}

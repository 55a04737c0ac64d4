package chattemplate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// longChat is a body of 200 messages and about 400 KB.
func longChat(tb testing.TB, calls bool) []byte {
	tb.Helper()
	text := strings.Repeat("The quick brown fox jumps over the lazy dog, again and again.\n", 32)
	messages := []any{map[string]any{"role": "system", "content": "You are helpful."}}
	for i := len(messages); i < 200; i++ {
		content := fmt.Sprintf("%d %s", i, text)
		switch {
		case calls && i%4 == 2:
			messages = append(messages, map[string]any{"role": "assistant", "content": content, "tool_calls": []any{
				map[string]any{"id": fmt.Sprint("call_", i), "type": "function", "function": map[string]any{"name": "f", "arguments": `{"path": "a/b.go", "line": 12}`}},
			}})
		case calls && i%4 == 3:
			messages = append(messages, map[string]any{"role": "tool", "tool_call_id": fmt.Sprint("call_", i-1), "content": content})
		case i%2 == 1:
			messages = append(messages, json.RawMessage(fmt.Sprintf(`{"role":"user","content":%s}`, quote(content))))
		default:
			messages = append(messages, json.RawMessage(fmt.Sprintf(`{"role":"assistant","content":%s}`, quote(content))))
		}
	}
	body, err := json.Marshal(map[string]any{"model": "m", "messages": messages})
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func benchmarkWorker(tb testing.TB, model string, p Profile) *Worker {
	tb.Helper()
	r, err := New(Sources{TokenizerConfig: []byte(goldenConfig), ChatTemplate: readTemplate(tb, "chatml"), ModelConfig: []byte(model)}, p)
	if err != nil {
		tb.Fatal(err)
	}
	return r.NewWorker()
}

// BenchmarkRender renders chats of 200 messages and 400 KB, JSON and all.
func BenchmarkRender(b *testing.B) {
	f := func(name, model string, p Profile, calls bool) {
		b.Run(name, func(b *testing.B) {
			w := benchmarkWorker(b, model, p)
			q := Request{Kind: KindChat, Body: longChat(b, calls), Now: time.Unix(1e9, 0)}
			b.SetBytes(int64(len(q.Body)))
			b.ReportAllocs()
			for b.Loop() {
				if p := w.Render(&q); p.Status != Exact {
					b.Fatal(p.Reason)
				}
			}
		})
	}
	f("template", "", Profile{}, false)
	f("template_calls", "", Profile{}, true)
	f("template_sglang", "", Profile{Engine: EngineSGLang}, false)
	f("harmony", `{"model_type":"gpt_oss"}`, Profile{}, false)
	f("deepseek", `{"architectures":["DeepseekV32ForCausalLM"]}`, Profile{}, false)
}

// TestWarmRenderingAllocatesLittle holds the budget of a worker that has seen a body
// like this one.
func TestWarmRenderingAllocatesLittle(t *testing.T) {
	f := func(name, model string, calls bool, budget float64) {
		t.Helper()
		w := benchmarkWorker(t, model, Profile{})
		q := Request{Kind: KindChat, Body: longChat(t, calls), Now: time.Unix(1e9, 0)}
		for range 3 {
			w.Render(&q)
		}
		got := testing.AllocsPerRun(20, func() {
			if p := w.Render(&q); p.Status != Exact {
				t.Fatal(p.Reason)
			}
		})
		if got > budget {
			t.Errorf("%s: %v allocations, the budget is %v", name, got, budget)
		}
	}
	f("template", "", false, 8)
	f("harmony", `{"model_type":"gpt_oss"}`, true, 8)
	f("deepseek", `{"architectures":["DeepseekV32ForCausalLM"]}`, true, 8)
}

package templates

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// benchmarked are the templates whose speed is measured, by their names in the corpus.
var benchmarked = []struct{ title, name string }{
	{"Llama-3.1", "xllamacpp.meta-llama-Llama-3.1-8B-Instruct"},
	{"Qwen3", "tokenizer.qwen3"},
	{"DeepSeek-V3.1", "xllamacpp.deepseek-ai-DeepSeek-V3.1"},
	{"gpt-oss", "xllamacpp.openai-gpt-oss-120b"},
	{"Kimi-K2", "xllamacpp.moonshotai-Kimi-K2"},
	{"GLM-4.6", "xllamacpp.GLM-4.6"},
}

// conversation is a chat of about so many bytes: a system message and a hundred
// rounds, with two tools of the cases.
func conversation(t testing.TB, bytes int) []byte {
	t.Helper()
	const rounds = 100
	sentence := "The quick brown fox jumps over the lazy dog, and 42 \"others\" watch — née Größe.\n"
	text := strings.Repeat(sentence, bytes/(2*rounds)/len(sentence)+1)[:bytes/(2*rounds)]
	text = strings.ToValidUTF8(text, "")
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	messages := []message{{"system", "You are a helpful assistant."}}
	for i := range rounds {
		messages = append(messages,
			message{"user", fmt.Sprintf("%d: %s", i, text)},
			message{"assistant", fmt.Sprintf("%d. %s", i, text)})
	}
	var tools struct{ Tools json.RawMessage }
	decode(t, loadCases(t)["03-tools"], &tools)
	vars, err := json.Marshal(map[string]any{"messages": messages, "tools": tools.Tools})
	if err != nil {
		t.Fatal(err)
	}
	return vars
}

// BenchmarkRender renders a chat of 201 messages; with its JSON parsed anew each time
// and without. Per operation is per prompt.
func BenchmarkRender(b *testing.B) {
	corpus := loadCorpus(b)
	for _, size := range []int{110_000, 400_000} {
		vars := variables(json.RawMessage(`{"bos_token":"<s>","eos_token":"</s>"}`), conversation(b, size))
		for _, entry := range benchmarked {
			b.Run(fmt.Sprintf("%s/%dKB", entry.title, size/1000), func(b *testing.B) {
				benchmarkRender(b, corpus[entry.name], vars)
			})
		}
	}
}

func benchmarkRender(b *testing.B, t *template, vars []byte) {
	if t == nil || t.err != nil {
		b.Skipf("the template is missing or refused: %+v", t)
	}
	for _, parse := range []bool{true, false} {
		name := "render"
		if parse {
			name = "parse+render"
		}
		b.Run(name, func(b *testing.B) {
			env := newEnv()
			values, err := env.Memory.Parse(vars)
			if err != nil {
				b.Fatal(err)
			}
			output, err := env.Render(nil, t.compiled, values)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(output)))
			b.ReportAllocs()
			for b.Loop() {
				if parse {
					env.Memory.Reset()
					if values, err = env.Memory.Parse(vars); err != nil {
						b.Fatal(err)
					}
				}
				if output, err = env.Render(output[:0], t.compiled, values); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

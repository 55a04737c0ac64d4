package templates

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
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
	decode(t, loadCases(t, "cases")["03-tools"], &tools)
	vars, err := json.Marshal(map[string]any{"messages": messages, "tools": tools.Tools})
	if err != nil {
		t.Fatal(err)
	}
	return vars
}

// BenchmarkRender renders a chat of 201 messages, its JSON parsed anew each time, as
// for a request; BenchmarkParse is the parsing alone. An operation is one prompt. Time
// of the processor is told beside that of the clock, for machines that others use too.
func BenchmarkRender(b *testing.B) {
	corpus := loadCorpus(b)
	for _, size := range []int{110_000, 400_000} {
		vars := benchmarkVariables(b, size)
		for _, entry := range benchmarked {
			b.Run(fmt.Sprintf("%s/%dKB", entry.title, size/1000), func(b *testing.B) {
				benchmarkRender(b, corpus[entry.name], vars)
			})
		}
	}
}

func benchmarkVariables(b *testing.B, size int) []byte {
	b.Helper()
	return variables(json.RawMessage(`{"bos_token":"<s>","eos_token":"</s>"}`), conversation(b, size))
}

func benchmarkRender(b *testing.B, t *template, vars []byte) {
	b.Helper()
	if t == nil || t.err != nil {
		b.Skipf("the template is missing or refused: %+v", t)
	}
	env := newEnv()
	var output []byte
	measure(b, func() {
		env.Memory.Reset()
		values, err := env.Memory.Parse(vars)
		if err != nil {
			b.Fatal(err)
		}
		if output, err = env.Render(output[:0], t.compiled, values); err != nil {
			b.Fatal(err)
		}
	})
	b.SetBytes(int64(len(output)))
}

// BenchmarkParse parses the JSON that BenchmarkRender renders.
func BenchmarkParse(b *testing.B) {
	for _, size := range []int{110_000, 400_000} {
		b.Run(fmt.Sprintf("%dKB", size/1000), func(b *testing.B) {
			vars, env := benchmarkVariables(b, size), newEnv()
			measure(b, func() {
				env.Memory.Reset()
				if _, err := env.Memory.Parse(vars); err != nil {
					b.Fatal(err)
				}
			})
			b.SetBytes(int64(len(vars)))
		})
	}
}

// measure runs do b.N times, the first time unmeasured.
func measure(b *testing.B, do func()) {
	b.Helper()
	do()
	b.ReportAllocs()
	b.ResetTimer()
	before := processorTime(b)
	for b.Loop() {
		do()
	}
	b.ReportMetric(float64((processorTime(b)-before).Nanoseconds())/1e3/float64(b.N), "cpu-us/op")
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

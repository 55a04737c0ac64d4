package oracle

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"penstock/bench/oracle/corpus"
	"penstock/routing/tokenizer"
)

// TestUnicode14 compares with the last release that had the character classes of
// Unicode 14, which older images of engines carry: one model for each scanner whose
// classes are wide.
func TestUnicode14(t *testing.T) {
	cache, models, sets := setUp(t)
	if _, err := os.Stat(filepath.Join(cache.Dir, Unicode14, ".stamp")); err != nil {
		t.Skip("SKIPPED: tokenizers 0.21.1 is not there, run bench/oracle/setup.sh")
	}
	for _, m := range models {
		if !slices.Contains([]string{"llama3_1", "qwen3", "gptoss", "deepseek_v3", "gpt2"}, m.Name) {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			ours, err := tokenizer.Load(os.DirFS(m.Dir), tokenizer.Options{Unicode: tokenizer.Unicode14})
			if err != nil {
				t.Fatal(err)
			}
			live, err := cache.Serve(t.Context(), ".", Unicode14, m, "hf", "plain")
			if err != nil {
				t.Fatal(err)
			}
			defer live.Close()
			for _, set := range sets {
				if slices.Contains([]string{"sweep", "contexts", "random", "marks", "quotes"}, set.Name) {
					checkLive(t, live, ours.NewEncoder(), set)
				}
			}
		})
	}
}

func checkLive(t *testing.T, live *Live, encoder *tokenizer.Encoder, set corpus.Set) {
	t.Helper()
	differs := func(text []byte) bool {
		want, err := live.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := encoder.Append(nil, text, 0)
		return err != nil || !slices.Equal(got, want)
	}
	var wrong [][]byte
	for _, text := range set.Texts {
		if differs(text) {
			wrong = append(wrong, text)
		}
	}
	t.Logf("%s: %d of %d texts differ", set.Name, len(wrong), len(set.Texts))
	for _, text := range wrong[:min(len(wrong), 4)] {
		text = Shrink(text, 600, differs)
		want, err := live.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := encoder.Append(nil, text, 0)
		t.Errorf("%s: %+q\n got %v %v\nwant %v", set.Name, text, got, err, want)
	}
}

package tokenizer

import (
	"strings"
	"testing"
)

// Tests with AllocsPerRun do not run in parallel: it counts what all goroutines do.

func TestWarmEncodingAllocatesNothing(t *testing.T) {
	for _, name := range []string{"cl100k", "qwen2", "deepseek", "gpt2_prefix", "llama2", "gemma", "unigram", "wordpiece", "kimi", "tekken", "auto_llama"} {
		e := loadTiny(t, name).NewEncoder()
		text := []byte(strings.Repeat("<|user|>The quick cafe\u0301 <tool_call>12345 你好</tool_call>\n\n", 50))
		ids, boundaries := make([]uint32, 0, 1<<16), make([]int, 0, 1<<10)
		allocs := testing.AllocsPerRun(5, func() {
			var err error
			if ids, err = e.Append(ids[:0], text, AddSpecial); err != nil || len(ids) == 0 {
				t.Error(err)
			}
			boundaries = e.Boundaries(boundaries[:0], text)
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
}

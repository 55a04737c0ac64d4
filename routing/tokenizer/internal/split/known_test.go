package split

import (
	"testing"

	"penstock/routing/tokenizer/internal/unidata"
)

func TestKnownPatternsHaveScanners(t *testing.T) {
	t.Parallel()
	seen := map[Family]bool{GPT2Digits: true, Tiktoken: true} // no one pattern of tokenizer.json
	for _, k := range known {
		f, ok := Known(k.patterns)
		if !ok || f != k.family {
			t.Errorf("%q: %q, %v, want %q", k.patterns, f, ok, k.family)
		}
		seen[f] = true
	}
	for _, f := range families {
		if _, ok := New(f, unidata.V14); !ok || !seen[f] {
			t.Errorf("%s: scanner %v, pattern %v", f, ok, seen[f])
		}
	}
	if len(seen) != len(families) {
		t.Errorf("%d families known, %d tested", len(seen), len(families))
	}
}

func TestNothingCloseToAPatternIsKnown(t *testing.T) {
	t.Parallel()
	llama := `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	openAI := `'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s`
	f := func(patterns []string, want Family) {
		t.Helper()
		if got, _ := Known(patterns); got != want {
			t.Errorf("%q is taken for %q, want %q", patterns, got, want)
		}
	}
	f([]string{llama}, CL100K)
	f([]string{llama + ` `}, "")
	f([]string{llama[:len(llama)-1]}, "")
	f([]string{llama, llama}, "")
	f([]string{`\p{N}{1,3}`, llama}, "")
	f([]string{openAI}, "") // Oniguruma reads {1,3}+ as any number of digits
	f(nil, "")
	f([]string{""}, "")
	if got, ok := KnownTiktoken(openAI); !ok || got != Tiktoken {
		t.Errorf("KnownTiktoken: %q, %v", got, ok)
	}
	if got, ok := KnownTiktoken(llama); !ok || got != CL100K {
		t.Errorf("KnownTiktoken: %q, %v", got, ok)
	}
	if got, ok := KnownTiktoken(llama + "x"); ok {
		t.Errorf("KnownTiktoken takes an unknown pattern for %q", got)
	}
	if s, ok := New("llama9", unidata.V16); ok || s != nil {
		t.Errorf("New of an unknown family: %v, %v", s, ok)
	}
}

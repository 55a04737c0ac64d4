package wordpiece

import (
	"slices"
	"testing"

	"penstock/routing/tokenizer/internal/spec"
)

func model(prefix string, texts ...string) *Model {
	v := spec.NewVocabulary(8, 64)
	for i, text := range texts {
		v.Add([]byte(text), uint32(i))
	}
	return New(&spec.Model{Vocabulary: v, Prefix: prefix, MaxCharacters: 6})
}

func TestWordsAreCutGreedily(t *testing.T) {
	t.Parallel()
	f := func(m *Model, word string, want ...uint32) {
		t.Helper()
		if got := m.Append(nil, []byte(word)); !slices.Equal(got, want) {
			t.Errorf("%q gives %v, not %v", word, got, want)
		}
	}
	m := model("##", "[UNK]", "un", "##aff", "##able", "##a", "##", "é", "##é")
	f(m, "")
	f(m, "un", 1)
	f(m, "unaff", 1, 2)
	f(m, "unable", 1, 3)
	f(m, "unaffx", 0)    // as a whole
	f(m, "unaffable", 0) // nine characters
	f(m, "éééééé", 6, 7, 7, 7, 7, 7)
	f(m, "ééééééé", 0)
	f(m, "aff", 0)   // not at the beginning
	f(m, "##aff", 2) // a text like any other
	f(model("", "[UNK]", "a", "b", "ab"), "aab", 1, 3)
	if m.Bytes() == 0 {
		t.Error("no memory")
	}
}

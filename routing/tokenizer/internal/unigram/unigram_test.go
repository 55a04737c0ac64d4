package unigram

import (
	"errors"
	"math"
	"slices"
	"testing"
	"unicode/utf8"

	"penstock/routing/tokenizer/internal/spec"
)

type scored struct {
	text  string
	score float64
}

func model(t testing.TB, fallback bool, tokens ...scored) *Model {
	t.Helper()
	v := spec.NewVocabulary(8, 64)
	s := &spec.Model{Vocabulary: v, HasUnknown: true, ByteFallback: fallback}
	for i, token := range tokens {
		v.Add([]byte(token.text), uint32(i))
		s.Scores = append(s.Scores, token.score)
	}
	m, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func encode(t testing.TB, m *Model, text string) []uint32 {
	t.Helper()
	ids, ok := m.NewWorker().Append(nil, []byte(text), nil)
	if !ok {
		t.Fatal("expired")
	}
	return ids
}

func TestBestWayIsFound(t *testing.T) {
	t.Parallel()
	// The example in the library's documentation.
	m := model(t, false, scored{"<unk>", 0}, scored{"a", 0}, scored{"b", 0}, scored{"c", 0}, scored{"d", 0},
		scored{"cd", 1}, scored{"ab", 2}, scored{"abc", 5}, scored{"abcd", 10})
	f := func(text string, want ...uint32) {
		t.Helper()
		if got := encode(t, m, text); !slices.Equal(got, want) {
			t.Errorf("%q gives %v, not %v", text, got, want)
		}
	}
	f("")
	f("abcdacdxx", 8, 1, 5, 0) // unknown neighbours are one
	f("xaéy", 0, 1, 0)
	f("<unk>", 0)
}

func TestUnknownBytesFallBack(t *testing.T) {
	t.Parallel()
	m := model(t, true, scored{"<unk>", 0}, scored{"<0xC3>", 0}, scored{"<0xA9>", 0}, scored{"a", 0})
	for text, want := range map[string][]uint32{"aé": {3, 1, 2}, "éé": {1, 2, 1, 2}, "éx": {0}, "aü": {3, 0}} {
		if got := encode(t, m, text); !slices.Equal(got, want) {
			t.Errorf("%q gives %v, not %v", text, got, want)
		}
	}
}

func TestModelWithoutUnknownTokenIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := New(&spec.Model{Vocabulary: spec.NewVocabulary(1, 1)}); !errors.Is(err, spec.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}

// best is the highest sum of scores, by trying all ways.
func best(m *Model, text string, memo map[string]float64) float64 {
	if text == "" {
		return 0
	}
	if sum, known := memo[text]; known {
		return sum
	}
	_, size := utf8.DecodeRuneInString(text)
	sum, single := math.Inf(-1), false
	for end := 1; end <= len(text); end++ {
		if id, found := m.vocabulary.Find([]byte(text[:end])); found {
			sum = max(sum, m.scores[id]+best(m, text[end:], memo))
			single = single || end == size
		}
	}
	if !single {
		sum = max(sum, m.penalty+best(m, text[size:], memo))
	}
	memo[text] = sum
	return sum
}

func FuzzNoWayIsBetter(f *testing.F) {
	f.Add("abcabcabx")
	f.Add("éaébc")
	m := model(f, false, scored{"<unk>", -1}, scored{"a", -1}, scored{"ab", -1.5}, scored{"bc", -1.25}, scored{"abc", -3},
		scored{"é", -2}, scored{"c", -0.5}, scored{"éb", -2.25}, scored{"ca", -1.125})
	w := m.NewWorker()
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || len(text) > 200 || text == "" {
			return
		}
		if _, ok := w.Append(nil, []byte(text), nil); !ok {
			t.Fatal("expired")
		}
		if got, want := w.best[len(text)].score, best(m, text, map[string]float64{}); math.Abs(got-want) > 1e-9 {
			t.Errorf("%q has %v, best is %v", text, got, want)
		}
	})
}

func TestSearchEndsOnceItHasExpired(t *testing.T) {
	t.Parallel()
	w := model(t, false, scored{"<unk>", 0}).NewWorker()
	if ids, ok := w.Append([]uint32{1}, make([]byte, 3*bytesBetween), func() bool { return true }); ok || len(ids) != 1 {
		t.Errorf("got %v, %v", ids, ok)
	}
	w.Trim(10)
	if w.best != nil {
		t.Error("memory was kept")
	}
}

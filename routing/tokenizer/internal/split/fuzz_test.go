package split

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"penstock/routing/tokenizer/internal/unidata"
)

// tricky are characters and words that the patterns tell apart, often by backtracking.
var tricky = []string{
	"a", "b", "Z", "aB", "Ab", "AB", " ", "  ", "\n", "\r", "\t", "'", "'s", "'S", "'ll", "'Re", "'ſ", "ſ", "\u212A",
	"1", "234", "٣", "½", "〇", "中", "文字", "あ", "カー", "・", "゠", "゛", "한", "É", "ǅ", "ʰ", "\u0301", "\u0E31", "\u200B",
	"\u00A0", "\u3000", "\u0085", "\u180E", "\uFEFF", "\u001C", "/", "//", "!", "?.", "_", "€", "🙂", "👍🏽", "\u2028", "\x00",
	"⺀", "々", "ß", "𝒜", "\u3040", "\u3099", "ｶﾞ", "\U00011DE0", "\u0378", "Ⓐ", "Ⅷ",
}

// cuts are the ends in text, found with batches of a size.
func cuts(s Splitter, text []byte, batch int) []int {
	var all []int
	ends := make([]int, batch)
	for from := 0; ; {
		n := s.Split(text, from, ends)
		all = append(all, ends[:n]...)
		if n < batch {
			return all
		}
		from = ends[n-1]
	}
}

func checkReference(t *testing.T, f Family, v unidata.Version, text string) {
	t.Helper()
	s, ok := New(f, v)
	if !ok {
		t.Fatalf("no family %s", f)
	}
	want := reference(f, v, text)
	for _, batch := range []int{1, 2, 7, 64} {
		if got := cuts(s, []byte(text), batch); !slices.Equal(got, want) {
			t.Fatalf("%s cuts %q at %v (%d at a time), want %v", f, text, got, batch, want)
		}
	}
}

func TestCutsAsThePatternsDo(t *testing.T) {
	t.Parallel()
	for _, family := range families {
		t.Run(string(family), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(1, 2))
			for range 500 {
				var text strings.Builder
				few := make([]string, 1+random.IntN(6))
				for i := range few {
					few[i] = tricky[random.IntN(len(tricky))]
				}
				for range random.IntN(16) {
					text.WriteString(few[random.IntN(len(few))])
				}
				checkReference(t, family, unidata.V16, text.String())
				checkReference(t, family, unidata.V14, text.String())
			}
		})
	}
}

func FuzzSplit(f *testing.F) {
	for i, text := range tricky {
		f.Add(uint8(i), text+tricky[(i+7)%len(tricky)]+text)
	}
	f.Fuzz(func(t *testing.T, pick uint8, text string) {
		family := families[int(pick)%len(families)]
		if len(text) > 200 {
			text = text[:200] // the reference may take time in the square of it
		}
		if utf8.ValidString(text) {
			checkReference(t, family, unidata.V16, text)
			return
		}
		// Bytes that are no text are cut somehow, without gaps.
		s, _ := New(family, unidata.V16)
		last := 0
		for _, end := range cuts(s, []byte(text), 3) {
			if end <= last || end > len(text) {
				t.Fatalf("%s cuts %q at %d after %d", family, text, end, last)
			}
			last = end
		}
		if last != len(text) {
			t.Fatalf("%s leaves %q after %d", family, text, last)
		}
	})
}

package oracle

import (
	"math/rand/v2"
	"slices"
	"testing"

	"penstock/bench/oracle/corpus"
	"penstock/routing/tokenizer"
)

// splitsPerModel is how many cuts are tried at least, where a model has any boundary.
const splitsPerModel = 600

// TestBoundarySplits cuts prompts at offsets that Boundaries gives, once or several
// times, and wants the ids of the whole.
func TestBoundarySplits(t *testing.T) {
	_, models, sets := setUp(t)
	total, without := 0, 0
	for _, m := range models {
		t.Run(m.Name, func(t *testing.T) {
			n := checkSplits(t, load(t, m), ownPrompts(t, m, sets))
			total += n
			if n == 0 {
				without++
				t.Log("no boundary: no added token of this model may be cut at")
			}
		})
	}
	t.Logf("%d splits over %d models, %d of them without boundaries", total, len(models), without)
	if len(models) >= 15 && total < 9000 {
		t.Errorf("%d splits, want 9,000 or more", total)
	}
}

// ownPrompts is chat prompts with the model's own added tokens typed in, and those of
// the cache, which have everyone's.
func ownPrompts(t *testing.T, m Model, sets []corpus.Set) [][]byte {
	t.Helper()
	specials, err := m.AddedTokens()
	if err != nil {
		t.Fatal(err)
	}
	var texts [][]byte
	if len(specials) > 0 {
		texts = corpus.Chat(200, specials)
	}
	for _, set := range sets {
		if set.Name == "chat" || set.Name == "added" {
			texts = append(texts, set.Texts[:min(len(set.Texts), 300)]...)
		}
	}
	return texts
}

func checkSplits(t *testing.T, m *tokenizer.Model, texts [][]byte) int {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 7))
	encoder := m.NewEncoder()
	splits := 0
	for _, mode := range []tokenizer.Mode{0, tokenizer.AddSpecial} {
		for i, text := range texts {
			whole, err := encoder.Append(nil, text, mode)
			if err != nil {
				t.Fatal(err)
			}
			cuts := encoder.Boundaries(nil, text)
			if !slices.IsSorted(cuts) {
				t.Fatalf("text %d: boundaries %v are not in order", i, cuts)
			}
			for range min(len(cuts), 3) {
				at := chosen(r, cuts)
				splits += len(at)
				got := inPieces(t, encoder, text, at, mode)
				if !slices.Equal(got, whole) {
					t.Errorf("text %d %+q cut at %v, mode %b:\n got %v\nwant %v", i, text, at, mode, got, whole)
					return splits
				}
			}
			if splits > splitsPerModel*(int(mode)+1) {
				break
			}
		}
	}
	return splits
}

// chosen is one cut, or two, or all.
func chosen(r *rand.Rand, cuts []int) []int {
	switch r.IntN(4) {
	case 0:
		return cuts
	case 1:
		a, b := r.IntN(len(cuts)), r.IntN(len(cuts))
		if a != b {
			return []int{cuts[min(a, b)], cuts[max(a, b)]}
		}
	}
	return []int{cuts[r.IntN(len(cuts))]}
}

// inPieces encodes a text in pieces: all but the last are unfinished, all but the first
// continue.
func inPieces(t *testing.T, encoder *tokenizer.Encoder, text []byte, cuts []int, mode tokenizer.Mode) []uint32 {
	t.Helper()
	var ids []uint32
	from := 0
	for i := range len(cuts) + 1 {
		to, m := len(text), mode
		if i < len(cuts) {
			to = cuts[i]
			m |= tokenizer.Unfinished
		}
		if i > 0 {
			m |= tokenizer.Continuation
		}
		var err error
		if ids, err = encoder.Append(ids, text[from:to], m); err != nil {
			t.Fatal(err)
		}
		from = to
	}
	return ids
}

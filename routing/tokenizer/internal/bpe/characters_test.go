package bpe

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// randomCharacterSpec is a vocabulary of some of someCharacters, byte tokens, all or
// not, an unknown token or none, and tokens as in randomSpec.
func randomCharacterSpec(r *rand.Rand, size int) *Spec {
	s := &Spec{HasUnknown: r.IntN(3) > 0, FuseUnknown: r.IntN(2) == 0, IgnoreMerges: r.IntN(4) == 0, ByteFallback: r.IntN(4) > 0}
	ids := map[string]uint32{}
	add := func(text string) uint32 {
		if id, ok := ids[text]; ok {
			return id
		}
		id := uint32(len(ids))
		ids[text] = id
		s.Tokens = append(s.Tokens, Token{[]byte(text), id})
		return id
	}
	s.Unknown = add("<unk>")
	complete := r.IntN(2) == 0
	for i := range s.Bytes {
		s.Bytes[i] = NoToken
		if complete || r.IntN(3) > 0 {
			s.Bytes[i] = add(fmt.Sprintf("<0x%02X>", i))
		}
	}
	texts := []string{someCharacters[r.IntN(len(someCharacters))]}
	for _, c := range someCharacters {
		if r.IntN(4) > 0 {
			texts = append(texts, c)
		}
	}
	for _, c := range texts {
		add(c)
	}
	for range 1 + r.IntN(size) {
		a, b := texts[r.IntN(len(texts))], texts[r.IntN(len(texts))]
		if len(a)+len(b) > 40 {
			continue
		}
		s.Merges = append(s.Merges, Merge{add(a), add(b), add(a + b)})
		texts = append(texts, a+b)
	}
	s.Merges = append(s.Merges, otherMerges(r, s, ids)...)
	for range r.IntN(6) { // tokens that nothing makes
		whole := []rune(texts[r.IntN(len(texts))])
		from := r.IntN(len(whole))
		add(string(whole[from : from+1+r.IntN(len(whole)-from)]))
	}
	if r.IntN(2) == 0 {
		r.Shuffle(len(s.Merges), func(i, j int) { s.Merges[i], s.Merges[j] = s.Merges[j], s.Merges[i] })
	}
	return s
}

// referenceSymbols is what a text begins as, by the book of Hugging Face's merge_word.
func referenceSymbols(s *Spec, text string) (symbols []string) {
	tokens := map[string]bool{}
	for _, t := range s.Tokens {
		tokens[string(t.Bytes)] = true
	}
	unknown := false
	for _, r := range text {
		c := string(r)
		if tokens[c] {
			if unknown {
				symbols = append(symbols, "<unk>")
			}
			unknown = false
			symbols = append(symbols, c)
			continue
		}
		var fallback []string
		for i := range len(c) {
			if name := fmt.Sprintf("<0x%02X>", c[i]); tokens[name] && s.ByteFallback {
				fallback = append(fallback, name)
			}
		}
		if len(fallback) == len(c) {
			symbols = append(symbols, fallback...)
			continue
		}
		if s.HasUnknown {
			if unknown && !s.FuseUnknown {
				symbols = append(symbols, "<unk>")
			}
			unknown = true
		}
	}
	if unknown {
		symbols = append(symbols, "<unk>")
	}
	return symbols
}

func checkCharacterText(t testing.TB, s *Spec, w *CharWorker, text string) {
	t.Helper()
	want := referenceMerge(s, referenceSymbols(s, text))
	if s.IgnoreMerges {
		for _, token := range s.Tokens {
			if string(token.Bytes) == text {
				want = []uint32{token.ID}
			}
		}
	}
	for range 2 {
		got, ok := w.Append([]uint32{7}, []byte(text))
		if !ok || !slices.Equal(got[1:], want) {
			t.Fatalf("%q: %v, want %v\nfallback %v unknown %v fuse %v %s", text, got[1:], want,
				s.ByteFallback, s.HasUnknown, s.FuseUnknown, describe(s))
		}
	}
}

func TestRandomCharacterTextsAreByTheBook(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(8, 9))
	for i := range 200 {
		s := randomCharacterSpec(r, 4+i/2)
		c := newCharacters(t, s, nil)
		if i%2 == 0 {
			forceLinear(t, withoutSpecial(s), c.vocabulary)
		}
		w := c.NewWorker()
		for range 15 {
			checkCharacterText(t, s, w, randomCharacters(r, 1+r.IntN(50)))
		}
	}
}

// withoutSpecial is the tokens that text can be; forceLinear finds texts by id.
func withoutSpecial(s *Spec) *Spec {
	out := &Spec{}
	for _, t := range s.Tokens {
		if !strings.HasPrefix(string(t.Bytes), "<") {
			out.Tokens = append(out.Tokens, t)
		}
	}
	return out
}

func FuzzCharacterTexts(f *testing.F) {
	f.Add(uint64(1), uint64(10), "a▁▁aé中中")
	f.Add(uint64(5), uint64(60), "😀😀😭▁a<unk><0x0A>\n")
	f.Fuzz(func(t *testing.T, seed, size uint64, text string) {
		text = strings.ToValidUTF8(text, "�")
		if text == "" || len(text) > 300 {
			return
		}
		s := randomCharacterSpec(rand.New(rand.NewPCG(seed, 3)), 1+int(size%100))
		checkCharacterText(t, s, newCharacters(t, s, nil).NewWorker(), text)
	})
}

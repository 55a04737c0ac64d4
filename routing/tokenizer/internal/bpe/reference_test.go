package bpe

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// referenceMerge is byte pair encoding by the book: look for the best pair of
// neighbours, by their texts, from the left; merge it; again. It shares nothing with
// the code under test.
func referenceMerge(s *Spec, symbols []string) []uint32 {
	ids := map[string]uint32{}
	for _, t := range s.Tokens {
		ids[string(t.Bytes)] = t.ID
	}
	text := map[uint32]string{}
	for k, id := range ids {
		text[id] = k
	}
	ranks := map[[2]string]int{}
	for i, m := range s.Merges {
		ranks[[2]string{text[m.Left], text[m.Right]}] = i
	}
	rank := func(a, b string) (int, bool) {
		if s.Ranks {
			id, ok := ids[a+b]
			return int(id), ok
		}
		r, ok := ranks[[2]string{a, b}]
		return r, ok
	}
	for {
		best, at := -1, -1
		for i := range len(symbols) - 1 {
			if r, ok := rank(symbols[i], symbols[i+1]); ok && (at < 0 || r < best) {
				best, at = r, i
			}
		}
		if at < 0 {
			break
		}
		symbols = slices.Concat(symbols[:at], []string{symbols[at] + symbols[at+1]}, symbols[at+2:])
	}
	var out []uint32
	for _, s := range symbols {
		out = append(out, ids[s])
	}
	return out
}

// randomSpec is a byte-level vocabulary of all bytes and some tokens of few letters:
// tokens that several merges make, tokens merged from later ones, tokens that nothing
// makes, merges listed twice, in any order. Letters are bytes; those of longer
// characters give tokens that begin and end within characters.
func randomSpec(r *rand.Rand, size int, letters string) *Spec {
	s := &Spec{Ranks: r.IntN(3) == 0, IgnoreMerges: r.IntN(4) == 0}
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
	for i := range 256 {
		add(string([]byte{byte(i)}))
	}
	var texts []string
	for i := range len(letters) {
		texts = append(texts, letters[i:i+1])
	}
	for range 1 + r.IntN(size) {
		a, b := texts[r.IntN(len(texts))], texts[r.IntN(len(texts))]
		if len(a)+len(b) > 40 {
			continue
		}
		s.Merges = append(s.Merges, Merge{add(a), add(b), add(a + b)})
		texts = append(texts, a+b)
	}
	for range r.IntN(4) {
		add(randomText(r, letters, 2+r.IntN(5)))
	}
	s.Merges = append(s.Merges, otherMerges(r, s, ids)...)
	if r.IntN(5) < 3 {
		r.Shuffle(len(s.Merges), func(i, j int) { s.Merges[i], s.Merges[j] = s.Merges[j], s.Merges[i] })
	}
	if s.Ranks {
		s.Merges = nil
		shuffleIDs(r, s)
	}
	return s
}

// otherMerges is some of the further ways to make the tokens.
func otherMerges(r *rand.Rand, s *Spec, ids map[string]uint32) (out []Merge) {
	share := r.IntN(4)
	for _, t := range s.Tokens {
		for cut := 1; cut < len(t.Bytes); cut++ {
			left, okLeft := ids[string(t.Bytes[:cut])]
			right, okRight := ids[string(t.Bytes[cut:])]
			if okLeft && okRight && r.IntN(4) < share {
				out = append(out, Merge{left, right, t.ID})
			}
		}
	}
	return out
}

// shuffleIDs exchanges the ids, which are ranks, of some tokens.
func shuffleIDs(r *rand.Rand, s *Spec) {
	for range r.IntN(1 + len(s.Tokens)/8) {
		i, j := 256+r.IntN(max(1, len(s.Tokens)-256)), 256+r.IntN(max(1, len(s.Tokens)-256))
		if i < len(s.Tokens) && j < len(s.Tokens) {
			s.Tokens[i].ID, s.Tokens[j].ID = s.Tokens[j].ID, s.Tokens[i].ID
		}
	}
}

func randomText(r *rand.Rand, letters string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}

// forceLinear gives a vocabulary the linear encoder however rough it is.
func forceLinear(t testing.TB, s *Spec, v *vocabulary) {
	t.Helper()
	text := map[uint32][]byte{}
	for _, token := range s.Tokens {
		text[token.ID] = token.Bytes
	}
	l := &linear{rough: make([]uint64, len(v.ids)/64+1)}
	l.markRough(v)
	l.trie = newTrie(v, func(node uint32) []byte { return text[v.ids[node]] })
	v.linear = l
}

// checkWays encodes a piece by every way of merging there is; w is a worker of b.
func checkWays(t testing.TB, s *Spec, b *ByteLevel, w *Worker, piece string) {
	t.Helper()
	symbols := make([]string, len(piece))
	for i := range symbols {
		symbols[i] = piece[i : i+1]
	}
	want := referenceMerge(s, symbols)
	m := &w.merger
	m.nodes = m.nodes[:0]
	parts := make([]part, 0, len(piece))
	for _, c := range []byte(piece) {
		m.nodes = append(m.nodes, uint32(c))
		parts = append(parts, part{node: uint32(c)})
	}
	ways := map[string][]uint32{
		"scan":   b.vocabulary.appendIDs(nil, b.vocabulary.mergeShort(parts, 1)),
		"heap":   m.mergeNodes(nil),
		"linear": m.encodeLinear(nil, []byte(piece)),
	}
	for way, got := range ways {
		if !slices.Equal(got, want) {
			t.Errorf("%s of %q: %v, want %v\n%s", way, piece, got, want, describe(s))
		}
	}
	for _, token := range s.Tokens {
		if string(token.Bytes) == piece && (s.Ranks || s.IgnoreMerges) {
			want = []uint32{token.ID}
		}
	}
	for range 2 {
		if got := w.Append(nil, []byte(piece), 0, []int{len(piece)}); !slices.Equal(got, want) {
			t.Errorf("piece %q: %v, want %v\n%s", piece, got, want, describe(s))
		}
	}
}

func describe(s *Spec) string {
	out := fmt.Sprintf("ranks %v ignore %v\n", s.Ranks, s.IgnoreMerges)
	text := map[uint32]string{}
	for _, t := range s.Tokens {
		text[t.ID] = string(t.Bytes)
		if len(t.Bytes) > 1 {
			out += fmt.Sprintf("%d %q ", t.ID, t.Bytes)
		}
	}
	for _, m := range s.Merges {
		out += fmt.Sprintf("\n%q %q", text[m.Left], text[m.Right])
	}
	return out
}

func TestEveryWayOfMergingIsByTheBook(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	rough, dropped := 0, 0
	for i := range 250 {
		s := randomSpec(r, 3+i/5, "abcde"[:1+r.IntN(5)])
		b := newByteLevel(t, s, nil)
		forceLinear(t, s, b.vocabulary)
		if slices.ContainsFunc(b.vocabulary.linear.rough, func(word uint64) bool { return word != 0 }) {
			rough++
		}
		if len(b.vocabulary.ids) < len(s.Tokens) {
			dropped++
		}
		w := b.NewWorker()
		for range 12 {
			checkWays(t, s, b, w, randomText(r, "abcde"[:1+r.IntN(5)], 1+r.IntN(60)))
		}
		checkWays(t, s, b, w, randomText(r, "ab", 200))
		if t.Failed() {
			return
		}
	}
	if rough < 20 || dropped < 20 {
		t.Errorf("%d vocabularies have rough tokens and %d unreached ones: too few to tell", rough, dropped)
	}
}

// someCharacters share bytes, so that tokens of their bytes span them in many ways.
var someCharacters = []string{"中", "串", "丮", "亭", "é", "ã", "▁", "😀", "😭", "a", " "}

func randomCharacters(r *rand.Rand, n int) string {
	out := ""
	for range n {
		out += someCharacters[r.IntN(len(someCharacters))]
	}
	return out
}

// TestTextsFallApartOnlyWhereNothingMerges has tokens that begin and end within
// characters.
func TestTextsFallApartOnlyWhereNothingMerges(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 150 {
		s := randomSpec(r, 10+2*i, randomCharacters(r, 1+r.IntN(4)))
		for range 20 { // what is of the text, too, for more than a few to apply
			addPart(r, s, randomCharacters(r, 3))
		}
		b := newByteLevel(t, s, nil)
		forceLinear(t, s, b.vocabulary)
		w := b.NewWorker()
		for range 12 {
			checkWays(t, s, b, w, randomCharacters(r, 1+r.IntN(40)))
		}
		noise := make([]byte, 40)
		for i := range noise {
			noise[i] = randomCharacters(r, 1)[0] | byte(r.IntN(64))
		}
		checkWays(t, s, b, w, string(noise))
		checkWays(t, s, b, w, randomCharacters(r, 12)[1:]) // perhaps the end of a character first
		if t.Failed() {
			return
		}
	}
}

// addPart adds tokens and merges that lead to a part of a text, from the left.
func addPart(r *rand.Rand, s *Spec, text string) {
	if s.Ranks {
		return
	}
	ids := map[string]uint32{}
	for _, t := range s.Tokens {
		ids[string(t.Bytes)] = t.ID
	}
	from := r.IntN(len(text))
	for end := from + 2; end <= min(len(text), from+2+r.IntN(5)); end++ {
		into, ok := ids[text[from:end]]
		if !ok {
			into = uint32(len(s.Tokens))
			ids[text[from:end]] = into
			s.Tokens = append(s.Tokens, Token{[]byte(text[from:end]), into})
		}
		s.Merges = append(s.Merges, Merge{ids[text[from:end-1]], ids[text[end-1:end]], into})
	}
}

func FuzzEveryWayOfMerging(f *testing.F) {
	f.Add(uint64(1), uint64(10), "abc", "abcabcabc")
	f.Add(uint64(7), uint64(40), "ab", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
	f.Add(uint64(9), uint64(25), "▁é", "ab\xffabé▁▁ de\xe2\x96▁é▁▁▁▁éé▁")
	f.Fuzz(func(t *testing.T, seed, size uint64, letters, piece string) {
		if piece == "" || letters == "" || len(piece) > 300 {
			return
		}
		s := randomSpec(rand.New(rand.NewPCG(seed, 3)), 1+int(size%100), letters)
		b := newByteLevel(t, s, nil)
		forceLinear(t, s, b.vocabulary)
		checkWays(t, s, b, b.NewWorker(), piece)
	})
}

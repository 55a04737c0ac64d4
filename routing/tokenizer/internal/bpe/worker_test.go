package bpe

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func goldenBytes(t testing.TB, name string) (*ByteLevel, []goldenCase) {
	t.Helper()
	var g goldenFile
	readGolden(t, name, &g)
	spec, err := g.byteSpec()
	return newByteLevel(t, spec, err), g.Cases
}

func goldenCharacters(t testing.TB, name string) (*Characters, []goldenCase) {
	t.Helper()
	var g goldenFile
	readGolden(t, name, &g)
	spec, err := g.Model.characterSpec()
	return newCharacters(t, spec, err), g.Cases
}

// joinCases is all texts of goldens as pieces of one text.
func joinCases(cases []goldenCase) (text []byte, ends []int, ids []uint32) {
	for _, c := range cases {
		text = append(text, c.text...)
		ends = append(ends, len(text))
		ids = append(ids, c.ids...)
	}
	return text, ends, ids
}

func TestManyPiecesOfOneText(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"bytes.json", "ignore.json", "ranks_odd.json"} {
		b, cases := goldenBytes(t, name)
		text, ends, want := joinCases(cases)
		w := b.NewWorker()
		got := []uint32{1, 2}
		from := 0
		for chunk := range slices.Chunk(ends, 7) {
			got = w.Append(got, text, from, chunk)
			from = chunk[len(chunk)-1]
		}
		if !slices.Equal(got[:2], []uint32{1, 2}) || !slices.Equal(got[2:], want) {
			t.Errorf("%s: pieces of one text are not encoded as they are alone", name)
		}
	}
}

func TestNoPiecesAndEmptyOnes(t *testing.T) {
	t.Parallel()
	b, _ := goldenBytes(t, "bytes.json")
	w := b.NewWorker()
	if got := w.Append(nil, nil, 0, nil); len(got) != 0 {
		t.Errorf("no pieces: %v", got)
	}
	if got := w.Append(nil, []byte("a"), 0, []int{0, 1, 1}); !slices.Equal(got, w.Append(nil, []byte("a"), 0, []int{1})) {
		t.Errorf("empty pieces: %v", got)
	}
	c, _ := goldenCharacters(t, "characters.json")
	if got, ok := c.NewWorker().Append(nil, nil); len(got) != 0 || !ok {
		t.Errorf("no text: %v, %v", got, ok)
	}
}

func TestWarmWorkersAllocateNothing(t *testing.T) {
	for _, name := range []string{"bytes.json", "ranks_odd.json"} {
		b, cases := goldenBytes(t, name)
		text, ends, want := joinCases(cases)
		w, dst := b.NewWorker(), make([]uint32, 0, len(want))
		if n := testing.AllocsPerRun(20, func() { dst = w.Append(dst[:0], text, 0, ends) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	for _, name := range []string{"characters.json", "unknown_apart.json"} {
		c, cases := goldenCharacters(t, name)
		text, _, want := joinCases(cases)
		text = []byte(spaced(string(text)))
		w, dst := c.NewWorker(), make([]uint32, 0, len(want)+100)
		if n := testing.AllocsPerRun(20, func() { dst, _ = w.Append(dst[:0], text) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestGiantTextsLeaveNoMemoryBehind(t *testing.T) {
	t.Parallel()
	kept := func(m *merger) int {
		return 4*(cap(m.nodes)+cap(m.stack)) + 8*cap(m.dead) + 12*cap(m.heap.symbols) + 8*cap(m.heap.queue)
	}
	const most = 4 << 20
	giant := []byte(strings.Repeat("ab", 1<<20))
	b, _ := goldenBytes(t, "bytes.json")
	w := b.NewWorker()
	w.Append(nil, giant, 0, []int{len(giant)})
	if n := kept(&w.merger); n > most {
		t.Errorf("linear: %d bytes kept", n)
	}
	b.vocabulary.linear = nil
	w.Append(nil, giant, 0, []int{len(giant)})
	if n := kept(&w.merger); n > most {
		t.Errorf("heap: %d bytes kept", n)
	}
	c, _ := goldenCharacters(t, "characters.json")
	cw := c.NewWorker()
	cw.Append(nil, giant)
	if n := kept(&cw.merger); n > most {
		t.Errorf("characters: %d bytes kept", n)
	}
}

func TestExpiredStopsAText(t *testing.T) {
	t.Parallel()
	c, _ := goldenCharacters(t, "characters.json")
	w := c.NewWorker()
	asked := 0
	w.Expired = func() bool { asked++; return asked == 3 }
	text := []byte(strings.Repeat("▁the", 10_000))
	if ids, ok := w.Append(nil, text); ok || asked != 3 || len(ids) > 10_000 {
		t.Errorf("%d ids, ok %v, asked %d times", len(ids), ok, asked)
	}
	w.Expired = func() bool { return false }
	all, ok := w.Append(nil, text)
	w.Expired = nil
	again, _ := w.Append(nil, text)
	if !ok || !slices.Equal(all, again) {
		t.Error("a text is not whole after one that was stopped")
	}
}

// TestLongTextsComeOutTheSameByHeapAndLinear is about sizes at which the book is too
// slow.
func TestLongTextsComeOutTheSameByHeapAndLinear(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"bytes.json", "ranks.json", "ranks_odd.json"} {
		b, cases := goldenBytes(t, name)
		text, _, _ := joinCases(cases)
		texts := worstTexts()
		texts["cases"] = string(text)
		linear, heap := b.NewWorker(), b.NewWorker()
		heap.merger.v = &vocabulary{rules: b.vocabulary.rules, ids: b.vocabulary.ids}
		for kind, text := range texts {
			text = text[:min(len(text), 30_000)]
			want := heap.merger.mergeBytes(nil, []byte(text))
			if got := linear.merger.encodeLinear(nil, []byte(text)); !slices.Equal(got, want) {
				t.Errorf("%s, %s: linear is not as the heap", name, kind)
			}
			if got := linear.Append(nil, []byte(text), 0, []int{len(text)}); !slices.Equal(got, want) {
				t.Errorf("%s, %s: the piece is not as by the heap", name, kind)
			}
		}
	}
}

func TestLongestTokenIsFoundInAnyBytes(t *testing.T) {
	t.Parallel()
	b, cases := goldenBytes(t, "bytes.json")
	var g goldenFile
	readGolden(t, "bytes.json", &g)
	spec, _ := g.byteSpec()
	length := map[string]bool{}
	for _, token := range spec.Tokens {
		length[string(token.Bytes)] = true
	}
	text, _, _ := joinCases(cases)
	text = append(text, strings.Repeat("=", 100)...)
	r := rand.New(rand.NewPCG(2, 3))
	for range 3 * len(text) {
		text[r.IntN(len(text))] ^= byte(1<<r.IntN(8)) & byte(r.IntN(256))
		from := r.IntN(len(text))
		want := 1
		for n := 1; n <= min(len(text)-from, 200); n++ {
			if length[string(text[from:from+n])] {
				want = n
			}
		}
		l := b.vocabulary.linear
		if got := int(l.length[l.longest(text[from:])]); got != want {
			t.Fatalf("%q: %d bytes, want %d", text[from:min(len(text), from+20)], got, want)
		}
	}
}

func TestSpecsThatContradictThemselvesAreRefused(t *testing.T) {
	t.Parallel()
	bytes := func(more ...Token) *Spec {
		s := &Spec{}
		for i := range 256 {
			s.Tokens = append(s.Tokens, Token{[]byte{byte(i)}, uint32(i)})
		}
		s.Tokens = append(s.Tokens, more...)
		return s
	}
	ab := Token{[]byte("ab"), 256}
	with := func(s *Spec, change func(*Spec)) *Spec { change(s); return s }
	for name, c := range map[string]struct {
		spec *Spec
		want string
	}{
		"byte without token": {with(bytes(), func(s *Spec) { s.Tokens = s.Tokens[:255] }), "cannot encode byte 0xff"},
		"empty token":        {bytes(Token{nil, 256}), "it is empty"},
		"id twice":           {bytes(ab, Token{[]byte("bc"), 256}), "its id 256 is that of"},
		"text twice":         {bytes(ab, Token{[]byte("ab"), 257}), "its text \"ab\" is that of token 256"},
		"id too high":        {bytes(Token{[]byte("ab"), 1 << 30}), "cannot take id"},
		"rank too high":      {with(bytes(Token{[]byte("ab"), 1 << 23}), func(s *Spec) { s.Ranks = true }), "as a rank"},
		"merge of no token":  {with(bytes(ab), func(s *Spec) { s.Merges = []Merge{{97, 999, 256}} }), "not all are tokens"},
		"merge into none":    {with(bytes(), func(s *Spec) { s.Merges = []Merge{{97, 98, 256}} }), "not all are tokens"},
		"merge into other":   {with(bytes(ab), func(s *Spec) { s.Merges = []Merge{{98, 97, 256}} }), "not their concatenation"},
		"merge into part":    {with(bytes(ab), func(s *Spec) { s.Merges = []Merge{{97, 256, 256}} }), "not their concatenation"},
	} {
		if _, err := NewByteLevel(c.spec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for name, err := range map[string]error{
		"ranks":            second(NewCharacters(with(bytes(), func(s *Spec) { s.Ranks = true }))),
		"no unknown token": second(NewCharacters(with(bytes(), func(s *Spec) { s.HasUnknown, s.Unknown = true, 999 }))),
		"merge":            second(NewCharacters(with(bytes(), func(s *Spec) { s.Merges = []Merge{{97, 98, 300}} }))),
	} {
		if err == nil || errors.Unwrap(err) != nil {
			t.Errorf("characters, %s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestTablesKnowTheirSize(t *testing.T) {
	t.Parallel()
	b, _ := goldenBytes(t, "bytes.json")
	c, _ := goldenCharacters(t, "characters.json")
	if n := b.Bytes(); n < 500<<10 || n > 4<<20 {
		t.Errorf("byte level: %d bytes", n)
	}
	if n := c.Bytes(); n < 500<<10 || n > 4<<20 {
		t.Errorf("characters: %d bytes", n)
	}
}

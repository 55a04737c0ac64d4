package tokens

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const prose = "The gateway sends each prompt to the replica that already holds its prefix, " +
	"so that turn two of a conversation pays only for what is new. International " +
	"characters (Grüße, 水力発電) and numbers like 123456789 are cut too.\n\n\tcode();\n"

func TestAboutFourBytesPerToken(t *testing.T) {
	t.Parallel()
	text := strings.Repeat(prose, 20)
	if per := float64(len(text)) / float64(len(Encode(nil, text))); per < 3.5 || per > 5 {
		t.Errorf("%.2f bytes per token, want about 4", per)
	}
}

func TestWrittenWordsAreOneTokenEach(t *testing.T) {
	t.Parallel()
	w := NewWriter([]uint32{1, 2, 3}, 7, Length{Max: 200, Mean: 64, IgnoreEOS: true})
	var text strings.Builder
	var ids []uint32
	for i := range w.Tokens() {
		text.WriteString(w.Text(i))
		ids = append(ids, w.ID(i))
	}
	if got := Encode(nil, text.String()); !slices.Equal(got, ids) {
		t.Error("an answer does not tokenize to the ids that were generated")
	}
	if got := Decode(ids); got != text.String() {
		t.Errorf("decoded %q, want %q", got, text.String())
	}
}

func TestAnswerDependsOnPromptAndSeedOnly(t *testing.T) {
	t.Parallel()
	text := func(prompt []uint32, seed int64) string {
		w := NewWriter(prompt, seed, Length{Max: 40, Mean: 64, IgnoreEOS: true})
		var b strings.Builder
		for i := range w.Tokens() {
			b.WriteString(w.Text(i))
		}
		return b.String()
	}
	long := make([]uint32, 1000)
	a := text(long, 1)
	if a != text(slices.Clone(long), 1) {
		t.Error("the same request got two answers")
	}
	long[900]++
	if a == text(long, 1) || a == text(make([]uint32, 1000), 2) {
		t.Error("different requests got the same answer")
	}
}

func TestLength(t *testing.T) {
	t.Parallel()
	for n := range 200 {
		prompt := []uint32{uint32(n)}
		w := NewWriter(prompt, 0, Length{Max: 1000, Mean: 64})
		if !w.EndsItself() || w.Tokens() < 33 || w.Tokens() > 97 {
			t.Fatalf("free answer of %d tokens, ends itself %v", w.Tokens(), w.EndsItself())
		}
		if w.ID(w.Tokens()-1) != EOS || w.Text(w.Tokens()-1) != "" {
			t.Fatal("the last token of a free answer is not the end of sequence")
		}
		if w := NewWriter(prompt, 0, Length{Max: 8, Mean: 64}); w.EndsItself() || w.Tokens() != 8 {
			t.Fatalf("answer of %d tokens with a limit of 8", w.Tokens())
		}
		if w := NewWriter(prompt, 0, Length{Max: 1000, Min: 300, Mean: 64}); w.Tokens() != 301 {
			t.Fatalf("answer of %d tokens with a minimum of 300", w.Tokens())
		}
	}
}

// FuzzEncodeKeepsPrefixes checks that a longer text changes no id but the last.
func FuzzEncodeKeepsPrefixes(f *testing.F) {
	f.Add(prose, 40)
	f.Add("a  b", 2)
	f.Add(" \n word", 2)
	f.Add("\xff\xfe\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", 5)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		if cut < 0 || cut > len(text) {
			return
		}
		whole, part := Encode(nil, text), Encode(nil, text[:cut])
		if utf8.ValidString(text) && utf8.ValidString(text[:cut]) && len(part) > 1 {
			if len(whole) < len(part)-1 || !slices.Equal(whole[:len(part)-1], part[:len(part)-1]) {
				t.Errorf("%q is not a prefix of %q", text[:cut], text)
			}
		}
		total := 0
		for rest := text; len(rest) > 0; {
			n := next(rest)
			if n <= 0 {
				t.Fatal("an empty piece")
			}
			total += n
			rest = rest[n:]
		}
		if total != len(text) {
			t.Error("pieces do not add up to the text")
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	text := strings.Repeat(prose, 100)
	dst := make([]uint32, 0, len(text))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		dst = Encode(dst[:0], text)
	}
}

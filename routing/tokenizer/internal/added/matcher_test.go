package added

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// build makes a set of tokens that are looked for in text as it is.
func build(t testing.TB, tokens ...Token) *Set {
	t.Helper()
	b := &Builder{
		Find:      func([]byte) (uint32, bool) { return 0, false },
		Size:      10,
		Normalize: func(text []byte) []byte { return []byte(strings.ToLower(string(text))) },
	}
	b.Add(tokens, Counted)
	s, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// found writes what a search finds: [token] with what it takes, and the rest.
func found(m *Matcher, text string, plain Plain) string {
	var out strings.Builder
	scan := m.Scan([]byte(text))
	done := 0
	for from := 0; ; {
		match, rest, ok := scan.Next(from, done, plain)
		if !ok {
			break
		}
		if done < match.Start {
			out.WriteString(text[done:match.Start])
		}
		out.WriteString("[" + match.Token.Content + ":" + text[min(match.Start, match.End):match.End] + "]")
		done, from = match.End, rest
	}
	return out.String() + text[done:]
}

func TestSearchFindsTokensByTheirProperties(t *testing.T) {
	t.Parallel()
	s := build(
		t, Token{Content: "<a>", Special: true}, Token{Content: "<a>b"}, Token{Content: "<l>", StripLeft: true},
		Token{Content: "<r>", StripRight: true}, Token{Content: "one", SingleWord: true}, Token{Content: "\n"},
	)
	f := func(text string, plain Plain, want string) {
		t.Helper()
		if got := found(s.Raw, text, plain); got != want {
			t.Errorf("%q gives %q, not %q", text, got, want)
		}
	}
	f("", false, "")
	f("x<a>y", false, "x[<a>:<a>]y")
	f("x<a>y", true, "x<a>y")
	f("<a>b<a>", false, "[<a>b:<a>b][<a>:<a>]")
	f("x \u3000<l> y", false, "x[<l>: \u3000<l>] y")
	f("x <r> \u3000y", false, "x [<r>:<r> \u3000]y")
	f("<r>  <l>", false, "[<r>:<r>  ][<l>:<l>]")
	f("one two", false, "[one:one] two")
	f("none one1 one", false, "none one1 [one:one]")
	f("_one éone one.", false, "_one éone [one:one].")
	f("<r> \n\n x", false, "[<r>:<r> \n\n ][\n:\n][\n:\n] x")
	f("<<a", false, "<<a")
}

func TestNormalizedTokensAreFoundInTheirNormalisedForm(t *testing.T) {
	t.Parallel()
	s := build(t, Token{Content: "YES", Normalized: true}, Token{Content: "NO"})
	if got := found(s.Normalized, "yes YES no", false); got != "[YES:yes] YES no" {
		t.Errorf("got %q", got)
	}
	if got := found(s.Raw, "no NO yes", false); got != "no [NO:NO] yes" {
		t.Errorf("got %q", got)
	}
}

func TestTokensThatLookTheSameAreRefused(t *testing.T) {
	t.Parallel()
	b := &Builder{Find: func([]byte) (uint32, bool) { return 0, false }, Normalize: func([]byte) []byte { return []byte("x") }}
	b.Add([]Token{{Content: "a", Normalized: true}, {Content: "b", Normalized: true}}, Counted)
	if _, err := b.Build(); err == nil || !strings.Contains(err.Error(), `both "x"`) {
		t.Errorf("got %v", err)
	}
	b.Normalize = func([]byte) []byte { return nil }
	if _, err := b.Build(); err == nil {
		t.Error("an empty token was taken")
	}
}

func TestIdsAreCountedAsTheLibraryCounts(t *testing.T) {
	t.Parallel()
	b := &Builder{
		Find: func(text []byte) (uint32, bool) { return 4, string(text) == "known" },
		Size: 10, Normalize: func(text []byte) []byte { return text },
	}
	b.Add([]Token{{Content: "a", ID: 77}, {Content: "known", ID: 78}, {Content: "b"}, {Content: ""}}, Counted)
	b.Add([]Token{{Content: "a", Special: true}, {Content: "c"}}, Counted)
	b.Add([]Token{{Content: "far", ID: 500}}, FromFile)
	s, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]uint32{"known": 4, "b": 11, "c": 12, "a": 10, "far": 500} {
		if id, ok := s.ID(content); !ok || id != want {
			t.Errorf("%q has the id %d, %v, not %d", content, id, ok, want)
		}
	}
	if token, ok := s.Token(10); !ok || token.Content != "a" || !token.Special {
		t.Errorf("10 is %+v", token)
	}
}

// leftmostLongest is the search by the book.
func leftmostLongest(patterns []string, text string) (out string) {
	for text != "" {
		best := ""
		for _, pattern := range patterns {
			if strings.HasPrefix(text, pattern) && len(pattern) > len(best) {
				best = pattern
			}
		}
		if best != "" {
			out += "[" + best + ":" + best + "]"
			text = text[len(best):]
			continue
		}
		out += text[:1]
		text = text[1:]
	}
	return out
}

func FuzzSearchIsLeftmostLongest(f *testing.F) {
	f.Add("a ab abc b", "xabcabx")
	f.Add("< <x <xy> > { [ ( ! ? 1", "<<xy><x}([1!?")
	f.Fuzz(func(t *testing.T, list, text string) {
		if !utf8.ValidString(list) || !utf8.ValidString(text) {
			return
		}
		patterns := strings.Fields(list)
		var tokens []Token
		for _, pattern := range patterns {
			if len(pattern) > longest {
				return
			}
			tokens = append(tokens, Token{Content: pattern})
		}
		s := build(t, tokens...)
		if got, want := found(s.Raw, text, false), leftmostLongest(patterns, text); got != want {
			t.Errorf("%q in %q gives %q, not %q", patterns, text, got, want)
		}
	})
}

func BenchmarkCuts(b *testing.B) {
	text := []byte(strings.Repeat(strings.Repeat("The quick brown fox. ", 200)+"<|end|>", 90))
	for name, tokens := range map[string][]Token{
		"one first byte":   {{Content: "<|end|>"}, {Content: "<|start|>"}},
		"many first bytes": {{Content: "<|end|>"}, {Content: "{"}, {Content: "["}, {Content: "\n"}, {Content: "\t"}, {Content: "▁▁"}, {Content: "#"}},
	} {
		b.Run(name, func(b *testing.B) {
			m := build(b, tokens...).Raw
			var cuts []int
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				cuts = m.Cuts(cuts[:0], text)
			}
		})
	}
}

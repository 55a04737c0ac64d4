package pretok

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"penstock/routing/tokenizer/internal/spec"
	"penstock/routing/tokenizer/internal/unidata"
)

func plan(t testing.TB, steps ...spec.PreTokenizer) *Plan {
	t.Helper()
	p, err := New(steps, unidata.V16)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// cut gives the pieces of a text between bars.
func cut(p *Plan, text string, start Start) string {
	var a, b Pieces
	result := p.Cut(&a, &b, []byte(text), start)
	var parts []string
	from := 0
	for _, end := range result.Ends {
		parts = append(parts, string(result.Text[from:end]))
		from = end
	}
	return strings.Join(parts, "|")
}

// The example of SplitDelimiterBehavior in the library's documentation, and its
// mirror image.
func TestBehaviors(t *testing.T) {
	t.Parallel()
	for behavior, want := range map[string][2]string{
		"Removed":            {"the|final|countdown", "-|-|-"},
		"Isolated":           {"the|-|final|-|-|countdown", "the|-|final|-|-|countdown"},
		"MergedWithPrevious": {"the-|final-|-|countdown", "the|-final|-|-countdown"},
		"MergedWithNext":     {"the|-final|-|-countdown", "the-|final-|-|countdown"},
		"Contiguous":         {"the|-|final|--|countdown", "the|-|final|--|countdown"},
	} {
		for i, invert := range []bool{false, true} {
			p := plan(t, spec.PreTokenizer{Kind: "Split", Pattern: spec.Pattern{Text: "-"}, Behavior: behavior, Invert: invert})
			if got := cut(p, "the-final--countdown", Begins); got != want[i] {
				t.Errorf("%s, inverted %v, gives %q, not %q", behavior, invert, got, want[i])
			}
		}
	}
}

func TestSteps(t *testing.T) {
	t.Parallel()
	f := func(text, want string, start Start, steps ...spec.PreTokenizer) {
		t.Helper()
		if got := cut(plan(t, steps...), text, start); got != want {
			t.Errorf("%+v of %q gives %q, not %q", steps, text, got, want)
		}
	}
	meta := func(scheme string, split bool) spec.PreTokenizer {
		return spec.PreTokenizer{Kind: "Metaspace", Replacement: "_", Prepend: scheme, Split: split}
	}
	words := spec.PreTokenizer{Kind: "WhitespaceSplit"}
	f("", "", Begins, meta("always", true))
	f("a b  c ", "_a|_b|_|_c|_", Begins, meta("always", true))
	f("a b", "_a_b", Begins, meta("first", false))
	f("a b", "a_b", Inside, meta("first", false))
	f(" a", "_a", Begins, meta("always", false))
	f("_a", "_a", Begins, meta("always", false))
	f("a b", "a|_b", Begins, meta("never", true))
	f("a b", "_a|b", Begins, words, meta("first", true))
	f(" a b", "a|b", Begins, words, meta("first", true))
	f("a\t\u3000b", "a|b", Begins, words)
	f("Hey, you!_1", "Hey|,|you|!|_1", Begins, spec.PreTokenizer{Kind: "Whitespace"})
	f("Hey, you!?", "Hey|,|you|!|?", Begins, spec.PreTokenizer{Kind: "BertPreTokenizer"})
	f("a12b3", "a|1|2|b|3", Begins, spec.PreTokenizer{Kind: "Digits", Individual: true})
	f("a12b3", "a|12|b|3", Begins, spec.PreTokenizer{Kind: "Digits"})
	f("abcéde", "abc|éde", Begins, spec.PreTokenizer{Kind: "FixedLength", Length: 3})
	f("a,b", "a|b", Begins, spec.PreTokenizer{Kind: "Delimiter", Delimiter: ","})
	f("a b", " a| b", Begins, spec.PreTokenizer{Kind: "ByteLevel", AddPrefixSpace: true, UseRegex: true})
}

func TestFamiliesAreRecognised(t *testing.T) {
	t.Parallel()
	gpt2 := spec.PreTokenizer{Kind: "ByteLevel", UseRegex: true}
	p := plan(t, gpt2)
	if p.Fused == nil || p.Family != "gpt2" || !p.ByteLevel || p.Steps() != 0 {
		t.Errorf("got %+v", p)
	}
	if p = plan(t, spec.PreTokenizer{Kind: "Digits", Individual: true}, gpt2); p.Fused != nil || p.Family != "Digits+ByteLevel" || !p.ByteLevel {
		t.Errorf("got %+v", p)
	}
	_, err := New([]spec.PreTokenizer{{Kind: "Split", Pattern: spec.Pattern{Text: gpt2Pattern, Regex: true}, Behavior: "Removed"}}, unidata.V16)
	if !errors.Is(err, spec.ErrUnsupported) {
		t.Errorf("a Split that removes all gives %v", err)
	}
}

// FuzzPiecesAreTheText: steps that remove nothing leave the text, whatever it is.
func FuzzPiecesAreTheText(f *testing.F) {
	f.Add("Hello, world 12  x\n", "o")
	f.Fuzz(func(t *testing.T, text, pattern string) {
		if !utf8.ValidString(text) || !utf8.ValidString(pattern) || pattern == "" {
			return
		}
		for _, behavior := range []string{"Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"} {
			p := plan(t,
				spec.PreTokenizer{Kind: "Split", Pattern: spec.Pattern{Text: pattern}, Behavior: behavior, Invert: len(text)%2 == 0},
				spec.PreTokenizer{Kind: "Punctuation", Behavior: behavior}, spec.PreTokenizer{Kind: "Digits"},
				spec.PreTokenizer{Kind: "FixedLength", Length: 5}, spec.PreTokenizer{Kind: "ByteLevel", UseRegex: true})
			var a, b Pieces
			result := p.Cut(&a, &b, []byte(text), Begins)
			last := 0
			for _, end := range result.Ends {
				if end <= last {
					t.Errorf("an empty piece in %q", text)
				}
				last = end
			}
			if string(result.Text) != text || last != len(text) {
				t.Errorf("%s of %q leaves %q", behavior, text, result.Text)
			}
		}
	})
}

package normalize

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"penstock/routing/tokenizer/internal/spec"
	"penstock/routing/tokenizer/internal/unidata"
)

// The ids in testdata/tiny of the package above show what every step does; here are
// the parts that they do not show alone.

func chain(t testing.TB, steps ...spec.Normalizer) *Chain {
	t.Helper()
	c, err := New(steps, unidata.V16)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTextIsCutIntoGraphemes(t *testing.T) {
	t.Parallel()
	for _, want := range []string{
		"a|b", "e\u0301|x", "\r\n|\n|\r|a", "\u1100\u1161\u11a8|\u1100", "가\u11a8", "각\u11a8|가", "👨‍👩‍👧|👍🏽|a", "a\u200d|👩", "🇩🇪|🇫🇷|🇩",
		"क\u094dष", "क\u094d\u200dष", "क|ष", "\u0600a|b", "a\u0903", "\u0001|\u0301|a", "\u094d|ष",
	} {
		text := []byte(strings.ReplaceAll(want, "|", ""))
		var parts []string
		for from := 0; from < len(text); {
			end := grapheme(text, from)
			parts = append(parts, string(text[from:end]))
			from = end
		}
		if got := strings.Join(parts, "|"); got != want {
			t.Errorf("got %q, not %q", got, want)
		}
	}
}

func TestUnchangedTextIsNotCopied(t *testing.T) {
	t.Parallel()
	var s Scratch
	text := []byte("plain text")
	c := chain(t, spec.Normalizer{Kind: "NFC"}, spec.Normalizer{Kind: "Replace", Pattern: spec.Pattern{Text: "x y"}})
	if got := c.Apply(&s, text); &got[0] != &text[0] {
		t.Error("it was copied")
	}
	if got := c.Apply(&s, []byte("cafe\u0301 x y")); string(got) != "café " {
		t.Errorf("got %q", got)
	}
	if s.Trim(1); s.buffers[0] != nil {
		t.Error("a buffer was kept")
	}
	if !chain(t).Empty() || c.Empty() || !c.Drops() || chain(t, spec.Normalizer{Kind: "NFC"}).Drops() {
		t.Error("what chains do is not known")
	}
}

func TestBadStepsAreRefused(t *testing.T) {
	t.Parallel()
	f := func(n spec.Normalizer, want error) {
		t.Helper()
		if _, err := New([]spec.Normalizer{n}, unidata.V16); !errors.Is(err, want) {
			t.Errorf("%+v: %v", n, err)
		}
	}
	f(spec.Normalizer{Kind: "ByteLevel"}, spec.ErrUnsupported)
	f(spec.Normalizer{Kind: "Replace"}, spec.ErrUnsupported)
	f(spec.Normalizer{Kind: "Replace", Pattern: spec.Pattern{Text: "(", Regex: true}}, spec.ErrUnsupported)
	f(spec.Normalizer{Kind: "Precompiled"}, spec.ErrInvalid)
	f(spec.Normalizer{Kind: "Precompiled", Charsmap: []byte{8, 0, 0, 0, 1}}, spec.ErrInvalid)
	f(spec.Normalizer{Kind: "Precompiled", Charsmap: []byte{4, 0, 0, 0, 1, 1, 1, 1, 0xFF}}, spec.ErrInvalid)
}

// FuzzCharsmap reads rules that no compiler wrote.
func FuzzCharsmap(f *testing.F) {
	f.Add([]byte{4, 0, 0, 0, 0, 0, 0, 0, 'a', 0}, "text\u0301")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		c, err := newCharsmap(data)
		if err != nil || !utf8.ValidString(text) || len(text) > 100 {
			return
		}
		longest := len(c.texts) + utf8.UTFMax
		if got := c.apply(nil, []byte(text)); len(got) > len(text)*longest {
			t.Errorf("%d bytes became %d", len(text), len(got))
		}
	})
}

// FuzzQuickChecks holds the shortcut of every step to what the step does.
func FuzzQuickChecks(f *testing.F) {
	f.Add("cafe\u0301 ＡＢＣ")
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		for _, kind := range []string{"NFC", "NFD", "NFKC", "NFKD", "StripAccents", "BertNormalizer"} {
			c := chain(t, spec.Normalizer{Kind: kind, StripAccents: true, ChineseChars: true})
			for _, s := range c.steps {
				got := s.apply(nil, []byte(text))
				if s.same != nil && s.same([]byte(text)) && !bytes.Equal(got, []byte(text)) {
					t.Errorf("%s changes %q to %q", kind, text, got)
				}
				if !utf8.Valid(got) {
					t.Errorf("%s makes %q of %q", kind, got, text)
				}
			}
		}
	})
}

package runeset

import "testing"

func TestSetsHoldWhatTheyAreNamedFor(t *testing.T) {
	t.Parallel()
	f := func(name string, s *Set, in, out string) {
		t.Helper()
		for _, r := range in {
			if !s.Has(r) {
				t.Errorf("%s lacks %U", name, r)
			}
		}
		for _, r := range out {
			if s.Has(r) {
				t.Errorf("%s has %U", name, r)
			}
		}
	}
	f("Word", Word(), "aZ_0éß你٣\u0301\u200d", " -.!\u00a0‘\U000e0001")
	f("Space", Space(), " \t\n\r\u0085\u00a0\u2028\u3000", "a\u200b\u001c\ufeff")
	f("Numeric", Numeric(), "09½²Ⅷ٣①", "a.一\u0301")
	f("Punctuation", Punctuation(), "!$+<=>^`|~—«。", "a €\u0301")
	f("Control", Control(), "\u0001\u007f\u200b\ue000", "\t\n\ra ")
	f("Combining", Combining(), "\u0301\u0308", "a\u00e9")
	f("Nonspacing", Nonspacing(), "\u0301\u0308", "a\u00e9\u0903")
	for _, s := range []*Set{Word(), Space(), Numeric(), Punctuation(), Control(), Combining(), Nonspacing()} {
		if s.Has(-1) || s.Has(0x110000) {
			t.Error("a set has what is no character")
		}
		last := rune(0x7F)
		for _, r := range s.ranges {
			if r.low <= last || r.high < r.low {
				t.Errorf("the range %U to %U is out of order", r.low, r.high)
			}
			last = r.high
		}
	}
}

func TestEndsAreTrimmed(t *testing.T) {
	t.Parallel()
	text := []byte(" \u3000a b\u00a0\n")
	if left, right := Space().TrimLeft(text), Space().TrimRight(text); left != 4 || right != 7 {
		t.Errorf("got %d and %d", left, right)
	}
	if left, right := Space().TrimLeft([]byte("  ")), Space().TrimRight([]byte("  ")); left != 2 || right != 0 {
		t.Errorf("got %d and %d", left, right)
	}
}

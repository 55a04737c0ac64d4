package tokenizer

import (
	"slices"
	"strings"
	"testing"
)

// chunks cuts a text as tokenization_kimi.py does, written down once more from its
// description.
func chunks(text string) (parts []string) {
	runes := []rune(text)
	for len(runes) > 0 {
		block := runes[:min(len(runes), chunkLimit)]
		runes = runes[len(block):]
		start, run := 0, 0
		for i := range block {
			if i > 0 && pythonSpace(block[i]) != pythonSpace(block[i-1]) {
				run = 0
			}
			if run++; run > runLimit {
				parts = append(parts, string(block[start:i]))
				start, run = i, 1
			}
		}
		parts = append(parts, string(block[start:]))
	}
	return parts
}

func TestKimiCutsLongTexts(t *testing.T) {
	t.Parallel()
	m := loadTiny(t, "kimi")
	e := m.NewEncoder()
	for _, text := range []string{
		strings.Repeat("a", 2*runLimit+1), strings.Repeat("你", runLimit+7) + " x", strings.Repeat(" ", runLimit+1) + "the",
		strings.Repeat("hello ", chunkLimit/4), strings.Repeat("x", runLimit) + " " + strings.Repeat("1", runLimit+3),
	} {
		var want []uint32
		for _, part := range chunks(text) {
			// A part may be longer than the limit that begins the cutting; its halves are not.
			want, _ = e.fused(want, []byte(part))
		}
		got, err := e.Append(nil, []byte(text), 0)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%.10q of %d bytes gives %d ids, %v, not %d", text, len(text), len(got), err, len(want))
		}
	}
}

func TestTokensHaveTheirTexts(t *testing.T) {
	t.Parallel()
	f := func(name, text string, special bool) {
		t.Helper()
		m := loadTiny(t, name)
		id, found := m.TokenID(text)
		got, isSpecial, known := m.TokenText(id)
		if !found || !known || string(got) != text || isSpecial != special {
			t.Errorf("%s: %q is %d, %v, which is %q, %v, %v", name, text, id, found, got, isSpecial, known)
		}
	}
	f("cl100k", " the", false)
	f("cl100k", "\xff", false)
	f("cl100k", "<|bos|>", true)
	f("cl100k", "<tool_call>", false)
	f("llama2", "▁", false)
	f("llama2", "<0x0A>", false)
	f("kimi", "<|im_end|>", true)
	f("kimi", "\xff", false)
	f("tekken", "[INST]", true)
	f("wordpiece", "##x", false)
	m := loadTiny(t, "cl100k")
	if _, found := m.TokenID("no such token"); found {
		t.Error("a token was found that is none")
	}
	if _, _, found := m.TokenText(1 << 30); found {
		t.Error("an id was found that is none")
	}
	if i := m.Info(); i.Kind != "byte-level BPE" || i.Family != "cl100k" || i.AddedTokens != 14 || i.Bytes == 0 || len(i.Digest) != 64 {
		t.Errorf("%+v", i)
	}
}

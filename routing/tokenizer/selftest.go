package tokenizer

import (
	"bytes"
	"fmt"
	"slices"

	"penstock/routing/tokenizer/internal/added"
	"penstock/routing/tokenizer/internal/normalize"
)

// selfTexts are texts of many kinds that SelfTest encodes.
func selfTexts() []string {
	return []string{
		"Hello world, it's 2026-12-01 and we've 1234567 tokens.",
		"  leading, trailing  \n\n\tdef f(x):\r\n        return x ** 2  # comment\n",
		"你好，世界。今天天气很好！日本語のテキスト 한국어 텍스트",
		"naïve café Ångström ΑΒΓ İstanbul हिन्दी ไทย עברית العربية",
		"😀👨‍👩‍👧🇩🇪 \u0000\u200b\ufeff ½ ﬁ Ⅷ ㍿",
		"<|not_a_token|> </s> <s> [INST] {\"a\": [1, 2.5, null]} ▁▁",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	}
}

// SelfTest checks a loaded model against itself, without an oracle: ids are the same
// from cold and warm caches, the ids of a byte-level model spell the text, and a text
// may be cut at its boundaries. It takes milliseconds, and an error means that no id of
// the model is to be trusted.
func (m *Model) SelfTest() error {
	warm := m.NewEncoder()
	for _, text := range selfTexts() {
		if err := m.selfTest(warm, text); err != nil {
			return fmt.Errorf("cannot trust the tokenizer: %w", err)
		}
	}
	return nil
}

func (m *Model) selfTest(warm *Encoder, text string) error {
	cold, err := m.NewEncoder().Append(nil, []byte(text), 0)
	if err != nil {
		return err
	}
	for range 2 {
		ids, err := warm.Append(nil, []byte(text), 0)
		if err != nil {
			return err
		}
		if !slices.Equal(ids, cold) {
			return fmt.Errorf("%q gives %v and then %v", text, cold, ids)
		}
	}
	if err := m.checkSpelling(text, cold); err != nil {
		return err
	}
	return m.checkBoundaries(warm, m.mark(text))
}

// checkSpelling compares the bytes that ids stand for with the normalised text.
func (m *Model) checkSpelling(text string, ids []uint32) error {
	if m.byteLevel == nil || m.plan.Fused == nil || !m.added.Normalized.Empty() {
		return nil
	}
	for _, strips := range m.strips() {
		if bytes.Contains([]byte(text), []byte(strips.Content)) {
			return nil
		}
	}
	var scratch normalize.Scratch
	want := m.chain.Apply(&scratch, []byte(text))
	var got []byte
	for _, id := range ids {
		part, _, found := m.TokenText(id)
		if !found {
			return fmt.Errorf("%q gives the unknown id %d", text, id)
		}
		got = append(got, part...)
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("the ids of %q spell %q", text, got)
	}
	return nil
}

// strips are the added tokens that take white space with them.
func (m *Model) strips() (tokens []*added.Token) {
	m.added.Tokens(func(token *added.Token) {
		if token.StripLeft || token.StripRight {
			tokens = append(tokens, token)
		}
	})
	return tokens
}

// mark puts some added tokens, of the lowest ids, into a text.
func (m *Model) mark(text string) []byte {
	var tokens []*added.Token
	m.added.Tokens(func(token *added.Token) { tokens = append(tokens, token) })
	slices.SortFunc(tokens, func(a, b *added.Token) int { return int(a.ID) - int(b.ID) })
	var marked []byte
	for i, r := range text {
		marked = append(marked, string(r)...)
		if i%7 == 3 && len(tokens) > 0 {
			marked = append(marked, tokens[i/7%min(len(tokens), 16)].Content...)
		}
	}
	return marked
}

// checkBoundaries cuts a text at every boundary.
func (m *Model) checkBoundaries(e *Encoder, text []byte) error {
	whole, err := e.Append(nil, text, AddSpecial)
	if err != nil {
		return err
	}
	var ids []uint32
	for _, at := range e.Boundaries(nil, text) {
		if ids, err = e.Append(ids[:0], text[:at], AddSpecial|Unfinished); err != nil {
			return err
		}
		if ids, err = e.Append(ids, text[at:], AddSpecial|Continuation); err != nil {
			return err
		}
		if !slices.Equal(ids, whole) {
			return fmt.Errorf("%q cut at %d gives other ids than whole", text, at)
		}
	}
	return nil
}

package tokenizer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"penstock/routing/tokenizer/internal/added"
)

// mixed is a random text of texts and added tokens, whole and in parts.
func mixed(random *rand.Rand, texts []string, tokens []string) string {
	var b strings.Builder
	for range 1 + random.IntN(10) {
		switch text := texts[random.IntN(len(texts))]; random.IntN(4) {
		case 0:
			b.WriteString(text)
		case 1:
			b.WriteString(strings.Repeat(" ", random.IntN(3)))
		case 2:
			token := tokens[random.IntN(len(tokens))]
			runes := []rune(token)
			b.WriteString(string(runes[:1+random.IntN(len(runes))]))
		default:
			b.WriteString(tokens[random.IntN(len(tokens))])
		}
	}
	return b.String()
}

func contents(m *Model) []string {
	var list []string
	m.added.Tokens(func(token *added.Token) { list = append(list, token.Content) })
	slices.Sort(list)
	return list
}

func TestTextMayBeCutAtEveryBoundary(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	cuts := 0
	for _, name := range tiny(t) {
		m := loadTiny(t, name)
		tokens := contents(m)
		if len(tokens) == 0 {
			continue
		}
		var texts []string
		for _, c := range goldenCases(t, name) {
			texts = append(texts, c.text)
		}
		e := m.NewEncoder()
		for range 100 {
			text := mixed(random, texts, tokens)
			for _, mode := range []Mode{0, AddSpecial} {
				cuts += checkCuts(t, e, text, mode)
			}
		}
	}
	if cuts < 9000 {
		t.Errorf("only %d cuts were tried", cuts)
	}
}

// checkCuts cuts a text at each of its boundaries and compares the ids.
func checkCuts(t *testing.T, e *Encoder, text string, mode Mode) int {
	t.Helper()
	whole, err := e.Append(nil, []byte(text), mode)
	if err != nil {
		t.Fatal(err)
	}
	boundaries := e.Boundaries(nil, []byte(text))
	if !slices.IsSorted(boundaries) {
		t.Errorf("%q has the boundaries %v", text, boundaries)
	}
	for _, at := range boundaries {
		ids, _ := e.Append(nil, []byte(text[:at]), mode|Unfinished)
		ids, _ = e.Append(ids, []byte(text[at:]), mode|Continuation)
		if !slices.Equal(ids, whole) {
			t.Errorf("%q cut at %d gives %v, whole %v", text, at, ids, whole)
		}
	}
	return len(boundaries)
}

func TestSelfTestPasses(t *testing.T) {
	t.Parallel()
	for _, name := range tiny(t) {
		if err := loadTiny(t, name).SelfTest(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

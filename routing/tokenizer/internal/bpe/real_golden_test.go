package bpe

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"penstock/routing/tokenizer/internal/split"
	"penstock/routing/tokenizer/internal/unidata"
)

// realCases are texts with the ids that Hugging Face's tokenizers give them, without
// normalizer and added tokens, as [[text, ids], ...]; made on the spot, not committed.
func realCases(t *testing.T, name string) (cases []goldenCase) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "..", ".cache", "bpe", "want", name+".json"))
	if err != nil {
		t.Skipf("no wanted ids for %s", name)
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

func TestRealVocabulariesAreThoseOfTheOracle(t *testing.T) {
	t.Parallel()
	for _, name := range realByteLevel {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cases := realCases(t, name)
			spec, err := realModel(t, name).byteSpec()
			scanner, _ := split.New(realFamily[name], unidata.V16)
			e := &byteEncoder{split: scanner, worker: newByteLevel(t, spec, err).NewWorker()}
			checkReal(t, cases, func(text string) []uint32 { return e.encode(nil, []byte(text)) })
		})
	}
	for _, name := range realCharacters {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cases := realCases(t, name)
			spec, err := realModel(t, name).characterSpec()
			w := newCharacters(t, spec, err).NewWorker()
			checkReal(t, cases, func(text string) []uint32 {
				ids, _ := w.Append(nil, []byte(spaced(text)))
				return ids
			})
		})
	}
}

func checkReal(t *testing.T, cases []goldenCase, encode func(string) []uint32) {
	t.Helper()
	wrong := 0
	for range 2 {
		for _, c := range cases {
			if got := encode(c.text); !slices.Equal(got, c.ids) {
				if wrong++; wrong < 4 {
					t.Errorf("%.200q: %d tokens, want %d", c.text, len(got), len(c.ids))
				}
			}
		}
	}
	t.Logf("%d of %d wrong", wrong, 2*len(cases))
}

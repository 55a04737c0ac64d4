package bpe

import (
	"slices"
	"testing"
)

// The goldens come of Hugging Face's tokenizers and of tiktoken; see testdata/train.py.

func TestBytePiecesAreThoseOfTheOracles(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"bytes.json", "ignore.json", "ranks.json", "ranks_odd.json"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var g goldenFile
			readGolden(t, name, &g)
			valid(t, g.Cases)
			spec, err := g.byteSpec()
			checkBytes(t, newByteLevel(t, spec, err), g.Cases)
		})
	}
}

func TestCharactersAreThoseOfTheOracle(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"characters.json", "unknown_fused.json", "unknown_apart.json", "across.json"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var g goldenFile
			readGolden(t, name, &g)
			valid(t, g.Cases)
			spec, err := g.Model.characterSpec()
			checkCharacters(t, newCharacters(t, spec, err), g.Cases)
		})
	}
}

func TestByteTokensAndUnknownsMayMerge(t *testing.T) {
	t.Parallel()
	var files []goldenFile
	readGolden(t, "entangled.json", &files)
	for _, g := range files {
		spec, err := g.Model.characterSpec()
		checkCharacters(t, newCharacters(t, spec, err), g.Cases)
	}
}

func TestRandomVocabularies(t *testing.T) {
	t.Parallel()
	var files []goldenFile
	readGolden(t, "random.json", &files)
	for _, g := range files {
		spec, err := g.Model.letterSpec()
		checkBytes(t, newByteLevel(t, spec, err), g.Cases)
		spec, err = g.Model.characterSpec()
		checkCharacters(t, newCharacters(t, spec, err), g.Cases)
	}
}

// checkBytes encodes each case as one piece, cold and then from the caches.
func checkBytes(t *testing.T, b *ByteLevel, cases []goldenCase) {
	t.Helper()
	w := b.NewWorker()
	for range 3 {
		for _, c := range cases {
			if got := w.Append(nil, []byte(c.text), 0, []int{len(c.text)}); !slices.Equal(got, c.ids) {
				t.Errorf("%q: %v, want %v", c.text, got, c.ids)
			}
		}
	}
}

func checkCharacters(t *testing.T, c *Characters, cases []goldenCase) {
	t.Helper()
	w := c.NewWorker()
	for range 3 {
		for _, one := range cases {
			got, ok := w.Append(nil, []byte(spaced(one.text)))
			if !ok || !slices.Equal(got, one.ids) {
				t.Errorf("%q: %v, want %v", one.text, got, one.ids)
			}
		}
	}
}

package corpus

import (
	"bytes"
	"path/filepath"
	"testing"
	"unicode/utf8"
)

func testSpecials() []string { return []string{"<|im_start|>", "<|im_end|>", "</s>", "<｜User｜>"} }

func TestFuzzIsTheSameEveryTime(t *testing.T) {
	t.Parallel()
	a, b := Fuzz(testSpecials()), Fuzz(testSpecials())
	total := 0
	for i := range a {
		total += len(a[i].Texts)
		for j, text := range a[i].Texts {
			if !bytes.Equal(text, b[i].Texts[j]) {
				t.Fatalf("%s: text %d differs between two runs", a[i].Name, j)
			}
			if !utf8.Valid(text) {
				t.Fatalf("%s: text %d is not UTF-8: %q", a[i].Name, j, text)
			}
		}
	}
	if total < 10_000 {
		t.Errorf("%d strings, want 10,000 or more", total)
	}
}

func TestSweepHasEveryScalarValue(t *testing.T) {
	t.Parallel()
	seen := make([]bool, utf8.MaxRune+1)
	for _, text := range sweep() {
		for _, c := range string(text) {
			seen[c] = true
		}
	}
	for c := range seen {
		if surrogate := c >= 0xD800 && c <= 0xDFFF; seen[c] == surrogate {
			t.Fatalf("%U: seen is %v", c, seen[c])
		}
	}
}

func TestSetSurvivesItsFile(t *testing.T) {
	t.Parallel()
	set := Set{Name: "x", Texts: [][]byte{[]byte("a"), {}, []byte("中文\x00")}}
	path := filepath.Join(t.TempDir(), "x.texts")
	if err := set.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || !bytes.Equal(bytes.Join(got, []byte("|")), []byte("a||中文\x00")) {
		t.Errorf("read back %q", got)
	}
}

func TestDocumentsAreWholeCharacters(t *testing.T) {
	t.Parallel()
	text := bytes.Repeat([]byte("a中😀"), 1000)
	var joined []byte
	for _, doc := range Documents(text, 100) {
		if !utf8.Valid(doc) || len(doc) > 100 {
			t.Fatalf("document of %d bytes, valid UTF-8: %v", len(doc), utf8.Valid(doc))
		}
		joined = append(joined, doc...)
	}
	if !bytes.Equal(joined, text) {
		t.Error("the documents are not the text")
	}
}

func TestWeaveKeepsTheOrderOfEachPart(t *testing.T) {
	t.Parallel()
	got := weave(part{[]byte("aabbcc"), 2}, part{[]byte("123"), 1})
	if string(got) != "aa1bb2cc3" {
		t.Errorf("woven to %q", got)
	}
}

package trie

import (
	"strings"
	"testing"
)

func make16(texts ...string) *Trie {
	entries := make([]Entry, len(texts))
	for i, text := range texts {
		entries[i] = Entry{[]byte(text), int32(i)}
	}
	return New(entries)
}

func TestLongestTextIsFound(t *testing.T) {
	t.Parallel()
	tr := make16("a", "ab", "abcd", "b", "é", "a")
	f := func(text string, size int, value int32, found bool) {
		t.Helper()
		if s, v, ok := tr.Longest([]byte(text)); s != size || v != value || ok != found {
			t.Errorf("%q begins with %d bytes, %d, %v", text, s, v, ok)
		}
	}
	f("", 0, 0, false)
	f("x", 0, 0, false)
	f("a", 1, 5, true) // of equal texts the last counts
	f("abc", 2, 1, true)
	f("abcde", 4, 2, true)
	f("éa", 2, 4, true)
	if tr.Bytes() == 0 {
		t.Error("no memory")
	}
}

func FuzzLongest(f *testing.F) {
	f.Add("a ab abc b", "abcd")
	f.Fuzz(func(t *testing.T, list, text string) {
		texts := strings.Fields(list)
		want := ""
		for _, prefix := range texts {
			if strings.HasPrefix(text, prefix) && len(prefix) > len(want) {
				want = prefix
			}
		}
		size, value, found := make16(texts...).Longest([]byte(text))
		if size != len(want) || found != (want != "") || found && texts[value] != want {
			t.Errorf("%q of %q gives %d, %d, %v", text, texts, size, value, found)
		}
	})
}

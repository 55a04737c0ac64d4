package unidata

import (
	"bytes"
	"hash/fnv"
	"testing"
	"unicode/utf8"
)

// The hashes are FNV-1a over every code point that a form changes, each followed by
// what it becomes, as tokenizers 0.23.3 (for V14: 0.21.0) has them.
func TestEveryCodePointBecomesWhatTheEnginesMakeOfIt(t *testing.T) {
	t.Parallel()
	f := func(name string, change func(dst, text []byte) []byte, size int, hash uint64) {
		t.Helper()
		h := fnv.New64a()
		length := 0
		var text, to []byte
		for r := range rune(scalars) {
			if !utf8.ValidRune(r) {
				continue
			}
			text = utf8.AppendRune(text[:0], r)
			to = change(to[:0], text)
			if !bytes.Equal(text, to) {
				h.Write(text)
				h.Write(to)
				length += len(text) + len(to)
			}
		}
		if length != size || h.Sum64() != hash {
			t.Errorf("%s: %d bytes, hash %#x, want %d, %#x", name, length, h.Sum64(), size, hash)
		}
	}
	f("NFC", NFC, 7598, 0xecc7351d320e0629)
	f("NFD", NFD, 147133, 0xe2da79875347387b)
	f("NFKC", NFKC, 29729, 0x5dc8c74a44401dbf)
	f("NFKD", NFKD, 169559, 0xc91a84ad8af1975c)
	f("lower case", Classes(V16).LowerText, 8530, 0x7d95ea57f017a7fc)
	f("lower case of Unicode 14", Classes(V14).LowerText, 8108, 0xf5bd647e46d7d31a)
}

func TestLowerLeavesWhatIsNoText(t *testing.T) {
	t.Parallel()
	f := func(text, want string) {
		t.Helper()
		if got := string(Classes(V16).LowerText(nil, []byte(text))); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	f("A\xffZ\xc3", "a\xffz\xc3")
	f("ΑΣ", "ας"[:2]+"σ") // no final form
	f("İ", "i\u0307")
	f("\ufffdÉ", "\ufffdé")
}

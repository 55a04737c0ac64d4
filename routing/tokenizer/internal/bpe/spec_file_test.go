package bpe

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"unicode/utf8"
)

// modelFile is the part of a tokenizer.json that describes the merging.
type modelFile struct {
	Vocab        map[string]uint32 `json:"vocab"`
	Merges       []json.RawMessage `json:"merges"`
	Unknown      string            `json:"unk_token"`
	FuseUnknown  bool              `json:"fuse_unk"`
	ByteFallback bool              `json:"byte_fallback"`
	IgnoreMerges bool              `json:"ignore_merges"`
}

// goldenCase is [text, ids].
type goldenCase struct {
	text string
	ids  []uint32
}

func (c *goldenCase) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&c.text, &c.ids})
}

type goldenFile struct {
	Model modelFile    `json:"model"`
	Ranks []string     `json:"ranks"` // instead of Model: byte-level notation, by rank
	Cases []goldenCase `json:"cases"`
}

func readGolden(t testing.TB, name string, into any) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

// byteOf undoes the byte-level notation.
func byteOf() map[rune]byte {
	m := map[rune]byte{}
	next := rune(256)
	for b := range 256 {
		if b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae {
			m[rune(b)] = byte(b)
		} else {
			m[next] = byte(b)
			next++
		}
	}
	return m
}

func asBytes(m map[rune]byte, text string) ([]byte, bool) {
	var out []byte
	for _, r := range text {
		b, ok := m[r]
		if !ok {
			return nil, false
		}
		out = append(out, b)
	}
	return out, true
}

func (m *modelFile) merges() (out []Merge, err error) {
	for _, raw := range m.Merges {
		var both [2]string
		if raw[0] == '[' {
			err = json.Unmarshal(raw, &both)
		} else {
			var line string
			err = json.Unmarshal(raw, &line)
			both[0], both[1], _ = strings.Cut(line, " ")
		}
		if err != nil {
			return nil, err
		}
		into, ok := m.Vocab[both[0]+both[1]]
		if !ok {
			return nil, fmt.Errorf("merge %q makes no token", both)
		}
		out = append(out, Merge{m.Vocab[both[0]], m.Vocab[both[1]], into})
	}
	return out, nil
}

func (m *modelFile) tokens(text func(string) ([]byte, bool)) (out []Token) {
	for k, id := range m.Vocab {
		if b, ok := text(k); ok {
			out = append(out, Token{b, id})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out
}

func (m *modelFile) byteSpec() (*Spec, error) {
	merges, err := m.merges()
	notation := byteOf()
	tokens := m.tokens(func(k string) ([]byte, bool) { return asBytes(notation, k) })
	return &Spec{Tokens: tokens, Merges: merges, IgnoreMerges: m.IgnoreMerges}, err
}

func (m *modelFile) characterSpec() (*Spec, error) {
	merges, err := m.merges()
	s := &Spec{Merges: merges, IgnoreMerges: m.IgnoreMerges, ByteFallback: m.ByteFallback, FuseUnknown: m.FuseUnknown}
	s.Tokens = m.tokens(func(k string) ([]byte, bool) { return []byte(k), true })
	for i := range s.Bytes {
		s.Bytes[i] = NoToken
		if id, ok := m.Vocab[fmt.Sprintf("<0x%02X>", i)]; ok {
			s.Bytes[i] = id
		}
	}
	if m.Unknown != "" {
		s.Unknown, s.HasUnknown = m.Vocab[m.Unknown], true
	}
	return s, err
}

func (g *goldenFile) byteSpec() (*Spec, error) {
	if g.Ranks == nil {
		return g.Model.byteSpec()
	}
	s := &Spec{Ranks: true}
	notation := byteOf()
	for id, text := range g.Ranks {
		b, _ := asBytes(notation, text)
		s.Tokens = append(s.Tokens, Token{b, uint32(id)})
	}
	return s, nil
}

// letterSpec makes a random test model, of a few letters, byte-level: the other bytes
// get ids from 1000 on.
func (m *modelFile) letterSpec() (*Spec, error) {
	s, err := m.byteSpec()
	have := map[byte]bool{}
	for _, t := range s.Tokens {
		if len(t.Bytes) == 1 {
			have[t.Bytes[0]] = true
		}
	}
	for i := range 256 {
		if !have[byte(i)] {
			s.Tokens = append(s.Tokens, Token{[]byte{byte(i)}, uint32(1000 + i)})
		}
	}
	return s, err
}

func spaced(text string) string { return strings.ReplaceAll(text, " ", "▁") }

func newByteLevel(t testing.TB, s *Spec, err error) *ByteLevel {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewByteLevel(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newCharacters(t testing.TB, s *Spec, err error) *Characters {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCharacters(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// valid keeps golden texts honest: the readers above take them as UTF-8.
func valid(t testing.TB, cases []goldenCase) {
	t.Helper()
	if len(cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range cases {
		if !utf8.ValidString(c.text) {
			t.Fatalf("%q is not UTF-8", c.text)
		}
	}
}

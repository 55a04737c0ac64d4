// Package wordpiece encodes words as BERT does: the longest token that the word begins
// with, then the longest that its rest does. Models are immutable.
package wordpiece

import (
	"bytes"
	"unicode/utf8"

	"penstock/routing/tokenizer/internal/spec"
	"penstock/routing/tokenizer/internal/trie"
)

// Model is a WordPiece vocabulary.
type Model struct {
	begin, rest *trie.Trie
	unknown     uint32
	longest     int // characters of a word; longer ones are unknown
}

// New makes a model.
func New(m *spec.Model) *Model {
	var begin, rest []trie.Entry
	prefix := []byte(m.Prefix)
	for i := range m.Vocabulary.Len() {
		text, id := m.Vocabulary.Entry(i)
		if len(text) > 0 {
			begin = append(begin, trie.Entry{Text: text, Value: int32(id)})
		}
		if after, found := bytes.CutPrefix(text, prefix); found && len(after) > 0 {
			rest = append(rest, trie.Entry{Text: after, Value: int32(id)})
		}
	}
	return &Model{trie.New(begin), trie.New(rest), m.Unknown, m.MaxCharacters}
}

// Bytes is the memory of the tables.
func (m *Model) Bytes() int64 { return m.begin.Bytes() + m.rest.Bytes() }

// Append encodes one word. A word of which some part has no token is unknown as a
// whole.
func (m *Model) Append(dst []uint32, word []byte) []uint32 {
	if len(word) > m.longest && utf8.RuneCount(word) > m.longest {
		return append(dst, m.unknown)
	}
	before := len(dst)
	tokens := m.begin
	for len(word) > 0 {
		size, id, found := tokens.Longest(word)
		if !found {
			return append(dst[:before], m.unknown)
		}
		dst = append(dst, uint32(id))
		word = word[size:]
		tokens = m.rest
	}
	return dst
}

package tokenizer

import (
	"unicode/utf8"

	"penstock/routing/tokenizer/internal/bpe"
	"penstock/routing/tokenizer/internal/spec"
)

// notation is how the texts of a vocabulary are written.
type notation uint8

const (
	asText    notation = iota // as the text that pieces have
	asLetters                 // every byte as a printable character, GPT-2's way
	asBytes                   // as bytes
)

// letters maps bytes to the characters that GPT-2's vocabularies write them as:
// printable ones of Latin-1 as themselves, the others as those from U+0100 on.
type letters struct {
	ofByte [256]rune
	toByte [0x144]int16 // -1: no byte
}

func newLetters() *letters {
	l := &letters{}
	for i := range l.toByte {
		l.toByte[i] = -1
	}
	next := rune(0x100)
	for b := range rune(256) {
		r := b
		printable := b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE
		if !printable {
			r = next
			next++
		}
		l.ofByte[b] = r
		l.toByte[r] = int16(b)
	}
	return l
}

// decode appends the bytes that a text in this notation stands for; false when it is
// not in it, and no text can ever become it.
func (l *letters) decode(dst, text []byte) ([]byte, bool) {
	for _, r := range string(text) {
		if int(r) >= len(l.toByte) || l.toByte[r] < 0 {
			return dst, false
		}
		dst = append(dst, byte(l.toByte[r]))
	}
	return dst, true
}

// encode appends bytes in this notation.
func (l *letters) encode(dst, text []byte) []byte {
	for _, b := range text {
		dst = utf8.AppendRune(dst, l.ofByte[b])
	}
	return dst
}

// byteSpec is the vocabulary of a byte-level model. Tokens that no bytes spell are left
// out, and the merges with them.
func byteSpec(m *spec.Model, n notation) *bpe.Spec {
	s := &bpe.Spec{IgnoreMerges: m.IgnoreMerges, Ranks: m.Kind == "Ranks", Merges: m.Merges}
	if n == asBytes {
		s.Tokens = tokens(m.Vocabulary)
		return s
	}
	l := newLetters()
	v := m.Vocabulary
	arena := make([]byte, 0, v.Bytes())
	s.Tokens = make([]bpe.Token, 0, v.Len())
	left := map[uint32]bool{}
	for i := range v.Len() {
		text, id := v.Entry(i)
		start := len(arena)
		decoded, ok := l.decode(arena, text)
		if !ok || len(decoded) == start {
			left[id] = true
			continue
		}
		arena = decoded
		s.Tokens = append(s.Tokens, bpe.Token{Bytes: arena[start:len(arena):len(arena)], ID: id})
	}
	if len(left) > 0 {
		s.Merges = make([]bpe.Merge, 0, len(m.Merges))
		for _, merge := range m.Merges {
			if !left[merge.Left] && !left[merge.Right] && !left[merge.Into] {
				s.Merges = append(s.Merges, merge)
			}
		}
	}
	return s
}

// characterSpec is the vocabulary of a model that merges characters.
func characterSpec(m *spec.Model) *bpe.Spec {
	s := &bpe.Spec{
		Tokens: tokens(m.Vocabulary), Merges: m.Merges, IgnoreMerges: m.IgnoreMerges,
		ByteFallback: m.ByteFallback, HasUnknown: m.HasUnknown, Unknown: m.Unknown, FuseUnknown: m.FuseUnknown,
	}
	const digits = "0123456789ABCDEF"
	for i := range s.Bytes {
		id, found := m.Vocabulary.Find([]byte{'<', '0', 'x', digits[i>>4], digits[i&15], '>'})
		if !found {
			id = bpe.NoToken
		}
		s.Bytes[i] = id
	}
	return s
}

// tokens is the entries of a vocabulary as they are.
func tokens(v *spec.Vocabulary) []bpe.Token {
	list := make([]bpe.Token, 0, v.Len())
	for i := range v.Len() {
		if text, id := v.Entry(i); len(text) > 0 {
			list = append(list, bpe.Token{Bytes: text, ID: id})
		}
	}
	return list
}

// TokenID is the id of an added or ordinary token by its text, as TokenText gives it.
func (m *Model) TokenID(text string) (uint32, bool) {
	if id, found := m.added.ID(text); found {
		return id, true
	}
	if m.notation == asLetters {
		return m.vocabulary.Find(newLetters().encode(nil, []byte(text)))
	}
	return m.vocabulary.Find([]byte(text))
}

// TokenText is the text of an id; special is true for special added tokens. It is the
// bytes that the token stands for in a byte-level model, which need not be whole
// characters, and what the vocabulary has in others: ▁ for a space, ## before the rest
// of a word, <0x0A> for a byte.
func (m *Model) TokenText(id uint32) (text []byte, special, ok bool) {
	if token, found := m.added.Token(id); found {
		return []byte(token.Content), token.Special, true
	}
	text, ok = m.vocabulary.Text(id)
	if ok && m.notation == asLetters {
		if decoded, whole := newLetters().decode(nil, text); whole {
			return decoded, false, true
		}
	}
	return text, false, ok
}

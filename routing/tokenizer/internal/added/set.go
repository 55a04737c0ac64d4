package added

import (
	"fmt"
	"unicode/utf8"

	"penstock/routing/tokenizer/internal/runeset"
)

// Token is one added token.
type Token struct {
	Content    string
	ID         uint32
	SingleWord bool // not where a word goes on before or after it
	StripLeft  bool // takes the white space before it
	StripRight bool // takes the white space after it
	Normalized bool // is looked for in normalised text, itself normalised
	Special    bool

	cut bool // text may be cut behind it
}

// Set is the added tokens of a model. It is immutable.
type Set struct {
	byID   map[uint32]*Token
	byText map[string]uint32

	// Raw finds the tokens that are looked for before normalising, Normalized the
	// others.
	Raw, Normalized *Matcher
}

// Builder collects added tokens as the tokenizers library does (add_tokens of
// tokenizer/added_vocabulary.rs): a token that the model has keeps its id there, a new
// one gets the next free id, whatever id the file says.
type Builder struct {
	// Find looks a text up in the model's vocabulary, which has Size entries.
	Find func(text []byte) (uint32, bool)
	Size int
	// Normalize gives the normalised form of a text.
	Normalize func(text []byte) []byte

	set      Set
	specials map[string]bool // contents that were ever added as special
}

// Add adds tokens. With fixed, ids are as the tokens say.
func (b *Builder) Add(tokens []Token, fixed Ids) {
	if b.set.byID == nil {
		b.set.byID = map[uint32]*Token{}
		b.set.byText = map[string]uint32{}
		b.specials = map[string]bool{}
	}
	next := b.next()
	for _, token := range tokens {
		if token.Content == "" {
			continue
		}
		if fixed != FromFile {
			id, found := b.id(token.Content)
			if !found {
				id = next
				next++
			}
			token.ID = id
		}
		b.set.byText[token.Content] = token.ID
		if token.Special {
			b.specials[token.Content] = true
		}
		b.set.byID[token.ID] = &token
	}
}

// Ids says where ids come from.
type Ids uint8

// The two ways.
const (
	Counted  Ids = iota // from the vocabulary, or the next one
	FromFile            // as Token.ID says
)

// next is the id of the next new token.
func (b *Builder) next() uint32 {
	next := uint32(b.Size)
	for id := range b.set.byID {
		if b.Size == 0 || id >= uint32(b.Size) {
			next = max(next, id+1)
		}
	}
	return next
}

func (b *Builder) id(content string) (uint32, bool) {
	if id, found := b.set.byText[content]; found {
		return id, true
	}
	return b.Find([]byte(content))
}

// Build makes the set.
func (b *Builder) Build() (*Set, error) {
	raw, normalized := &trieBuilder{}, &trieBuilder{}
	for _, token := range b.set.byID {
		// A token stays special once it was.
		token.Special = b.specials[token.Content]
		if !token.Normalized {
			raw.add(token.Content, token)
			continue
		}
		normalized.add(string(b.Normalize([]byte(token.Content))), token)
	}
	var err error
	if b.set.Raw, err = raw.build(); err != nil {
		return nil, err
	}
	if b.set.Normalized, err = normalized.build(); err != nil {
		return nil, err
	}
	b.set.Raw.markCuts()
	return &b.set, nil
}

// Len is the number of added tokens.
func (s *Set) Len() int { return len(s.byID) }

// ID is the id of an added token by its text.
func (s *Set) ID(text string) (uint32, bool) {
	id, found := s.byText[text]
	return id, found
}

// Token is an added token by its id.
func (s *Set) Token(id uint32) (*Token, bool) {
	token, found := s.byID[id]
	return token, found
}

// Tokens calls each with every token, in no order.
func (s *Set) Tokens(each func(*Token)) {
	for _, token := range s.byID {
		each(token)
	}
}

// Match is an added token in a text, with the white space that it takes.
type Match struct {
	Start, End int
	Token      *Token
}

// Plain says whether special tokens are to be passed over.
type Plain bool

// Next finds the first token that begins at from or behind; rest is where the search
// goes on: the end of the token itself, without white space that it takes. Before is
// where the previous match ended, such white space included.
func (s *Scan) Next(from, before int, plain Plain) (match Match, rest int, found bool) {
	for {
		start, end, token := s.find(from)
		if token == nil {
			return Match{}, len(s.text), false
		}
		from = end
		if bool(plain) && token.Special || token.SingleWord && !alone(s.text, start, end) {
			continue
		}
		match = Match{start, end, token}
		if token.StripLeft {
			// White space that the previous match took already is not taken again; when
			// that match reaches behind start, the two overlap, as in the library.
			from := min(before, start)
			match.Start = max(from+runeset.Space().TrimRight(s.text[from:start]), before)
		}
		if token.StripRight {
			match.End += runeset.Space().TrimLeft(s.text[end:])
		}
		return match, end, true
	}
}

// alone says whether no word goes on before start or after end.
func alone(text []byte, start, end int) bool {
	last, _ := utf8.DecodeLastRune(text[:start])
	first, _ := utf8.DecodeRune(text[end:])
	return (start == 0 || !runeset.Word().Has(last)) && (end == len(text) || !runeset.Word().Has(first))
}

// Cuts appends the ends of those tokens in text behind which it may be cut: what is
// before and what is behind are then found as in one piece.
func (m *Matcher) Cuts(dst []int, text []byte) []int {
	scan := m.Scan(text)
	for from := 0; ; {
		_, end, token := scan.find(from)
		if token == nil {
			return dst
		}
		from = end
		if token.cut {
			dst = append(dst, end)
		}
	}
}

// markCuts finds out which tokens text may be cut behind. Matches do not overlap and
// the search goes on where one ends, so a cut there changes no other match, unless
// the token looks at what follows, or a token that wants to be alone could follow it
// and take its end for a word.
func (m *Matcher) markCuts() {
	singles := false
	for _, token := range m.tokens {
		singles = singles || token.SingleWord
	}
	for _, token := range m.tokens {
		last, _ := utf8.DecodeLastRuneInString(token.Content)
		leaves := !token.SingleWord && !token.StripLeft && !token.StripRight
		token.cut = leaves && !(singles && runeset.Word().Has(last))
	}
}

// duplicate is the error for two tokens that look the same once normalised.
func duplicate(pattern string, a, b *Token) error {
	return fmt.Errorf("added tokens %q and %q are both %q in normalised text", a.Content, b.Content, pattern)
}

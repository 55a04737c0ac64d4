package spec

import (
	"bytes"

	"penstock/routing/tokenizer/internal/bpe"
)

// modelReader reads the model part of tokenizer.json. The vocabulary is filled on
// the way; what may come before it is kept until the end.
type modelReader struct {
	*reader
	model      Model
	merges     int // where the merges begin; 0: not seen
	unknown    string
	unknownID  int64
	hasUnknown bool
	dropout    float64
}

// readModel reads the object that is next.
func (r *reader) readModel() (Model, error) {
	m := &modelReader{reader: r, unknownID: -1}
	if err := r.object(m.field); err != nil {
		return Model{}, err
	}
	if m.model.Vocabulary == nil {
		return Model{}, Invalid("model without a vocabulary")
	}
	if m.dropout != 0 {
		return Model{}, Unsupported("model dropout", "not 0: encoding would be random")
	}
	m.model.Vocabulary.Sort()
	if err := m.finish(); err != nil {
		return Model{}, err
	}
	return m.model, nil
}

// field reads the value of one key.
func (m *modelReader) field(key string) (err error) {
	switch key {
	case "type":
		m.model.Kind, err = m.text(key)
	case "vocab":
		err = m.vocabulary()
	case "merges":
		err = m.readMerges()
	case "unk_token":
		m.unknown, err = m.optionalText(key)
		m.hasUnknown = m.unknown != ""
	case "unk_id":
		m.unknownID, err = m.optionalID()
	case "dropout":
		if !m.literal("null") {
			m.dropout, err = m.float()
		}
	case "continuing_subword_prefix":
		m.model.Prefix, err = m.optionalText(key)
	case "end_of_word_suffix":
		err = m.refuseText("model end_of_word_suffix")
	case "max_input_chars_per_word":
		var limit uint32
		limit, err = m.id()
		m.model.MaxCharacters = int(limit)
	case "fuse_unk":
		m.model.FuseUnknown, err = m.optionalBool(key)
	case "byte_fallback":
		m.model.ByteFallback, err = m.optionalBool(key)
	case "ignore_merges":
		m.model.IgnoreMerges, err = m.optionalBool(key)
	default:
		return Unsupported("model option", key)
	}
	return err
}

// text reads a string value; it is never empty.
func (r *reader) text(key string) (string, error) {
	value, err := r.str()
	if err == nil && len(value) == 0 {
		return "", Invalid("%s is empty", key)
	}
	return string(value), err
}

func (r *reader) optionalText(string) (string, error) {
	if r.literal("null") {
		return "", nil
	}
	value, err := r.str()
	return string(value), err
}

func (r *reader) optionalBool(key string) (bool, error) {
	switch {
	case r.literal("true"):
		return true, nil
	case r.literal("false"), r.literal("null"):
		return false, nil
	}
	return false, Invalid("%s is neither true nor false", key)
}

func (r *reader) optionalID() (int64, error) {
	if r.literal("null") {
		return -1, nil
	}
	id, err := r.id()
	return int64(id), err
}

// refuseText takes null or an empty string and refuses every other.
func (r *reader) refuseText(part string) error {
	value, err := r.optionalText(part)
	if err == nil && value != "" {
		return Unsupported(part, value)
	}
	return err
}

// vocabulary reads an object of ids by text, or Unigram's array of texts and scores.
func (m *modelReader) vocabulary() error {
	rest := len(m.data) - m.at
	if m.next() == '[' {
		return m.scores()
	}
	entries := max(rest/64, 64) // a first guess; the table grows
	v := NewVocabulary(entries, rest/4)
	m.model.Vocabulary = v
	if err := m.expect('{'); err != nil {
		return err
	}
	for first := true; ; first = false {
		again, err := m.more(first, '}')
		if err != nil || !again {
			return err
		}
		text, err := m.key()
		if err != nil {
			return err
		}
		id, err := m.id()
		if err != nil {
			return err
		}
		if !v.Add(text, id) {
			return Invalid("a vocabulary of more than 4 GiB")
		}
	}
}

// scores reads the vocabulary of a Unigram model.
func (m *modelReader) scores() error {
	rest := len(m.data) - m.at
	m.model.Vocabulary = NewVocabulary(max(rest/32, 64), rest/4)
	m.at++
	for first := true; ; first = false {
		again, err := m.more(first, ']')
		if err != nil || !again {
			return err
		}
		if err := m.score(); err != nil {
			return err
		}
	}
}

// score reads one text with its score.
func (m *modelReader) score() error {
	if err := m.expect('['); err != nil {
		return err
	}
	text, err := m.str()
	if err != nil {
		return err
	}
	if !m.model.Vocabulary.Add(text, uint32(len(m.model.Scores))) {
		return Invalid("a vocabulary of more than 4 GiB")
	}
	if err := m.expect(','); err != nil {
		return err
	}
	value, err := m.float()
	if err != nil {
		return err
	}
	m.model.Scores = append(m.model.Scores, value)
	return m.expect(']')
}

// readMerges reads the merges, or remembers where they are when the vocabulary is
// yet to come.
func (m *modelReader) readMerges() error {
	m.next()
	if m.model.Vocabulary == nil {
		m.merges = m.at
		return m.skip(0)
	}
	m.merges = m.at
	return m.mergeList()
}

// mergeList reads "a b" strings or ["a", "b"] pairs.
func (m *modelReader) mergeList() error {
	if err := m.expect('['); err != nil {
		return err
	}
	m.model.Merges = make([]bpe.Merge, 0, (len(m.data)-m.at)/40)
	var joined []byte
	pairs := m.next() == '['
	for first := true; ; first = false {
		again, err := m.more(first, ']')
		if err != nil || !again {
			return err
		}
		var left int
		if pairs {
			joined, left, err = m.pair(joined[:0])
		} else {
			joined, left, err = m.spaced(joined[:0])
		}
		if err != nil {
			return err
		}
		if left < 0 {
			continue // a comment
		}
		if err := m.merge(joined, left); err != nil {
			return err
		}
	}
}

// pair reads ["a", "b"] as one text and where its second part begins.
func (m *modelReader) pair(joined []byte) (text []byte, left int, err error) {
	if err := m.expect('['); err != nil {
		return nil, 0, err
	}
	part, err := m.str()
	if err != nil {
		return nil, 0, err
	}
	joined = append(joined, part...)
	left = len(joined)
	if err := m.expect(','); err != nil {
		return nil, 0, err
	}
	if part, err = m.str(); err != nil {
		return nil, 0, err
	}
	return append(joined, part...), left, m.expect(']')
}

// spaced reads "a b" in the same way; left is -1 for the line with the version that
// merges.txt began with, which is skipped.
func (m *modelReader) spaced(joined []byte) (text []byte, left int, err error) {
	line, err := m.str()
	if err != nil {
		return nil, 0, err
	}
	if bytes.HasPrefix(line, []byte("#version")) {
		return joined, -1, nil
	}
	left = bytes.IndexByte(line, ' ')
	if left < 0 || bytes.IndexByte(line[left+1:], ' ') >= 0 {
		return nil, 0, Invalid("merge %q is not of two parts", line)
	}
	joined = append(joined, line[:left]...)
	return append(joined, line[left+1:]...), left, nil
}

// merge appends one merge.
func (m *modelReader) merge(joined []byte, left int) error {
	v := m.model.Vocabulary
	a, okLeft := v.Find(joined[:left])
	b, okRight := v.Find(joined[left:])
	into, okInto := v.Find(joined)
	if !okLeft || !okRight || !okInto {
		return Invalid("merge of %q and %q: not all three are in the vocabulary", joined[:left], joined[left:])
	}
	m.model.Merges = append(m.model.Merges, bpe.Merge{Left: a, Right: b, Into: into})
	return nil
}

// finish checks what depends on the kind of model.
func (m *modelReader) finish() error {
	switch m.model.Kind {
	case "BPE":
		return m.finishBPE()
	case "Unigram":
		return m.finishUnigram()
	case "WordPiece":
		return m.finishWordPiece()
	case "":
		return Unsupported("model type", "none: a file of before 2020")
	}
	return Unsupported("model type", m.model.Kind)
}

func (m *modelReader) finishBPE() error {
	if m.model.Scores != nil || m.merges == 0 {
		return Invalid("a BPE model without a vocabulary of ids and merges")
	}
	if m.model.Prefix != "" {
		return Unsupported("model continuing_subword_prefix", m.model.Prefix)
	}
	if m.model.Merges == nil {
		end := m.at
		m.at = m.merges
		err := m.mergeList()
		m.at = end
		if err != nil {
			return err
		}
	}
	return m.findUnknown()
}

// findUnknown looks the unknown token up. The library complains only once it needs a
// token that the vocabulary lacks, which byte-level models never do.
func (m *modelReader) findUnknown() error {
	if !m.hasUnknown {
		return nil
	}
	id, found := m.model.Vocabulary.Find([]byte(m.unknown))
	m.model.HasUnknown, m.model.Unknown = found, id
	if !found {
		m.model.Missing = m.unknown
	}
	return nil
}

func (m *modelReader) finishUnigram() error {
	if m.model.Scores == nil {
		return Invalid("a Unigram model without scores")
	}
	if m.unknownID >= int64(len(m.model.Scores)) {
		return Invalid("unk_id %d is not in the vocabulary", m.unknownID)
	}
	if m.unknownID >= 0 {
		m.model.HasUnknown, m.model.Unknown = true, uint32(m.unknownID)
	}
	return nil
}

func (m *modelReader) finishWordPiece() error {
	if m.model.Scores != nil {
		return Invalid("a WordPiece model with scores")
	}
	if err := m.findUnknown(); err != nil {
		return err
	}
	if !m.model.HasUnknown {
		return Invalid("a WordPiece model without unk_token")
	}
	return nil
}

package tokenizer

import (
	"fmt"
	"io/fs"

	"penstock/routing/tokenizer/internal/added"
	"penstock/routing/tokenizer/internal/bpe"
	"penstock/routing/tokenizer/internal/normalize"
	"penstock/routing/tokenizer/internal/post"
	"penstock/routing/tokenizer/internal/pretok"
	"penstock/routing/tokenizer/internal/spec"
	"penstock/routing/tokenizer/internal/unigram"
	"penstock/routing/tokenizer/internal/wordpiece"
)

// Options is how a tokenizer is loaded.
type Options struct {
	Unicode Unicode // zero: Unicode16
}

// Load reads a tokenizer from a Hugging Face folder or a folder with a tiktoken or
// Tekken file.
//
// A tokenizer.json is read as the engines do, by the AutoTokenizer of transformers 5:
// for the model type that config.json names, some classes replace parts of the file
// (Llama 2's normalizer, for one); tokenizer_config.json adds special tokens, and
// decides with split_special_tokens whether any are found in text; its add_bos_token
// and add_eos_token are not read, and neither are truncation and padding of
// tokenizer.json, which engines switch off. Without a config.json the tokenizer.json
// counts as it is. Code that a folder brings along (auto_map) is not looked at: an
// engine that trusts it may do something else.
//
// tekken.json is taken when there is no tokenizer.json, or beside consolidated weights,
// as vLLM does. Its special tokens are found in text like others; mistral_common
// itself never finds any, so text of clients is to be encoded with PlainText. A tiktoken
// file is read as Kimi's code does when tokenizer_config.json names that, else as
// transformers converts it.
func Load(files fs.FS, o Options) (*Model, error) {
	t, err := spec.Load(files)
	if err != nil {
		return nil, fmt.Errorf("cannot load a tokenizer: %w", err)
	}
	m, err := build(t, o)
	if err != nil {
		return nil, fmt.Errorf("cannot load a tokenizer: %w", err)
	}
	return m, nil
}

// build makes a model of what the files say.
func build(t *spec.Tokenizer, o Options) (*Model, error) {
	m := &Model{vocabulary: t.Model.Vocabulary, plain: t.PlainText, chunks: t.Chunks}
	var err error
	if m.chain, err = normalize.New(t.Normalizers, o.Unicode); err != nil {
		return nil, err
	}
	if m.plan, err = pretok.New(t.Splits, o.Unicode); err != nil {
		return nil, err
	}
	if m.plan.First && m.chain.Drops() {
		return nil, spec.Unsupported("pre_tokenizer Metaspace prepend_scheme first", "behind a normalizer that drops characters")
	}
	if err := m.buildModel(&t.Model); err != nil {
		return nil, err
	}
	if err := m.buildAdded(t); err != nil {
		return nil, err
	}
	if m.frame, err = post.New(t.Post, m.TokenID); err != nil {
		return nil, err
	}
	m.describe(t, o)
	return m, nil
}

// buildModel makes the tables of what encodes pieces.
func (m *Model) buildModel(s *spec.Model) (err error) {
	switch {
	case s.Kind == "Unigram":
		m.info.Kind = "Unigram"
		m.unigram, err = unigram.New(s)
		return err
	case s.Kind == "WordPiece":
		m.info.Kind = "WordPiece"
		m.wordPiece = wordpiece.New(s)
		return nil
	case s.Kind == "Ranks":
		m.info.Kind, m.notation = "tiktoken", asBytes
	case m.plan.ByteLevel:
		m.info.Kind, m.notation = "byte-level BPE", asLetters
	default:
		m.info.Kind = "SentencePiece BPE"
		if s.Missing != "" {
			return spec.Invalid("unk_token %q is not in the vocabulary", s.Missing)
		}
		if m.characters, err = bpe.NewCharacters(characterSpec(s)); err != nil {
			return fmt.Errorf("%w: model BPE: %w", ErrInvalid, err)
		}
		return nil
	}
	if m.byteLevel, err = bpe.NewByteLevel(byteSpec(s, m.notation)); err != nil {
		return fmt.Errorf("%w: model BPE: %w", ErrInvalid, err)
	}
	return nil
}

// buildAdded makes the set of added tokens.
func (m *Model) buildAdded(t *spec.Tokenizer) (err error) {
	var scratch normalize.Scratch
	b := &added.Builder{
		Find:      m.vocabulary.Find,
		Size:      m.vocabulary.Len(),
		Normalize: func(text []byte) []byte { return m.chain.Apply(&scratch, text) },
	}
	ids := added.Counted
	if t.FixedIDs {
		ids = added.FromFile
	}
	for _, batch := range t.Added {
		tokens := make([]added.Token, len(batch))
		for i, token := range batch {
			tokens[i] = added.Token{
				Content: token.Content, ID: token.ID, SingleWord: token.SingleWord,
				StripLeft: token.StripLeft, StripRight: token.StripRight,
				Normalized: token.Normalized, Special: token.Special,
			}
		}
		b.Add(tokens, ids)
	}
	if m.added, err = b.Build(); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}

// describe fills the description in.
func (m *Model) describe(t *spec.Tokenizer, o Options) {
	i := &m.info
	if t.Format == "tekken.json" {
		i.Kind = "Tekken"
	}
	i.Family, i.Unicode, i.Digest = m.plan.Family, o.Unicode, t.Digest
	i.AddedTokens = m.added.Len()
	i.Vocabulary = m.vocabulary.Len()
	m.added.Tokens(func(token *added.Token) {
		if _, found := m.vocabulary.Text(token.ID); !found {
			i.Vocabulary++
		}
	})
	i.Bytes = m.vocabulary.Bytes() + m.added.Raw.Bytes() + m.added.Normalized.Bytes()
	switch {
	case m.byteLevel != nil:
		i.Bytes += m.byteLevel.Bytes()
	case m.characters != nil:
		i.Bytes += m.characters.Bytes()
	case m.unigram != nil:
		i.Bytes += m.unigram.Bytes()
	case m.wordPiece != nil:
		i.Bytes += m.wordPiece.Bytes()
	}
}

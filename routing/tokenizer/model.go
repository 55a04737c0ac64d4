package tokenizer

import (
	"penstock/routing/tokenizer/internal/added"
	"penstock/routing/tokenizer/internal/bpe"
	"penstock/routing/tokenizer/internal/normalize"
	"penstock/routing/tokenizer/internal/post"
	"penstock/routing/tokenizer/internal/pretok"
	"penstock/routing/tokenizer/internal/spec"
	"penstock/routing/tokenizer/internal/unidata"
	"penstock/routing/tokenizer/internal/unigram"
	"penstock/routing/tokenizer/internal/wordpiece"
)

// Unicode names the version of the character classes an engine's tokenizer was
// built with. It is a property of the engine's image, not of the model.
type Unicode = unidata.Version

// Versions of the classes: tokenizers up to 0.21.1 have 14, from 0.21.2 on 16.
const (
	Unicode16 = unidata.V16 // the default
	Unicode14 = unidata.V14
)

// Model is one loaded tokenizer. It is immutable and safe for concurrent use.
type Model struct {
	info       Info
	vocabulary *spec.Vocabulary
	notation   notation
	added      *added.Set
	chain      *normalize.Chain
	plan       *pretok.Plan
	frame      *post.Frame
	plain      bool // special tokens in text are never found
	chunks     bool // long texts are cut as Kimi's code does

	// One of these encodes pieces.
	byteLevel  *bpe.ByteLevel
	characters *bpe.Characters
	unigram    *unigram.Model
	wordPiece  *wordpiece.Model
}

// Info describes a model, for logs, the API and `penstock tokenize`.
type Info struct {
	Kind        string // byte-level BPE, SentencePiece BPE, Unigram, WordPiece, tiktoken, Tekken
	Family      string // scanner of the pre-tokenizer: cl100k, qwen2, o200k, ...; else its steps
	Vocabulary  int    // ids, added tokens included
	AddedTokens int
	Unicode     Unicode
	Bytes       int64  // memory of the shared tables
	Digest      string // SHA-256 of the files read, hex
}

// Info describes the model.
func (m *Model) Info() Info { return m.info }

// NewEncoder makes the scratch memory and the pre-token cache of one user.
func (m *Model) NewEncoder() *Encoder {
	e := &Encoder{model: m}
	switch {
	case m.byteLevel != nil:
		e.bytes = m.byteLevel.NewWorker()
	case m.characters != nil:
		e.characters = m.characters.NewWorker()
	case m.unigram != nil:
		e.unigram = m.unigram.NewWorker()
	}
	return e
}

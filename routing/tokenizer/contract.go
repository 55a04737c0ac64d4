package tokenizer

import (
	"errors"
	"io/fs"

	"penstock/routing/tokenizer/internal/unidata"
)

// Unicode names the version of the character classes an engine's tokenizer was
// built with. It is a property of the engine's image, not of the model.
type Unicode = unidata.Version

// Versions of the classes: tokenizers up to 0.21.1 have 14, from 0.21.2 on 16.
const (
	Unicode16 = unidata.V16 // the default
	Unicode14 = unidata.V14
)

// Options is how a tokenizer is loaded.
type Options struct {
	Unicode Unicode // zero: Unicode16
}

// Mode says how a piece of text is encoded.
type Mode uint8

const (
	// AddSpecial adds what the model's post-processor adds (BOS, EOS). Prompts of
	// /v1/completions have it, rendered chat templates do not.
	AddSpecial Mode = 1 << iota
	// Continuation says that the text follows, in the same prompt, a boundary that
	// Encoder.Boundaries gave: nothing that only the start of a prompt gets is added.
	Continuation
	// PlainText keeps special tokens that were typed into the text as ordinary text.
	PlainText
)

// Errors of Load and Append; test with errors.Is.
var (
	ErrUnsupported = errors.New("tokenizer: not supported")  // the text names the part, e.g. its pre_tokenizer
	ErrInvalid     = errors.New("tokenizer: invalid file")   // the file contradicts itself
	ErrExpired     = errors.New("tokenizer: out of time")    // Encoder.Expired said so
	ErrText        = errors.New("tokenizer: text not valid") // not UTF-8
)

// Model is one loaded tokenizer. It is immutable and safe for concurrent use.
type Model struct{}

// Info describes a model, for logs, the API and `penstock tokenize`.
type Info struct {
	Kind        string // byte-level BPE, SentencePiece BPE, Unigram, WordPiece, tiktoken
	Family      string // scanner of the pre-tokenizer: cl100k, qwen2, o200k, deepseek_v3, ...
	Vocabulary  int    // ids, added tokens included
	AddedTokens int
	Unicode     Unicode
	Bytes       int64  // memory of the shared tables
	Digest      string // SHA-256 of the files read, hex
}

// Load reads a tokenizer from a Hugging Face folder (tokenizer.json, with
// tokenizer_config.json beside it) or a folder with a tiktoken or Tekken file.
func Load(files fs.FS, o Options) (*Model, error) { panic("not built yet") }

// Info describes the model.
func (m *Model) Info() Info { panic("not built yet") }

// TokenID is the id of an added or ordinary token by its text.
func (m *Model) TokenID(text string) (uint32, bool) { panic("not built yet") }

// TokenText is the text of an id; special is true for special added tokens.
func (m *Model) TokenText(id uint32) (text []byte, special, ok bool) { panic("not built yet") }

// NewEncoder makes the scratch memory and the pre-token cache of one user.
func (m *Model) NewEncoder() *Encoder { panic("not built yet") }

// Encoder encodes text with a Model. It is for one goroutine at a time; keep it in a
// pool. Warm, it allocates nothing.
type Encoder struct {
	// Expired, when set, is asked now and then during Append, which ends with
	// ErrExpired once it says true.
	Expired func() bool
}

// Append encodes text and appends the ids to dst.
func (e *Encoder) Append(dst []uint32, text []byte, m Mode) ([]uint32, error) {
	panic("not built yet")
}

// Boundaries appends the offsets in text, ascending, at which it may be cut: for
// every offset b, Append(text[:b], m) followed by Append(text[b:], m|Continuation)
// gives the ids of Append(text, m). They are the ends of those added tokens that no
// other token can straddle and that leave the text around them alone.
func (e *Encoder) Boundaries(dst []int, text []byte) []int { panic("not built yet") }

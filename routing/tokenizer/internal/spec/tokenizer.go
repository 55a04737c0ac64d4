package spec

import "penstock/routing/tokenizer/internal/bpe"

// Tokenizer is what the files of a tokenizer say, with what engines add to it.
type Tokenizer struct {
	Format      string         // tokenizer.json, tiktoken, tekken.json
	Added       [][]AddedToken // batches, in the order in which they are added
	Normalizers []Normalizer   // in order; Sequences are flattened
	Splits      []PreTokenizer // in order
	Post        []PostProcessor
	Model       Model
	PlainText   bool // split_special_tokens of tokenizer_config.json
	Chunks      bool // Kimi's code cuts long texts before it encodes them
	FixedIDs    bool // added tokens have the ids that they say
	Digest      string
}

// AddedToken is one entry of added_tokens.
type AddedToken struct {
	Content    string
	ID         uint32 // where a file says it; the library gives ids anew
	SingleWord bool   // not inside of a word
	StripLeft  bool   // takes the white space before it
	StripRight bool
	Normalized bool // is looked for in normalised text
	Special    bool
}

// Normalizer is one step of normalising text; fields that its Kind lacks are zero.
type Normalizer struct {
	Kind string // as in the file: NFC, Replace, ...

	Text    string // what Prepend adds, what Replace puts in
	Pattern Pattern

	Left, Right  bool // Strip
	CleanText    bool // BertNormalizer, this and the following
	ChineseChars bool
	StripAccents bool
	Lowercase    bool

	Charsmap []byte // Precompiled
}

// Pattern is a text or a regular expression to look for.
type Pattern struct {
	Text  string
	Regex bool
}

// PreTokenizer is one step of cutting text; fields that its Kind lacks are zero.
type PreTokenizer struct {
	Kind string // as in the file: Split, ByteLevel, ...

	Pattern  Pattern // Split
	Behavior string  // Split, Punctuation: Isolated, Removed, ...
	Invert   bool

	AddPrefixSpace bool // ByteLevel
	UseRegex       bool

	Individual  bool   // Digits
	Replacement string // Metaspace: one character
	Prepend     string // Metaspace: first, always, never
	Split       bool   // Metaspace
	Delimiter   string // CharDelimiterSplit: one character
	Length      int    // FixedLength
}

// PostProcessor is one step of adding what a prompt begins and ends with.
type PostProcessor struct {
	Kind          string
	Before, After []uint32

	// Instead of ids, where a class names tokens; empty: none.
	BeforeText, AfterText string
}

// Model is what turns pieces into ids.
type Model struct {
	Kind       string // BPE, Unigram, WordPiece, Ranks (tiktoken)
	Vocabulary *Vocabulary
	Merges     []bpe.Merge

	FuseUnknown  bool
	ByteFallback bool
	IgnoreMerges bool

	HasUnknown bool
	Unknown    uint32
	Missing    string // the unknown token, where the vocabulary lacks it

	Scores        []float64 // Unigram, by id
	Prefix        string    // WordPiece: what continuing pieces begin with
	MaxCharacters int       // WordPiece: words of more are unknown
}

package bpe

// Token is one ordinary entry of a vocabulary. Bytes are the bytes it stands for
// (byte-level notation undone, ▁ left as it is).
type Token struct {
	Bytes []byte
	ID    uint32
}

// Merge joins two tokens into a third; a Spec lists merges from the first to be
// applied to the last.
type Merge struct{ Left, Right, Into uint32 }

// Spec is a vocabulary as a file gives it.
type Spec struct {
	Tokens       []Token
	Merges       []Merge // nil with Ranks
	IgnoreMerges bool    // a whole piece that is a token is that token, without merging
	Ranks        bool    // tiktoken: the pair whose bytes have the lowest id merges first; implies IgnoreMerges

	// For NewCharacters only.
	ByteFallback bool // characters without a token become <0xNN> tokens
	Bytes        [256]uint32
	HasUnknown   bool
	Unknown      uint32
	FuseUnknown  bool // neighbouring unknowns become one
}

// ByteLevel merges the bytes of pieces. It is immutable and shared.
type ByteLevel struct{}

// NewByteLevel builds the tables of a vocabulary whose every byte is a token.
func NewByteLevel(s *Spec) (*ByteLevel, error) { panic("not built yet") }

// Bytes is the memory of the tables.
func (b *ByteLevel) Bytes() int64 { panic("not built yet") }

// NewWorker makes the scratch memory and piece cache of one user.
func (b *ByteLevel) NewWorker() *Worker { panic("not built yet") }

// Worker encodes pieces; for one goroutine at a time.
type Worker struct{}

// Append encodes the pieces of text from offset from to ends[0], ends[0] to ends[1]
// and so on, and appends the ids to dst.
func (w *Worker) Append(dst []uint32, text []byte, from int, ends []int) []uint32 {
	panic("not built yet")
}

// Characters merges the characters of whole texts, in which spaces are ▁ already or
// are to be read as such (Spec of Llama 2, Mistral v1 to v3, Gemma). It is immutable.
type Characters struct{}

// NewCharacters builds the tables, and finds at load where a text may be cut into
// independent pieces (before a run of ▁, unless a token holds one after the
// character before).
func NewCharacters(s *Spec) (*Characters, error) { panic("not built yet") }

// Bytes is the memory of the tables.
func (c *Characters) Bytes() int64 { panic("not built yet") }

// NewWorker makes the scratch memory and piece cache of one user.
func (c *Characters) NewWorker() *CharWorker { panic("not built yet") }

// CharWorker encodes texts; for one goroutine at a time.
type CharWorker struct {
	// Expired, when set, is asked every few hundred pieces; Append stops when it
	// says true, with ok false.
	Expired func() bool
}

// Append encodes normalised text (spaces already written as ▁) and appends to dst.
func (w *CharWorker) Append(dst []uint32, text []byte) (ids []uint32, ok bool) {
	panic("not built yet")
}

package keys

import (
	"fmt"

	"penstock/routing/internal/gmac"
	"penstock/routing/tokenizer"
)

// Options is how a pool's prompts are keyed.
type Options struct {
	// BlockSize is the number of tokens in a block, as in the pool's engines.
	BlockSize int
	// MemoBytes bounds the memo; 0 turns it off.
	MemoBytes int64
	// Secret keys the memo's tags: SecretSize bytes, drawn at random for the process.
	Secret []byte
}

// maxBlockSize is beyond any engine's (TensorRT-LLM goes up to 128, caches to 512).
const maxBlockSize = 4096

// Keyer makes the keys of one pool's prompts with one tokenizer.
type Keyer struct {
	encoders  func() encoder
	blockSize int
	tags      gmac.Key
	memo      *memo // nil: off
}

// encoder is what is needed of a tokenizer.Encoder.
type encoder interface {
	Append(dst []uint32, text []byte, m tokenizer.Mode) ([]uint32, error)
	Boundaries(dst []int, text []byte) []int
}

var _ encoder = (*tokenizer.Encoder)(nil)

// New makes a Keyer.
func New(m *tokenizer.Model, o Options) (*Keyer, error) {
	return newKeyer(func() encoder { return m.NewEncoder() }, o)
}

func newKeyer(encoders func() encoder, o Options) (*Keyer, error) {
	if o.BlockSize < 1 || o.BlockSize > maxBlockSize {
		return nil, fmt.Errorf("cannot use a block size of %d tokens: want 1 to %d", o.BlockSize, maxBlockSize)
	}
	k := &Keyer{encoders: encoders, blockSize: o.BlockSize}
	if o.MemoBytes <= 0 {
		return k, nil
	}
	var err error
	if k.tags, err = gmac.New(o.Secret); err != nil {
		return nil, err
	}
	k.memo = newMemo(o.MemoBytes)
	return k, nil
}

// BlockSize is the number of tokens in a block.
func (k *Keyer) BlockSize() int { return k.blockSize }

// Memo is the size of the memo: places remembered, and their bytes.
func (k *Keyer) Memo() (places int, bytes int64) {
	if k.memo == nil {
		return 0, 0
	}
	return k.memo.size()
}

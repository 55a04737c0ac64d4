package keys

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// Keys is what a prompt is looked up by. It is reusable: Key resets it and keeps its
// memory.
type Keys struct {
	// Tokens is the length of the prompt in tokens, as far as its text is known.
	Tokens int
	// Blocks are the keys of the full blocks, each chained to the one before.
	Blocks []uint64
	// KnownTokens of them came from the memo, NewTokens were tokenized or hashed now.
	KnownTokens, NewTokens int
	// KnownBytes of text were looked up in the memo, NewBytes tokenized.
	KnownBytes, NewBytes int
}

// Reset forgets the keys and keeps the memory.
func (k *Keys) Reset() { *k = Keys{Blocks: k.Blocks[:0]} }

// Chain is the key of a block of tokens that follows the block with key parent; for
// the first block parent is the namespace. It is XXH64, seed 0, over parent and the
// ids, 8 and 4 bytes each, little-endian.
func Chain(parent uint64, block []uint32) uint64 {
	const atOnce = 64 // ids; engines have blocks of 16 to 64
	var memory [8 + 4*atOnce]byte
	buffer := binary.LittleEndian.AppendUint64(memory[:0], parent)
	if len(block) <= atOnce {
		return xxhash.Sum64(appendIDs(buffer, block))
	}
	var d xxhash.Digest
	d.Reset()
	for ; len(block) > 0; block = block[min(len(block), atOnce):] {
		buffer = appendIDs(buffer, block[:min(len(block), atOnce)])
		_, _ = d.Write(buffer)
		buffer = buffer[:0]
	}
	return d.Sum64()
}

func appendIDs(buffer []byte, ids []uint32) []byte {
	for _, id := range ids {
		buffer = binary.LittleEndian.AppendUint32(buffer, id)
	}
	return buffer
}

// Namespace sets apart what may not share KV cache: models, adapters, and tenants
// with a cache salt. Empty names count too; the parts cannot be shifted into each
// other.
func Namespace(model, adapter, salt string) uint64 {
	var d xxhash.Digest
	d.Reset()
	for _, part := range [...]string{model, adapter, salt} {
		var size [8]byte
		binary.LittleEndian.PutUint64(size[:], uint64(len(part)))
		_, _ = d.Write(size[:]) // a digest takes everything
		_, _ = d.WriteString(part)
	}
	return d.Sum64()
}

// FromTokens makes the keys of a prompt that is token ids already.
func FromTokens(ids []uint32, blockSize int, namespace uint64, dst *Keys) {
	dst.Reset()
	dst.Tokens, dst.NewTokens = len(ids), len(ids)
	parent := namespace
	for ; len(ids) >= blockSize; ids = ids[blockSize:] {
		parent = Chain(parent, ids[:blockSize])
		dst.Blocks = append(dst.Blocks, parent)
	}
}

// textDomain keeps keys of text apart from keys of tokens.
const textDomain = 0x9d5c_51e1_7e87_2a6b

// BytesPerToken is the guess behind FromText: English under the common vocabularies
// has a little over four bytes a token.
const BytesPerToken = 4

// FromText makes keys of text whose tokens are not known, over blocks of as many bytes
// as blockSize tokens take by the guess. They compare only with others of FromText:
// what this gateway routed, not what engines tell about their blocks.
func FromText(text []byte, blockSize int, namespace uint64, dst *Keys) {
	dst.Reset()
	dst.NewBytes = len(text)
	dst.Tokens = len(text) / BytesPerToken
	dst.NewTokens = dst.Tokens
	size := blockSize * BytesPerToken
	parent := namespace ^ textDomain
	var d xxhash.Digest
	for ; len(text) >= size; text = text[size:] {
		d.ResetWithSeed(parent)
		_, _ = d.Write(text[:size])
		parent = d.Sum64()
		dst.Blocks = append(dst.Blocks, parent)
	}
}

// chain turns ids, given piece by piece, into block keys.
type chain struct {
	size   int
	parent uint64   // key of the last full block, or the namespace
	tail   []uint32 // ids after it, fewer than size
	blocks []uint64
	tokens int
}

// add appends ids to the chain.
func (c *chain) add(ids []uint32) {
	c.tokens += len(ids)
	if len(c.tail) > 0 {
		n := min(len(ids), c.size-len(c.tail))
		c.tail = append(c.tail, ids[:n]...)
		ids = ids[n:]
		if len(c.tail) < c.size {
			return
		}
		c.push(c.tail)
		c.tail = c.tail[:0]
	}
	for ; len(ids) >= c.size; ids = ids[c.size:] {
		c.push(ids[:c.size])
	}
	c.tail = append(c.tail, ids...)
}

func (c *chain) push(block []uint32) {
	c.parent = Chain(c.parent, block)
	c.blocks = append(c.blocks, c.parent)
}

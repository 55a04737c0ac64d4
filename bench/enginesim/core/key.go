package core

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// Key names the content of a block and of everything before it.
type Key uint64

// RootKey is the parent of the first block in the namespace of adapter and salt.
func RootKey(adapter, salt string) Key {
	if adapter == "" && salt == "" {
		return 0
	}
	d := xxhash.New()
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(len(adapter))) // so that ("a","b") differs from ("ab","")
	_, _ = d.Write(n[:])
	_, _ = d.WriteString(adapter)
	_, _ = d.WriteString(salt)
	return Key(d.Sum64())
}

// ChainKey is the key of the block with tokens that follows parent.
func ChainKey(parent Key, tokens []uint32) Key {
	var stack [8 + 4*64]byte
	buf := stack[:0]
	if need := 8 + 4*len(tokens); need > len(stack) {
		buf = make([]byte, 0, need)
	}
	buf = binary.LittleEndian.AppendUint64(buf, uint64(parent))
	for _, t := range tokens {
		buf = binary.LittleEndian.AppendUint32(buf, t)
	}
	return Key(xxhash.Sum64(buf))
}

// Keys chains the full blocks of tokens.
func Keys(root Key, tokens []uint32, blockSize int) []Key {
	keys := make([]Key, 0, len(tokens)/blockSize)
	parent := root
	for len(tokens) >= blockSize {
		parent = ChainKey(parent, tokens[:blockSize])
		keys = append(keys, parent)
		tokens = tokens[blockSize:]
	}
	return keys
}

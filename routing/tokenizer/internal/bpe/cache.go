package bpe

import "bytes"

// pieceCache remembers the ids of pieces of up to 16 bytes that are not one token:
// direct-mapped, a cache line an entry, 4 MiB a worker.
type pieceCache [cacheSize]cacheEntry

const (
	cacheBits = 16
	cacheSize = 1 << cacheBits
)

type cacheEntry struct {
	a, b  uint64
	ids   [11]uint32
	n     uint8 // length of the piece; 0 is empty
	count uint8
}

// entry is where a piece with a hash is, if it is; the tables of whole pieces use the
// other end of the hash.
func (c *pieceCache) entry(hash uint64) *cacheEntry { return &c[hash>>(64-cacheBits)] }

// is says whether the entry is that of a piece.
func (e *cacheEntry) is(a, b uint64, n int) bool {
	return e.a == a && e.b == b && int(e.n) == n
}

// put remembers a piece, unless its ids are too many.
func (e *cacheEntry) put(a, b uint64, n int, ids []uint32) {
	if len(ids) > len(e.ids) {
		return
	}
	e.a, e.b, e.n, e.count = a, b, uint8(n), uint8(len(ids))
	copy(e.ids[:], ids)
}

// longCache remembers the ids of pieces of 17 to 64 bytes: identifiers and comment
// lines, and where spaces are ▁ every indentation of six or more. 512 KiB a worker.
type longCache [longCacheSize]longEntry

const (
	longCacheBits = 12
	longCacheSize = 1 << longCacheBits
	maxCached     = 64
)

type longEntry struct {
	hash  uint64
	key   [maxCached]byte
	ids   [13]uint32
	n     uint8 // length of the piece; 0 is empty
	count uint8
}

func (c *longCache) entry(hash uint64) *longEntry { return &c[hash>>(64-longCacheBits)] }

// is says whether the entry is that of a piece.
func (e *longEntry) is(hash uint64, piece []byte) bool {
	return e.hash == hash && bytes.Equal(e.key[:e.n], piece)
}

// put remembers a piece, unless its ids are too many.
func (e *longEntry) put(hash uint64, piece []byte, ids []uint32) {
	if len(ids) > len(e.ids) {
		return
	}
	e.hash, e.n, e.count = hash, uint8(len(piece)), uint8(len(ids))
	copy(e.key[:], piece)
	copy(e.ids[:], ids)
}

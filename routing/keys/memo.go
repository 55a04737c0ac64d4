package keys

import (
	"sync"

	"penstock/routing/internal/lru"
)

// memo remembers places of texts by their tags, up to a number of bytes; the least
// recently used go first. It is split into shards, so that no lock is everybody's.
type memo struct {
	shards [shardCount]shard
}

const shardCount = 64

// place is what is known about the text up to a boundary. It is immutable once in the
// memo.
type place struct {
	before tag      // the place before it, where blocks begin
	first  bool     // there is none before it
	parent uint64   // chain state: key of the last full block
	tail   []uint32 // ids that do not fill a block yet
	blocks []uint64 // keys of the blocks that ended since before
	tokens int      // of the whole text up to here
}

// placeBytes is what a place takes beside its slices: itself, its map entry and the
// rounding of three allocations.
const placeBytes = 240

func (p *place) bytes() int64 {
	return placeBytes + 4*int64(cap(p.tail)) + 8*int64(cap(p.blocks))
}

type shard struct {
	mu     sync.Mutex // guards all below
	places *lru.Cache[tag, place]

	_ [64]byte // keeps neighbours off one cache line
}

func newMemo(bytes int64) *memo {
	m := &memo{}
	for i := range m.shards {
		m.shards[i].places = lru.New[tag, place](bytes / shardCount)
	}
	return m
}

// shard of a tag: its bits are uniform to whoever does not know the secret.
func (m *memo) shard(t tag) *shard { return &m.shards[t[0]%shardCount] }

// get returns the place with a tag, nil unknown, and marks it used.
func (m *memo) get(t tag) *place {
	s := m.shard(t)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.places.Get(t)
}

// put remembers the place with a tag; one that is there already stays.
func (m *memo) put(t tag, p place) {
	s := m.shard(t)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.places.Put(t, p, p.bytes())
}

// size is the number of places and their bytes.
func (m *memo) size() (places int, bytes int64) {
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		places += s.places.Len()
		bytes += s.places.Bytes()
		s.mu.Unlock()
	}
	return places, bytes
}

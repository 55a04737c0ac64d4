package keys

import "sync"

// memo remembers places of texts by their tags, up to a number of bytes; the least
// recently used go first. It is split into shards, so that no lock is everybody's.
type memo struct {
	shards [shardCount]shard
}

const shardCount = 64

// place is what is known about the text up to a boundary. It is immutable once in the
// memo, but for the links of its shard's list.
type place struct {
	at     tag
	before tag      // the place before it, where blocks begin
	first  bool     // there is none before it
	parent uint64   // chain state: key of the last full block
	tail   []uint32 // ids that do not fill a block yet
	blocks []uint64 // keys of the blocks that ended since before
	tokens int      // of the whole text up to here

	newer, older *place
}

// placeBytes is what a place takes beside its slices: itself, its map entry and the
// rounding of three allocations.
const placeBytes = 240

func (p *place) bytes() int64 {
	return placeBytes + 4*int64(cap(p.tail)) + 8*int64(cap(p.blocks))
}

type shard struct {
	mu     sync.Mutex // guards all below
	places map[tag]*place
	newest *place
	oldest *place
	bytes  int64
	limit  int64

	_ [64]byte // keeps neighbours off one cache line
}

func newMemo(bytes int64) *memo {
	m := &memo{}
	for i := range m.shards {
		m.shards[i].places = make(map[tag]*place)
		m.shards[i].limit = bytes / shardCount
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
	p := s.places[t]
	if p != nil && s.newest != p {
		s.unlink(p)
		s.link(p)
	}
	return p
}

// put remembers a place; one that is there already stays.
func (m *memo) put(p *place) {
	s := m.shard(p.at)
	size := p.bytes()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.places[p.at] != nil || size > s.limit {
		return
	}
	s.places[p.at] = p
	s.link(p)
	s.bytes += size
	for s.bytes > s.limit {
		s.drop(s.oldest)
	}
}

// drop forgets a place; mu is held.
func (s *shard) drop(p *place) {
	s.unlink(p)
	delete(s.places, p.at)
	s.bytes -= p.bytes()
}

func (s *shard) link(p *place) {
	p.older, p.newer = s.newest, nil
	if s.newest != nil {
		s.newest.newer = p
	}
	s.newest = p
	if s.oldest == nil {
		s.oldest = p
	}
}

func (s *shard) unlink(p *place) {
	if p.newer != nil {
		p.newer.older = p.older
	} else {
		s.newest = p.older
	}
	if p.older != nil {
		p.older.newer = p.newer
	} else {
		s.oldest = p.newer
	}
}

// size is the number of places and their bytes.
func (m *memo) size() (places int, bytes int64) {
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		places += len(s.places)
		bytes += s.bytes
		s.mu.Unlock()
	}
	return places, bytes
}

package kvevents

import (
	"slices"

	"penstock/routing/keys"
)

// orphan is a block whose parent is not known: it was stored before this gateway
// listened, or what told of it was lost. Its key waits for the parent.
type orphan struct {
	hash, parent uint64
	tokens       []uint32
	content      uint64 // of the tokens
	counts       counts
	opaque       bool
}

// orphanOverhead is about what an orphan takes besides its tokens: itself, its place
// in two maps and in the queue.
const orphanOverhead = 160

func (o *orphan) bytes() int { return orphanOverhead + 4*len(o.tokens) }

// orphans holds blocks until their parents are known, the oldest forgotten first when
// they take more than their bytes.
type orphans struct {
	limit    int
	size     int
	byHash   map[uint64]*orphan
	byParent multimap
	content  multimap
	queue    []*orphan // in the order of arrival; those resolved meanwhile are skipped
}

func newOrphans(bytes int) orphans {
	return orphans{limit: bytes, byHash: map[uint64]*orphan{}, byParent: multimap{}, content: multimap{}}
}

// multimap finds orphans by something that several may share.
type multimap map[uint64][]*orphan

func (m multimap) add(k uint64, o *orphan) { m[k] = append(m[k], o) }

func (m multimap) remove(k uint64, o *orphan) {
	all := m[k]
	i := slices.Index(all, o)
	if i < 0 {
		return
	}
	all[i] = all[len(all)-1]
	all[len(all)-1] = nil
	if m[k] = all[:len(all)-1]; len(all) == 1 {
		delete(m, k)
	}
}

// hold keeps a block, or counts one that is held already, and returns how many others
// had to go.
func (s *orphans) hold(hash, parent uint64, tokens []uint32, opaque bool, t Tier) (dropped int) {
	o := s.byHash[hash]
	if o == nil {
		o = &orphan{hash: hash, parent: parent, tokens: slices.Clone(tokens), opaque: opaque}
		o.content = keys.Chain(0, tokens)
		s.byHash[hash] = o
		s.byParent.add(parent, o)
		s.content.add(o.content, o)
		s.queue = append(s.queue, o)
		s.size += o.bytes()
	}
	o.counts.add(t)
	for s.size > s.limit && len(s.queue) > 0 {
		oldest := s.queue[0]
		s.queue = s.queue[1:]
		if s.byHash[oldest.hash] == oldest {
			s.drop(oldest)
			dropped++
		}
	}
	s.compact()
	return dropped
}

// compact keeps those resolved from making up most of the queue.
func (s *orphans) compact() {
	if len(s.queue) < 64 || len(s.queue) < 2*len(s.byHash) {
		return
	}
	live := make([]*orphan, 0, len(s.byHash))
	for _, o := range s.queue {
		if s.byHash[o.hash] == o {
			live = append(live, o)
		}
	}
	s.queue = live
}

// drop forgets one.
func (s *orphans) drop(o *orphan) {
	delete(s.byHash, o.hash)
	s.size -= o.bytes()
	s.byParent.remove(o.parent, o)
	s.content.remove(o.content, o)
}

// remove takes one count off a held block and reports whether it was held.
func (s *orphans) remove(hash uint64, t Tier) bool {
	o := s.byHash[hash]
	if o == nil {
		return false
	}
	o.counts.sub(t)
	if o.counts.zero() {
		s.drop(o)
	}
	return true
}

// children takes those out that wait for a parent.
func (s *orphans) children(parent uint64) []*orphan {
	waiting := s.byParent[parent]
	delete(s.byParent, parent)
	for _, o := range waiting {
		delete(s.byHash, o.hash)
		s.size -= o.bytes()
		s.content.remove(o.content, o)
	}
	return waiting
}

// parentOf is what the orphans with these tokens follow, if they agree.
func (s *orphans) parentOf(tokens []uint32) (hash uint64, ok bool) {
	if len(s.byHash) == 0 {
		return 0, false
	}
	for _, o := range s.content[keys.Chain(0, tokens)] {
		switch {
		case !slices.Equal(o.tokens, tokens):
		case !ok:
			hash, ok = o.parent, true
		case hash != o.parent:
			return 0, false
		}
	}
	return hash, ok
}

func (s *orphans) clear() {
	if len(s.byHash) > 0 {
		*s = newOrphans(s.limit)
	}
}

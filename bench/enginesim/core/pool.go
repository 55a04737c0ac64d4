package core

import "slices"

const none = int32(-1)

// block is one physical page. A block is in exactly one of two states: held
// (refs > 0) or in the free list, where it may still be found by its key.
type block struct {
	key        Key
	parent     Key
	hashed     bool // found by key
	refs       int32
	prev, next int32 // free list, oldest first
	twin       int32 // next block with the same key
}

// pool hands out blocks and remembers what the free ones still contain. The
// free list is the LRU order of eviction.
type pool struct {
	blocks     []block
	head, tail int32
	free       int
	cached     int // hashed blocks in the free list
	byKey      map[Key]int32
	dedupe     bool
	host       *hostTier // nil without a host tier
	obs        Observer
	evicted    int64
}

func newPool(blocks, hostBlocks int, dedupe bool, obs Observer) *pool {
	p := &pool{
		blocks: make([]block, blocks),
		head:   none, tail: none,
		byKey:  make(map[Key]int32, blocks),
		dedupe: dedupe,
		obs:    obs,
	}
	if hostBlocks > 0 {
		p.host = newHostTier(hostBlocks, obs)
	}
	for i := range p.blocks {
		p.blocks[i].twin = none
		p.pushTail(int32(i))
	}
	return p
}

func (p *pool) pushTail(i int32) {
	b := &p.blocks[i]
	b.prev, b.next = p.tail, none
	if p.tail == none {
		p.head = i
	} else {
		p.blocks[p.tail].next = i
	}
	p.tail = i
	p.enterFree(b)
}

func (p *pool) pushHead(i int32) {
	b := &p.blocks[i]
	b.prev, b.next = none, p.head
	if p.head == none {
		p.tail = i
	} else {
		p.blocks[p.head].prev = i
	}
	p.head = i
	p.enterFree(b)
}

func (p *pool) enterFree(b *block) {
	p.free++
	if b.hashed {
		p.cached++
	}
}

func (p *pool) unlink(i int32) {
	b := &p.blocks[i]
	if b.prev == none {
		p.head = b.next
	} else {
		p.blocks[b.prev].next = b.next
	}
	if b.next == none {
		p.tail = b.prev
	} else {
		p.blocks[b.next].prev = b.prev
	}
	p.free--
	if b.hashed {
		p.cached--
	}
}

// lookup returns the block that holds key, or none.
func (p *pool) lookup(key Key) int32 {
	if i, ok := p.byKey[key]; ok {
		return i
	}
	return none
}

// hold adds a reference to a block that lookup found.
func (p *pool) hold(i int32) {
	if p.blocks[i].refs == 0 {
		p.unlink(i)
	}
	p.blocks[i].refs++
}

// take returns an empty block with one reference, evicting the least recently
// used content. The caller has checked that a block is free.
func (p *pool) take() int32 {
	i := p.head
	if i == none {
		panic("BUG: block taken from an empty pool")
	}
	p.unlink(i)
	if p.blocks[i].hashed {
		p.evict(i)
	}
	p.blocks[i].refs = 1
	return i
}

func (p *pool) evict(i int32) {
	b := &p.blocks[i]
	key, parent := b.key, b.parent
	p.forget(i)
	p.evicted++
	p.obs.Removed([]Key{key}, TierDevice)
	// One copy in the host tier is enough, and only once the device has none.
	if p.host != nil && p.lookup(key) == none {
		p.host.put(key, parent)
	}
}

// forget removes block i from the key table.
func (p *pool) forget(i int32) {
	b := &p.blocks[i]
	if first := p.byKey[b.key]; first == i {
		if b.twin == none {
			delete(p.byKey, b.key)
		} else {
			p.byKey[b.key] = b.twin
		}
	} else {
		j := first
		for p.blocks[j].twin != i {
			j = p.blocks[j].twin
		}
		p.blocks[j].twin = b.twin
	}
	b.hashed, b.twin = false, none
}

// register makes held block i findable by key and reports whether it did: with
// dedupe a key that is already known stays with its first block.
func (p *pool) register(i int32, key, parent Key) bool {
	b := &p.blocks[i]
	first, known := p.byKey[key]
	if known && p.dedupe {
		return false
	}
	b.key, b.parent, b.hashed, b.twin = key, parent, true, none
	if known {
		b.twin = p.blocks[first].twin
		p.blocks[first].twin = i
	} else {
		p.byKey[key] = i
	}
	return true
}

// release drops one reference to each block. Blocks are freed last first, so
// that a chain is evicted from its end and its prefix lives longest; a block
// that holds nothing reusable is taken again first.
func (p *pool) release(ids []int32) {
	for _, i := range slices.Backward(ids) {
		b := &p.blocks[i]
		if b.refs <= 0 {
			panic("BUG: block released twice")
		}
		b.refs--
		if b.refs > 0 {
			continue
		}
		if b.hashed {
			p.pushTail(i)
		} else {
			p.pushHead(i)
		}
	}
}

// clear forgets all content. Held blocks stay held and stop being findable.
func (p *pool) clear() {
	for i := range p.blocks {
		p.blocks[i].hashed, p.blocks[i].twin = false, none
	}
	clear(p.byKey)
	p.cached = 0
	if p.host != nil {
		p.host.clear()
	}
	p.obs.Cleared()
}

func (p *pool) used() int { return len(p.blocks) - p.free }

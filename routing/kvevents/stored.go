package kvevents

import "penstock/routing/keys"

// stored applies blocks that were stored.
func (p *Publisher) stored(e *Event) {
	if len(e.Tokens) == 0 {
		for _, hash := range e.Hashes {
			p.storedUntold(hash, e.Tier)
		}
		return
	}
	if !p.sliceable(e) {
		return
	}
	at := p.parentOf(e)
	for i, hash := range e.Hashes {
		tokens := e.Tokens[i*p.blockSize : (i+1)*p.blockSize]
		opaque := !e.PlainTokens || i < len(e.Extras) && e.Extras[i] != ExtraNone
		if at.state == aliasFree {
			at = p.orphan(e, i, tokens, opaque)
			continue
		}
		at = at.child(tokens, opaque)
		p.hold(hash, at, e.Tier)
	}
}

// place is where in our tree of blocks something is; aliasFree: not known.
type place struct {
	key   uint64
	state state
}

// child is the place of a block that follows.
func (a place) child(tokens []uint32, opaque bool) place {
	if opaque || a.state == aliasOpaque {
		return place{state: aliasOpaque}
	}
	return place{keys.Chain(a.key, tokens), aliasKeyed}
}

// storedUntold applies a block that came without tokens, as offloading connectors tell
// it by default: its hash must be known.
func (p *Publisher) storedUntold(hash uint64, t Tier) {
	a := p.aliases.find(hash)
	if a == nil {
		if o := p.orphans.byHash[hash]; o != nil {
			o.counts.add(t)
			return
		}
		p.count(WithoutTokens, 1)
		p.lack()
		return
	}
	if a.add(t) && a.state == aliasKeyed {
		p.tell(a.key, t, false)
	}
}

// sliceable reports whether an event's tokens are those of its blocks, and the blocks
// of our size. Hybrid models also store parts of blocks, and skip blocks outside a
// window without skipping their tokens.
func (p *Publisher) sliceable(e *Event) bool {
	whole := e.BlockSize > 0 && len(e.Tokens)/e.BlockSize == len(e.Hashes) && len(e.Tokens)%e.BlockSize == 0
	p.heardSize = max(p.heardSize, e.BlockSize)
	if p.blockSize == 0 && whole {
		p.blockSize = e.BlockSize
	}
	switch {
	case e.BlockSize != p.blockSize:
		p.count(OtherBlockSize, 1)
		return false
	case !whole:
		p.count(Ragged, 1)
		return false
	}
	return true
}

// parentOf is the place that an event's first block follows: the root of a namespace,
// or a block that was stored before.
func (p *Publisher) parentOf(e *Event) place {
	if e.HasParent {
		if a := p.aliases.find(e.Parent); a != nil {
			return place{a.key, a.state}
		}
		return place{}
	}
	if e.UnnamedAdapter {
		p.count(UnnamedAdapters, 1)
		return place{state: aliasOpaque}
	}
	root, ok := p.options.Namespace(e.Adapter, e.Salt)
	if !ok {
		p.count(UnknownNamespace, 1)
		return place{state: aliasOpaque}
	}
	return place{root, aliasKeyed}
}

// orphan holds the i-th block of an event whose parent is not known, unless the block
// itself is: then those after it have a place again.
func (p *Publisher) orphan(e *Event, i int, tokens []uint32, opaque bool) place {
	hash, parent := e.Hashes[i], e.Parent
	if i > 0 {
		parent = e.Hashes[i-1]
	}
	if a := p.aliases.find(hash); a != nil {
		at := place{a.key, a.state}
		p.hold(hash, at, e.Tier)
		return at
	}
	p.count(OrphansHeld, 1)
	if dropped := p.orphans.hold(hash, parent, tokens, opaque, e.Tier); dropped > 0 {
		p.count(OrphansDropped, dropped)
		p.lack()
	}
	return place{}
}

// hold counts a block in a tier, under the hash that the engine has for it.
func (p *Publisher) hold(hash uint64, at place, t Tier) {
	a := p.aliases.find(hash)
	if a != nil && (a.key != at.key || a.state != at.state) {
		p.unhold(a) // the hash means another block now
		a = nil
	}
	if a == nil {
		a = p.alias(hash, at)
		if at.state == aliasOpaque {
			p.count(OpaqueBlocks, 1)
		}
	}
	if a.add(t) && a.state == aliasKeyed {
		p.tell(a.key, t, false)
	}
	if len(p.orphans.byHash) > 0 {
		p.settle(hash, at)
	}
}

// alias adds an alias, making room if there is none.
func (p *Publisher) alias(hash uint64, at place) *alias {
	if p.aliases.full() {
		p.count(AliasesDropped, 1)
		p.lack()
		p.unhold(p.aliases.victim())
	}
	return p.aliases.insert(hash, at.key, at.state)
}

// unhold forgets an alias. What it stands for cannot be told from other blocks when it
// is removed, so the index must not keep it.
func (p *Publisher) unhold(a *alias) {
	for t := TierDevice; t <= TierRemote && a.state == aliasKeyed; t++ {
		if a.held(t) {
			p.tell(a.key, t, true)
		}
	}
	p.aliases.remove(a)
}

// settle gives a place to orphans that waited for a block: itself, if it was stored
// once more, those that follow it, and those that follow them.
func (p *Publisher) settle(hash uint64, at place) {
	if o := p.orphans.byHash[hash]; o != nil {
		p.orphans.drop(o)
		p.rehold(o, at)
	}
	type node struct {
		hash uint64
		at   place
	}
	for todo := []node{{hash, at}}; len(todo) > 0; {
		parent := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, o := range p.orphans.children(parent.hash) {
			at := parent.at.child(o.tokens, o.opaque)
			p.rehold(o, at)
			todo = append(todo, node{o.hash, at})
		}
	}
}

// rehold makes an alias of an orphan, or adds to the one there is.
func (p *Publisher) rehold(o *orphan, at place) {
	a := p.aliases.find(o.hash)
	if a == nil {
		a = p.alias(o.hash, at)
	}
	for t := TierDevice; t <= TierRemote; t++ {
		for range o.counts.of(t) {
			if a.add(t) && a.state == aliasKeyed {
				p.tell(a.key, t, false)
			}
		}
	}
}

// Adopt gives a place to orphans: those that hold these tokens follow the block with
// key parent, says the caller, who knows a prompt that this replica works on and which
// has the tokens there. It reports whether there were such; if they follow different
// blocks of the engine, none is chosen. The parent's hash is bound too, so that later
// blocks find it.
func (p *Publisher) Adopt(parent uint64, tokens []uint32) bool {
	hash, ok := p.orphans.parentOf(tokens)
	if !ok || p.aliases.find(hash) != nil {
		return false
	}
	at := place{parent, aliasKeyed}
	p.alias(hash, at)
	p.settle(hash, at)
	p.flush()
	return true
}

package kvevents

// change collects keys that go the same way, so that the index hears of a whole event
// at once.
type change struct {
	keys    []uint64
	tier    Tier
	removed bool
}

// tell adds a key to the change under way, or ends that and begins another.
func (p *Publisher) tell(key uint64, t Tier, removed bool) {
	c := &p.changes
	if len(c.keys) > 0 && (c.tier != t || c.removed != removed) {
		p.flush()
	}
	c.tier, c.removed = t, removed
	c.keys = append(c.keys, key)
}

// flush tells the index.
func (p *Publisher) flush() {
	c := &p.changes
	switch {
	case len(c.keys) == 0:
		return
	case c.removed:
		p.index.Removed(c.keys, c.tier)
	default:
		p.index.Stored(c.keys, c.tier)
	}
	c.keys = kept(c.keys)
}

// apply applies one event.
func (p *Publisher) apply(e *Event) {
	switch e.Kind {
	case KindStored:
		if p.counts(e) {
			p.stored(e)
		}
	case KindRemoved:
		if p.counts(e) {
			for _, hash := range e.Hashes {
				p.removed(hash, e.Tier)
			}
		}
	case KindEvicted:
		if p.counts(e) {
			p.evicted(e)
		}
	case KindMoved:
		if p.counts(e) {
			p.moved(e)
		}
	case KindCleared, KindCreated:
		p.cleared(e)
	case KindMalformed:
		p.count(MalformedEvent, 1)
		p.picture = Doubtful
	case KindUnknown:
		p.count(UnknownEvent, 1)
	}
	p.flush()
}

// counts reports whether an event is about blocks that say which prefixes are held: one
// group of full attention, the first heard of, on a medium that is known. Removals name
// no attention, only the group.
func (p *Publisher) counts(e *Event) bool {
	switch {
	case e.Tier == TierUnknown:
		p.count(OtherMedium, 1)
		return false
	case e.Spec == SpecOther:
		p.count(OtherGroup, 1)
		return false
	case e.Spec == SpecWindow && e.Group > p.group:
		if p.group != NoGroup {
			p.reset(Lacking)
		}
		p.group = e.Group
	case p.group == NoGroup && e.Kind == KindStored:
		p.group = e.Group
	case p.group != e.Group && e.Group != NoGroup:
		p.count(OtherGroup, 1)
		return false
	}
	if e.Tier != TierDevice && e.Kind != KindRemoved {
		p.farTiers = true
	}
	return true
}

// reset drops the picture; to is what it is then.
func (p *Publisher) reset(to Picture) {
	p.forget()
	p.changes.keys = p.changes.keys[:0]
	p.index.Cleared()
	p.picture = to
}

// cleared applies the drop of the whole cache. It is told about the device only; what
// other tiers held is forgotten too, because it is not known.
func (p *Publisher) cleared(e *Event) {
	if e.Kind == KindCreated {
		p.group = max(p.group, e.Group)
		if p.aliases.used == 0 && len(p.orphans.byHash) == 0 {
			return
		}
	}
	if p.farTiers {
		p.reset(Lacking)
		return
	}
	p.reset(Complete)
}

// removed takes a block off a tier.
func (p *Publisher) removed(hash uint64, t Tier) {
	a := p.aliases.find(hash)
	if a == nil {
		if !p.orphans.remove(hash, t) {
			p.count(UnknownRemoved, 1)
		}
		return
	}
	if a.sub(t) && a.state == aliasKeyed {
		p.tell(a.key, t, true)
	}
	if a.zero() {
		p.aliases.remove(a)
	}
}

// moved takes a block from one tier to another.
func (p *Publisher) moved(e *Event) {
	for _, hash := range e.Hashes {
		if a := p.aliases.find(hash); a != nil && a.add(e.Tier) && a.state == aliasKeyed {
			p.tell(a.key, e.Tier, false)
		} else if o := p.orphans.byHash[hash]; o != nil {
			o.counts.add(e.Tier)
		}
		p.removed(hash, e.From)
	}
}

// evicted takes blocks off every tier.
func (p *Publisher) evicted(e *Event) {
	for _, hash := range e.Hashes {
		if a := p.aliases.find(hash); a != nil {
			p.unhold(a)
		} else if o := p.orphans.byHash[hash]; o != nil {
			p.orphans.drop(o)
		} else {
			p.count(UnknownRemoved, 1)
		}
	}
}

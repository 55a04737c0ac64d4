package kvevents

// counts says how often a block is held in each tier: an engine may hold the same block
// twice, tells both, and tells when each is gone.
type counts struct {
	device             uint16
	host, disk, remote uint8
}

// add counts one more and reports whether it is the first. At its limit a count stays:
// the block is then forgotten early, never late.
func (c *counts) add(t Tier) (first bool) {
	switch t {
	case TierDevice:
		return up(&c.device)
	case TierHost:
		return up(&c.host)
	case TierDisk:
		return up(&c.disk)
	case TierRemote:
		return up(&c.remote)
	case TierUnknown: // filtered out before
	}
	return false
}

// sub counts one less and reports whether it was the last.
func (c *counts) sub(t Tier) (last bool) {
	switch t {
	case TierDevice:
		return down(&c.device)
	case TierHost:
		return down(&c.host)
	case TierDisk:
		return down(&c.disk)
	case TierRemote:
		return down(&c.remote)
	case TierUnknown: // filtered out before
	}
	return false
}

// of is how often a tier holds the block.
func (c *counts) of(t Tier) int {
	switch t {
	case TierDevice:
		return int(c.device)
	case TierHost:
		return int(c.host)
	case TierDisk:
		return int(c.disk)
	case TierRemote:
		return int(c.remote)
	case TierUnknown: // nothing is
	}
	return 0
}

func (c *counts) held(t Tier) bool { return c.of(t) > 0 }

func (c *counts) zero() bool { return *c == counts{} }

func up[N uint8 | uint16](n *N) (first bool) {
	if *n+1 != 0 {
		*n++
	}
	return *n == 1
}

func down[N uint8 | uint16](n *N) (last bool) {
	if *n == 0 {
		return false
	}
	*n--
	return *n == 0
}

// state of an alias.
type state uint8

const (
	aliasFree   state = iota
	aliasKeyed        // key is ours
	aliasOpaque       // the block depends on more than tokens, or follows one that does
)

// alias is what one of the engine's hashes means here, in 24 bytes.
type alias struct {
	hash, key uint64
	counts
	state  state
	recent bool // used since the clock's hand passed
}

// aliasBytes is the size of an alias, for bounds.
const aliasBytes = 24

// aliases maps hashes to aliases: open addressing with linear probing in one array that
// doubles up to a limit; then the clock algorithm says whom to forget. Hashes come from
// engines that hash prompts well, so a multiplication spreads them.
type aliases struct {
	slots []alias // a power of two
	used  int
	limit int // of len(slots)
	hand  int
}

// minSlots is where the table begins.
const minSlots = 64

// newAliases makes a table of as many slots as fit the bytes, rounded down to a power
// of two.
func newAliases(bytes int) aliases {
	limit := minSlots
	for 2*limit*aliasBytes <= bytes {
		limit *= 2
	}
	return aliases{limit: limit}
}

// home is where a hash would like to be.
func (t *aliases) home(hash uint64) int {
	return int((hash * 0x9e3779b97f4a7c15 >> 20) & uint64(len(t.slots)-1))
}

// find gives the alias of a hash, nil if there is none. It is valid until the next
// insert or remove.
func (t *aliases) find(hash uint64) *alias {
	if t.used == 0 {
		return nil
	}
	mask := len(t.slots) - 1
	for i := t.home(hash); ; i = (i + 1) & mask {
		switch a := &t.slots[i]; {
		case a.state == aliasFree:
			return nil
		case a.hash == hash:
			a.recent = true
			return a
		}
	}
}

// full reports whether an alias must go before another comes.
func (t *aliases) full() bool {
	return len(t.slots) == t.limit && t.used >= t.limit-t.limit/8
}

// insert adds an alias for a hash that has none. The table must not be full.
func (t *aliases) insert(hash, key uint64, s state) *alias {
	if len(t.slots) == 0 || t.used >= len(t.slots)-len(t.slots)/4 && len(t.slots) < t.limit {
		t.grow()
	}
	t.used++
	return t.place(alias{hash: hash, key: key, state: s, recent: true})
}

func (t *aliases) place(a alias) *alias {
	mask := len(t.slots) - 1
	i := t.home(a.hash)
	for t.slots[i].state != aliasFree {
		i = (i + 1) & mask
	}
	t.slots[i] = a
	return &t.slots[i]
}

func (t *aliases) grow() {
	old := t.slots
	t.slots = make([]alias, max(minSlots, 2*len(old)))
	for i := range old {
		if old[i].state != aliasFree {
			t.place(old[i])
		}
	}
}

// remove frees the slot of an alias and moves those up that would not be found beyond
// the hole.
func (t *aliases) remove(a *alias) {
	mask := len(t.slots) - 1
	hole := t.home(a.hash)
	for t.slots[hole].hash != a.hash || t.slots[hole].state == aliasFree {
		hole = (hole + 1) & mask
	}
	for i := (hole + 1) & mask; t.slots[i].state != aliasFree; i = (i + 1) & mask {
		if (i-t.home(t.slots[i].hash))&mask >= (i-hole)&mask {
			t.slots[hole] = t.slots[i]
			hole = i
		}
	}
	t.slots[hole] = alias{}
	t.used--
}

// victim is an alias not used for long.
func (t *aliases) victim() *alias {
	for {
		t.hand = (t.hand + 1) & (len(t.slots) - 1)
		a := &t.slots[t.hand]
		if a.state != aliasFree && !a.recent {
			return a
		}
		a.recent = false
	}
}

// clear forgets all. Memory of a large table goes back.
func (t *aliases) clear() {
	if len(t.slots) > minSlots {
		t.slots = nil
	}
	clear(t.slots)
	t.used, t.hand = 0, 0
}

// bytes is the memory of the table.
func (t *aliases) bytes() int { return len(t.slots) * aliasBytes }

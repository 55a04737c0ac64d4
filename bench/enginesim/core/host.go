package core

import "container/list"

// hostTier remembers blocks that left the device, least recently used first
// out. It holds keys only: content is never computed in a simulation.
type hostTier struct {
	capacity int
	order    *list.List // of hostBlock, oldest in front
	byKey    map[Key]*list.Element
	obs      Observer
}

type hostBlock struct{ key, parent Key }

func newHostTier(capacity int, obs Observer) *hostTier {
	return &hostTier{capacity: capacity, order: list.New(), byKey: make(map[Key]*list.Element), obs: obs}
}

func (h *hostTier) put(key, parent Key) {
	if e, ok := h.byKey[key]; ok {
		h.order.MoveToBack(e)
		return
	}
	if h.order.Len() >= h.capacity {
		oldest := h.order.Remove(h.order.Front()).(hostBlock)
		delete(h.byKey, oldest.key)
		h.obs.Removed([]Key{oldest.key}, TierHost)
	}
	h.byKey[key] = h.order.PushBack(hostBlock{key, parent})
	h.obs.Stored(Stored{Parent: parent, Keys: []Key{key}, Tier: TierHost})
}

// has reports whether the tier holds key, and marks it as used.
func (h *hostTier) has(key Key) bool {
	e, ok := h.byKey[key]
	if ok {
		h.order.MoveToBack(e)
	}
	return ok
}

func (h *hostTier) clear() {
	h.order.Init()
	clear(h.byKey)
}

package keying

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// children are counters of one pool by their other labels, looked up once each.
// Readers take no lock. Keys are of closed sets.
type children[K comparable] struct {
	make func(K) prometheus.Counter

	mu    sync.Mutex // serialises writers of known
	known atomic.Pointer[map[K]prometheus.Counter]
}

// get returns the counter of a key. Warm it does not allocate.
func (c *children[K]) get(key K) prometheus.Counter {
	if m := c.known.Load(); m != nil {
		if found := (*m)[key]; found != nil {
			return found
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	next := map[K]prometheus.Counter{}
	if m := c.known.Load(); m != nil {
		next = maps.Clone(*m)
	}
	if next[key] == nil {
		next[key] = c.make(key)
		c.known.Store(&next)
	}
	return next[key]
}

// Package lru owns the map that forgets: entries up to a number of bytes, the least
// recently used of which go first. It is pure, starts no goroutine and takes no lock;
// a Cache is for one user at a time.
package lru

// Cache is the map. Make it with New.
type Cache[K comparable, V any] struct {
	entries map[K]*entry[K, V]
	newest  *entry[K, V] // of a list by use
	oldest  *entry[K, V]
	bytes   int64
	limit   int64
}

type entry[K comparable, V any] struct {
	key          K
	value        V
	size         int64
	newer, older *entry[K, V]
}

// New returns an empty Cache for this many bytes.
func New[K comparable, V any](limit int64) *Cache[K, V] {
	return &Cache[K, V]{entries: map[K]*entry[K, V]{}, limit: limit}
}

// Get returns the value of a key, nil when there is none, and marks it used. The value
// must not be changed; it stays valid after the Cache has forgotten it.
func (c *Cache[K, V]) Get(k K) *V {
	e := c.entries[k]
	if e == nil {
		return nil
	}
	if c.newest != e {
		c.unlink(e)
		c.link(e)
	}
	return &e.value
}

// Put adds a value that counts as size bytes. A key that is there keeps its value; a
// value larger than the whole Cache is not kept.
func (c *Cache[K, V]) Put(k K, v V, size int64) {
	if c.entries[k] != nil || size > c.limit {
		return
	}
	e := &entry[K, V]{key: k, value: v, size: size}
	c.entries[k] = e
	c.link(e)
	c.bytes += size
	c.shrink()
}

// Resize changes the limit.
func (c *Cache[K, V]) Resize(limit int64) {
	c.limit = limit
	c.shrink()
}

// Clear forgets all entries.
func (c *Cache[K, V]) Clear() {
	clear(c.entries)
	c.newest, c.oldest, c.bytes = nil, nil, 0
}

// Len is the number of entries.
func (c *Cache[K, V]) Len() int { return len(c.entries) }

// Bytes is the sum of their sizes.
func (c *Cache[K, V]) Bytes() int64 { return c.bytes }

func (c *Cache[K, V]) shrink() {
	for c.bytes > c.limit && c.oldest != nil {
		e := c.oldest
		c.unlink(e)
		delete(c.entries, e.key)
		c.bytes -= e.size
	}
}

func (c *Cache[K, V]) link(e *entry[K, V]) {
	e.older, e.newer = c.newest, nil
	if c.newest != nil {
		c.newest.newer = e
	}
	c.newest = e
	if c.oldest == nil {
		c.oldest = e
	}
}

func (c *Cache[K, V]) unlink(e *entry[K, V]) {
	if e.newer != nil {
		e.newer.older = e.older
	} else {
		c.newest = e.older
	}
	if e.older != nil {
		e.older.newer = e.newer
	} else {
		c.oldest = e.newer
	}
}

package prefixindex

import (
	"sync"
	"time"

	"penstock/pools"
)

// predictionBytes bounds what one waiting prediction takes: its key, and its share of
// batches, of which there are at most one for batchShare keys.
const (
	predictionBytes = 12
	batchShare      = 8
	batchBytes      = 32
)

// queue holds the keys of predictions in the order in which they are due. There is one
// for each lifetime, so that the order is the order of arrival.
type queue struct {
	ttl time.Duration
	max int

	mu      sync.Mutex // guards what follows; a shard's lock may be taken under it
	keys    ring[uint64]
	batches ring[batch]
}

// batch is as many keys as were predicted for one life at once.
type batch struct {
	life *life
	due  time.Duration
	n    int
}

func (q *queue) bytes() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return int64(len(q.keys.memory))*8 + int64(len(q.batches.memory))*batchBytes
}

func (q *queue) full() bool {
	return q.keys.n >= q.max || q.batches.n > q.max/batchShare
}

// push adds a key to the last batch if it is the same.
func (q *queue) push(l *life, due time.Duration, key uint64) {
	q.keys.push(key, q.max)
	if q.batches.n > 0 {
		if last := q.batches.last(); last.life == l && last.due == due {
			last.n++
			return
		}
	}
	q.batches.push(batch{life: l, due: due, n: 1}, q.max/batchShare+1)
}

// pop takes the oldest key away.
func (q *queue) pop() (l *life, key uint64) {
	first := q.batches.first()
	l = first.life
	if first.n--; first.n == 0 {
		*first = batch{}
		q.batches.pop()
	}
	key = *q.keys.first()
	q.keys.pop()
	return l, key
}

// Predict says that a request with these blocks was sent to the replica at now, which is
// on the caller's own scale and does not go back. Keys that the lookup found held may be
// left out. Where the replica is ModePrecise, blocks that events put in TierDevice need
// no prediction and get none. A prediction lives for at least its mode's TTL and less
// than twice that after it was last made; see the package for the one exception. What is
// due is expired on the way.
func (x *Index) Predict(id pools.ReplicaID, e pools.Epoch, keys []uint64, now time.Duration) {
	l := x.roster.Load().life(id, e)
	if l == nil {
		x.ignored.Add(uint64(len(keys)))
		return
	}
	mode := l.currentMode()
	if mode == ModeOff {
		return
	}
	q := &x.waiting[mode]
	q.mu.Lock()
	defer q.mu.Unlock()
	x.expire(q, now, 2*len(keys))
	for len(keys) > 0 {
		batch := keys[:min(ahead, len(keys))]
		keys = keys[len(batch):]
		x.predict(q, l, batch, now+q.ttl)
	}
}

// predict takes at most ahead keys.
func (x *Index) predict(q *queue, l *life, keys []uint64, due time.Duration) {
	var hashes [ahead]uint64
	for i, key := range keys {
		hashes[i], _ = x.hash(key)
		x.shardOf(hashes[i]).touch(hashes[i])
	}
	for i, key := range keys {
		key = named(key)
		if !x.shardOf(hashes[i]).update(hashes[i], key, l, changePredict, TierUnknown) {
			continue
		}
		if q.full() {
			x.expireEarly(q)
		}
		q.push(l, due, key)
	}
}

// Expire ends the predictions that are due at now, up to limit of them, and reports
// whether more are due.
func (x *Index) Expire(now time.Duration, limit int) (more bool) {
	for m := ModePredicted; m <= ModePrecise; m++ {
		q := &x.waiting[m]
		q.mu.Lock()
		limit -= x.expire(q, now, limit)
		more = more || q.batches.n > 0 && q.batches.first().due <= now
		q.mu.Unlock()
	}
	return more
}

// expire takes up to limit keys that are due. Those predicted again since wait once more.
func (x *Index) expire(q *queue, now time.Duration, limit int) (n int) {
	for ; n < limit && q.batches.n > 0 && q.batches.first().due <= now; n++ {
		l, key := q.pop()
		switch {
		case !x.end(l, key):
		case q.full(): // of batches: no place to wait
			x.early.Add(1)
			x.end(l, key)
		default:
			q.push(l, now+q.ttl, key)
		}
	}
	return n
}

// expireEarly ends the oldest prediction, predicted again or not.
func (x *Index) expireEarly(q *queue) {
	for {
		l, key := q.pop()
		x.early.Add(1)
		if x.end(l, key) {
			x.end(l, key)
		}
		if !q.full() {
			return
		}
	}
}

// end clears a prediction, or the mark that it was made again: then it reports true.
func (x *Index) end(l *life, key uint64) (again bool) {
	if l.dead.Load() {
		return false
	}
	hash, key := x.hash(key)
	return x.shardOf(hash).update(hash, key, l, changeExpire, TierUnknown)
}

// ring is a queue that grows up to a limit and keeps its memory.
type ring[T any] struct {
	memory  []T
	head, n int
}

// push adds v; the ring grows to limit at most, and the caller sees to it that there is
// a place.
func (r *ring[T]) push(v T, limit int) {
	if r.n == len(r.memory) {
		memory := make([]T, min(limit, max(64, 2*r.n)))
		for i := range r.n {
			memory[i] = r.memory[(r.head+i)%len(r.memory)]
		}
		r.memory, r.head = memory, 0
	}
	r.n++
	*r.last() = v
}

func (r *ring[T]) first() *T { return &r.memory[r.head] }
func (r *ring[T]) last() *T  { return &r.memory[(r.head+r.n-1)%len(r.memory)] }

func (r *ring[T]) pop() {
	r.n--
	if r.head++; r.head == len(r.memory) {
		r.head = 0
	}
}

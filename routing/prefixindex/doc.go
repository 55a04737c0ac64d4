// Package prefixindex answers, for the chain of block keys of a prompt (routing/keys),
// how many leading blocks each replica holds and in which tier.
//
// It is fed by what engines tell about their blocks (Apply, from routing/kvevents) and by
// what the gateway predicts at the moment it sends a request (Predict). It never chooses,
// decodes an event, reads a clock or starts a goroutine: time is an argument, and the
// owner calls Expire and Sweep at leisure.
//
// # What a figure means
//
// Match counts five runs for a replica: of leading blocks that are in device memory; in
// device or host memory; in those or on disk; in any tier; in any tier or predicted. The
// runs nest, which is how engines read them back: so many blocks are there to compute on,
// so many more can be loaded from the host, and so on. The length for weights w1 >= w2
// >= ... is w1*B1 + w2*(B2-B1) + ...
//
// A lookup looks at the first 16 blocks one by one. Behind these it searches for the
// edges: blocks that are there with one behind them that is not. Engines evict the end of
// a chain before its start (a block's last use is never before that of the blocks behind
// it), so there is one edge and the search finds it. Where there is a hole, the figure
// may be that of an edge behind the hole: it is never less than the run, always an edge,
// and exact for prompts of at most 16 blocks. What the index evicted itself are such
// holes, and there the engine does have the blocks.
//
// # The search
//
// All replicas and all five runs are searched for at once. State is a set of ordinals for
// each run. One block is looked at; those that have it go on in the part behind it, those
// that do not are put aside on a stack with the part before it; a part of two neighbours
// is an edge. The last block comes first, as many prompts are known to their end, then
// the middle. With d different edges in n blocks that is about d*log2(n/d) + 2d blocks
// looked at, and never more than n. Runs stay nested without care: a set of a nearer tier
// is within that of a farther one at every block, so the first block that parts two runs
// of one replica sends the nearer to the front.
//
// # Memory
//
// Keys are spread over up to 128 shards of 1 MiB at least, each with one table: open
// addressing, linear probing, 16 bytes a slot.
//
//	slot:   key (8) | value (8): nothing, one record, or the number of a row
//	record: ordinal 12 | four counts of references of 6 bits | predicted | renewed
//	list:   header (8) | 3, 7, 15, 31, 63 or 127 records of 8
//	bitmap: header (8) | 6 sets of W words: the tiers, predicted, renewed
//
// W is ordinals/64, rounded up. A key has a list up to maxListed(W) pairs, where a bitmap
// takes at most 40 bytes a pair, and a bitmap beyond. References beyond the first have no
// place in a bitmap; a map has them, 48 bytes each, within the same bound. A table is
// rebuilt at 3/4 of its slots, dead ones included, to be half full:
//
//	bytes of a (block, replica) pair <= (32 + row)/holders
//	row = 0 for one holder, 8<<ceil(log2(n+1)) for a list, 8+48*W for a bitmap
//
// which is 32 at most for one or two holders and less than 48 for all others where lists
// grow; a list that shrinks moves to a smaller one at a quarter, a bitmap to a list at
// two thirds of what lists hold. TestPairTakesAtMost48Bytes prints the figures. A waiting
// prediction takes 8 bytes more and 32 for each call of Predict, at most 12 together.
//
// MaxBytes is divided: 24 bytes for each of MaxPredictions, the rest to the shards
// evenly. Counted is what is allocated, free rows included. While a shard is rebuilt, and
// until the garbage collector has been there, its old table exists too; that is one part
// in up to 128.
//
// # Eviction
//
// A shard at its bound evicts keys, with all that hold them, until the table would be
// half full: CLOCK with two marks, which a lookup sets and the hand takes away one by
// one. A new key has one. The hand strides in multiples of the golden ratio, as evicting
// stretch by stretch would crowd the others. Whose entry was told by an event becomes
// Incomplete.
//
// # Lookups without locks
//
// The key of a slot is written once, after its value, and stays until the whole table is
// replaced; so a value found beside a key is that key's, 0 if it has gone. A row begins
// with the number of times it was given back: a reader reads that, then makes sure that
// the value still points there, reads the row, and begins again if the number has
// changed. Within a row every pair is one word or some bits of its own, and additions are
// written before removals, so that a pair that stays is never missed. Rebuilt tables are
// published with one store; a reader in the old one sees the moment before. All shared
// words are atomic.
//
// # Epochs
//
// A replica's life has an ordinal. Forget, a later epoch and ActionCleared take the
// ordinal out of the sets that lookups begin with, which costs nothing per block. A
// lookup that starts later cannot report it: it loads those sets first. Writers look
// under a shard's lock whether the life has ended, and a sweep clears every shard under
// its lock after that, so that nothing of the old life is left when the ordinal is
// given out again.
//
// # Predictions
//
// A predicted pair waits in a queue for its mode's TTL; there is one queue per mode, so
// that the order of arrival is the order of expiry. If it was predicted again meanwhile
// it waits once more. In ModePrecise a device block that an event tells of confirms the
// prediction; one that is confirmed, removed and predicted anew within one TTL may
// expire with the first.
//
// # Locks
//
// Index.mu, or one queue's, then one shard's. Lookups take none.
package prefixindex

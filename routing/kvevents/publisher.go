package kvevents

import "fmt"

// Index takes what changes. Calls come in order from the goroutine that feeds the
// Publisher; the slices are valid during the call. A key may be removed that is not
// there, and stored that is there.
type Index interface {
	// Stored: a tier holds the blocks.
	Stored(keys []uint64, t Tier)
	// Removed: a tier holds them no more.
	Removed(keys []uint64, t Tier)
	// Cleared: no tier of this publisher holds anything, in the same life.
	Cleared()
	// Restarted: the publisher is a new process that holds nothing yet.
	Restarted()
}

// Ask is what the feeder must do next: if Wanted, request a replay of the batches from
// sequence number From, feed them to Replayed and then call ReplayEnded.
type Ask struct {
	Wanted bool
	From   uint64
	// Attempt counts from 1. Before the second the feeder waits a little.
	Attempt int
}

// Options is how one publisher is followed.
type Options struct {
	// BlockSize of the keys, in tokens. 0 takes what the engine's first store says.
	BlockSize int
	// Rank is the data-parallel rank that batches must be of where they tell; -1 is any.
	Rank int
	// Replay says that a replay can be asked for.
	Replay bool
	// ReplayAttempts before what is missing counts as lost; 0 is 3.
	ReplayAttempts int
	// MaxLost is how many batches in a row may be lost with the picture kept, in doubt;
	// beyond it is dropped. 0 is 1000: some seconds to minutes of an engine.
	MaxLost uint64
	// AliasBytes bounds the table of the engine's hashes, 24 bytes a block at best; 0 is
	// 24 MiB, half a million to a million blocks.
	AliasBytes int
	// OrphanBytes bounds blocks whose parents are not known; 0 is 1 MiB.
	OrphanBytes int
	// HeldBytes bounds batches that come while a replay is under way; 0 is 8 MiB.
	HeldBytes int
	// Namespace is the root of the keys for prompts with an adapter and a salt, both ""
	// if none (see keys.Namespace); not ok means that nobody will ask for them. The
	// slices must not be kept.
	Namespace func(adapter, salt []byte) (root uint64, ok bool)
}

// defaults of Options.
const (
	defaultAttempts    = 3
	defaultMaxLost     = 1000
	defaultAliasBytes  = 24 << 20
	defaultOrphanBytes = 1 << 20
	defaultHeldBytes   = 8 << 20
)

func orDefault[N int | uint64](n *N, value N) {
	if *n == 0 {
		*n = value
	}
}

// Publisher follows one publisher of events: one data-parallel rank of one replica. It
// is pure: whoever feeds it does the I/O, from one goroutine at a time.
type Publisher struct {
	options Options
	index   Index
	picture Picture
	counted [reasons]uint64

	life    life
	held    held
	replay  replay
	aliases aliases
	orphans orphans

	group     int    // the one whose blocks count, NoGroup until one was heard
	farTiers  bool   // a tier beyond the device was heard of in this life
	blockSize int    // of the keys, 0 until it is known
	heardSize int    // what the engine's last store said
	batch     Batch  // reused
	changes   change // reused
}

// New makes a Publisher that has heard nothing.
func New(o Options, index Index) (*Publisher, error) {
	switch {
	case o.Namespace == nil:
		return nil, fmt.Errorf("cannot follow a publisher without namespaces for its prompts")
	case o.BlockSize < 0, o.ReplayAttempts < 0, o.AliasBytes < 0, o.OrphanBytes < 0, o.HeldBytes < 0:
		return nil, fmt.Errorf("cannot follow a publisher with a negative limit: %+v", limitsOf(o))
	}
	orDefault(&o.ReplayAttempts, defaultAttempts)
	orDefault(&o.MaxLost, defaultMaxLost)
	orDefault(&o.AliasBytes, defaultAliasBytes)
	orDefault(&o.OrphanBytes, defaultOrphanBytes)
	orDefault(&o.HeldBytes, defaultHeldBytes)
	return &Publisher{
		options: o, index: index, group: NoGroup, blockSize: o.BlockSize,
		aliases: newAliases(o.AliasBytes), orphans: newOrphans(o.OrphanBytes),
	}, nil
}

// limitsOf is what an error shows of the options.
func limitsOf(o Options) []int {
	return []int{o.BlockSize, o.ReplayAttempts, o.AliasBytes, o.OrphanBytes, o.HeldBytes}
}

// Picture says what the index may be trusted with.
func (p *Publisher) Picture() Picture {
	if p.life.unsure {
		return Doubtful
	}
	if p.picture == Complete && len(p.orphans.byHash) > 0 {
		return Lacking
	}
	return p.picture
}

// Count is how often something happened since New.
func (p *Publisher) Count(r Reason) uint64 { return p.counted[r] }

// BlockSize is the block size of the keys, 0 while it is not known; heard is what the
// engine said last, 0 if nothing. If they differ, no key can match.
func (p *Publisher) BlockSize() (keyed, heard int) { return p.blockSize, p.heardSize }

// Next is the sequence number that is expected; ok is false before anything was heard.
func (p *Publisher) Next() (seq uint64, ok bool) { return p.life.next, p.life.begun }

// Size is what is remembered: blocks by hash, blocks without a parent, and the memory
// of both.
func (p *Publisher) Size() (blocks, orphans, bytes int) {
	return p.aliases.used, len(p.orphans.byHash), p.aliases.bytes() + p.orphans.size + p.held.size
}

// count counts n of a reason.
func (p *Publisher) count(r Reason, n int) { p.counted[r] += uint64(n) }

// lack notes that blocks are missing.
func (p *Publisher) lack() {
	if p.picture == Complete {
		p.picture = Lacking
	}
}

// forget drops what is known of the engine's blocks.
func (p *Publisher) forget() {
	p.aliases.clear()
	p.orphans.clear()
}

// restart begins a new life.
func (p *Publisher) restart() {
	p.forget()
	p.held.clear()
	p.count(Restarts, 1)
	p.life = life{}
	p.picture, p.group, p.farTiers = Unheard, NoGroup, false
	p.blockSize = p.options.BlockSize
	p.index.Restarted()
}

// lose notes that n batches will never come. Few leave the picture in doubt; after many
// there would be more wrong in it than right.
func (p *Publisher) lose(n uint64) {
	p.counted[LostBatches] += n
	if n <= p.options.MaxLost {
		p.picture = Doubtful
		return
	}
	p.count(Resets, 1)
	p.forget()
	p.index.Cleared()
	p.picture = Lacking
}

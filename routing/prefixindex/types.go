package prefixindex

import (
	"errors"
	"time"

	"penstock/pools"
)

// Tier is where a replica holds a block.
type Tier uint8

// The tiers, from the nearest to the farthest.
const (
	TierUnknown Tier = iota // not known; operations on it do nothing
	TierDevice              // in the accelerator's memory
	TierHost                // in the host's memory
	TierDisk                // on a disk of the host
	TierRemote              // in a store shared between hosts
)

// Tiers is the number of tiers that blocks are counted in.
const Tiers = int(TierRemote)

// String is the name of a tier, as in labels of metrics.
func (t Tier) String() string {
	switch t {
	case TierUnknown:
	case TierDevice:
		return "device"
	case TierHost:
		return "host"
	case TierDisk:
		return "disk"
	case TierRemote:
		return "remote"
	}
	return "unknown"
}

// known reports whether a tier is one that is counted.
func (t Tier) known() bool { return t >= TierDevice && t <= TierRemote }

// Mode is what of a replica's entries a lookup believes.
type Mode uint8

// The modes.
const (
	ModeOff       Mode = iota // nothing: the replica is routed to by load alone
	ModePredicted             // predictions alone: the replica's events are silent or wrong
	ModePrecise               // events, and predictions until they are confirmed or expire
)

// String is the name of a mode, as in labels of metrics.
func (m Mode) String() string {
	switch m {
	case ModeOff:
	case ModePredicted:
		return "predicted"
	case ModePrecise:
		return "precise"
	}
	return "off"
}

// Action is what happened to blocks.
type Action uint8

// The actions. The zero value does nothing.
const (
	ActionNone    Action = iota
	ActionStored         // the replica has the blocks in the tier, once more
	ActionRemoved        // once less
	ActionCleared        // the replica has no block left in any tier; Keys and Tier are ignored
)

// Op is one step of a batch. Keys are read, not kept.
type Op struct {
	Action Action
	Tier   Tier
	Keys   []uint64
}

// Match is what one replica has of a chain of keys.
type Match struct {
	ID    pools.ReplicaID
	Epoch pools.Epoch
	Mode  Mode
	// Blocks[t-1] leading blocks are each in tier t or a nearer one, as events told: the
	// figures never fall from device to remote. Zero in ModePredicted.
	Blocks [Tiers]uint32
	// Predicted leading blocks are each in some tier or predicted; never less than
	// Blocks[TierRemote-1].
	Predicted uint32
}

// In is the number of leading blocks that are in tier t or a nearer one.
func (m *Match) In(t Tier) uint32 {
	if !t.known() {
		return 0
	}
	return m.Blocks[t-1]
}

// Options are the limits of an Index. Fields that are zero get the default.
type Options struct {
	// MaxBytes bounds the memory of the whole index. Default 256 MiB, at least 1 MiB
	// beside what Predictions take (24 bytes each).
	MaxBytes int64
	// MaxReplicas bounds the replicas alive at once. Default and limit 4095. As many lives
	// and one may wait for a sweep beside them, up to 4096 together. Memory follows the
	// ordinals in use, not this.
	MaxReplicas int
	// MaxPredictions bounds the (block, replica) pairs that wait for expiry, in each of
	// the two modes; beyond it the oldest expire early. Default MaxBytes/256.
	MaxPredictions int
	// PreciseTTL is how long a prediction waits for its event. Default 10 s.
	PreciseTTL time.Duration
	// PredictedTTL is how long a prediction counts where no events come. Default 10 min.
	PredictedTTL time.Duration
	// Seed makes the places of keys in the tables unguessable; draw it at random.
	Seed uint64
}

// The defaults and limits of Options.
const (
	DefaultMaxBytes     = 256 << 20
	DefaultPreciseTTL   = 10 * time.Second
	DefaultPredictedTTL = 10 * time.Minute

	minTableBytes = 1 << 20
	maxOrdinals   = 1 << ordinalBits
)

// Errors that a caller of Join may branch on.
var (
	ErrFull  = errors.New("prefixindex: no ordinal is free, sweep first")
	ErrStale = errors.New("prefixindex: the replica has a later epoch")
)

// Stats are the totals of an Index.
type Stats struct {
	Keys      int64 // different blocks
	Entries   int64 // (block, replica) pairs, those of masked lives included until swept
	Bytes     int64 // allocated for tables, rows and predictions
	MaxBytes  int64
	Replicas  int // alive
	Unswept   int // lives masked and not yet swept
	Lookups   uint64
	Evicted   uint64 // pairs dropped for room
	Dropped   uint64 // pairs never taken in, for want of room
	Ignored   uint64 // blocks of replicas or epochs that are not known
	Expired   uint64 // predictions that no event confirmed
	Early     uint64 // of those, by MaxPredictions
	Confirmed uint64 // predictions that an event confirmed
}

// ReplicaStats are the figures of one replica.
type ReplicaStats struct {
	Epoch     pools.Epoch
	Mode      Mode
	Blocks    [Tiers]int64 // held by tier; a block in two tiers counts in both
	Predicted int64
	// Incomplete: entries that events told of were dropped since the epoch began or was
	// cleared, so that a lookup may say less than the replica has.
	Incomplete bool
}

package core

// Tier is a place that holds KV blocks.
type Tier uint8

// The tiers of an engine, nearest first.
const (
	TierDevice Tier = iota
	TierHost
)

func (t Tier) String() string {
	if t == TierHost {
		return "host"
	}
	return "device"
}

// Stored says that consecutive blocks of one sequence became reusable. The
// slices are valid only during the call.
type Stored struct {
	Parent    Key // key of the block before the first one; meaningless if Root
	Root      bool
	Keys      []Key
	Tokens    []uint32 // len(Keys)·BlockSize ids; nil when the request came with keys only
	BlockSize int
	Adapter   string
	Salt      string
	Tier      Tier
}

// Observer hears every change of what the cache holds, in order. A block that
// exists twice is stored twice and removed twice, as vLLM reports it.
type Observer interface {
	Stored(s Stored)
	Removed(keys []Key, tier Tier)
	Cleared()
}

type noObserver struct{}

func (noObserver) Stored(Stored)       {}
func (noObserver) Removed([]Key, Tier) {}
func (noObserver) Cleared()            {}

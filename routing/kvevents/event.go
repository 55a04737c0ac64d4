package kvevents

import "penstock/routing/prefixindex"

// Tier is where an engine holds a block: the index's own. Engines name media in their
// own ways; without a name it is the device, and blocks in a medium that is not known
// are not counted.
type Tier = prefixindex.Tier

// The tiers, from the nearest to the farthest.
const (
	TierUnknown = prefixindex.TierUnknown
	TierDevice  = prefixindex.TierDevice
	TierHost    = prefixindex.TierHost
	TierDisk    = prefixindex.TierDisk
	TierRemote  = prefixindex.TierRemote
)

// tierOf normalises the name of a medium: vLLM says GPU, CPU and STORAGE (the latter is
// the node's, unless its locality says otherwise), SGLang GPU, CPU_PINNED, DISK and
// EXTERNAL. Backends add names of their own, like CPU_TIER0, so that unknown ones are
// tried by what they start with.
func tierOf(medium []byte) Tier {
	switch {
	case len(medium) == 0, hasPrefix(medium, "GPU"), hasPrefix(medium, "DEVICE"), hasPrefix(medium, "HBM"),
		hasPrefix(medium, "XPU"), hasPrefix(medium, "TPU"), hasPrefix(medium, "NPU"):
		return TierDevice
	case hasPrefix(medium, "CPU"), hasPrefix(medium, "HOST"), hasPrefix(medium, "DRAM"):
		return TierHost
	case hasPrefix(medium, "DISK"), hasPrefix(medium, "STORAGE"), hasPrefix(medium, "SSD"), hasPrefix(medium, "NVME"),
		hasPrefix(medium, "FS"):
		return TierDisk
	case hasPrefix(medium, "EXTERNAL"), hasPrefix(medium, "REMOTE"), hasPrefix(medium, "OBJ"):
		return TierRemote
	}
	return TierUnknown
}

// hasPrefix compares without regard to the case of ASCII letters.
func hasPrefix(text []byte, upper string) bool {
	if len(text) < len(upper) {
		return false
	}
	for i := range len(upper) {
		c := text[i]
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		if c != upper[i] {
			return false
		}
	}
	return true
}

// Kind is what happened.
type Kind uint8

// The kinds of events.
const (
	KindUnknown   Kind = iota // a tag from a newer engine, or an event that misses what it must have
	KindStored                // blocks became reusable
	KindRemoved               // blocks are gone from a tier
	KindEvicted               // blocks are gone from every tier (TensorRT-LLM)
	KindMoved                 // a block went from one tier to another (TensorRT-LLM)
	KindCleared               // the engine dropped its whole cache
	KindCreated               // the engine made its cache (TensorRT-LLM)
	KindMalformed             // a known tag whose fields make no sense
)

// NoGroup is the Group of an event that names none.
const NoGroup = -1

// Spec is the kind of attention that a group of blocks serves.
type Spec uint8

// The kinds of attention. Only blocks of full attention say that a prefix is held.
const (
	SpecUnset  Spec = iota // not told
	SpecFull               // every token attends to all before
	SpecOther              // sliding windows, state-space layers, cross attention and the like
	SpecWindow             // TensorRT-LLM: Group is the window; the largest one counts
)

// specOf reads kv_cache_spec_kind.
func specOf(name []byte) Spec {
	switch string(name) {
	case "":
		return SpecUnset
	case "full_attention", "mla_attention", "sink_full_attention":
		return SpecFull
	}
	return SpecOther
}

// Extra says what a block depends on besides its tokens and those before it.
type Extra uint8

// Extra keys of a block.
const (
	ExtraNone   Extra = iota
	ExtraOpaque       // an image, embeddings, or what is not known: the block has no key of ours
)

// Event is one change of an engine's cache. Its slices belong to the Batch and its
// payload: they are valid until the next decode.
type Event struct {
	Kind Kind
	// Tier holds the blocks; From is where a moved one was.
	Tier, From Tier
	Spec       Spec
	// HasParent says that the first block follows the one with the engine's hash Parent.
	HasParent bool
	// UnnamedAdapter: an adapter was told by a number that only that engine knows.
	UnnamedAdapter bool
	// PlainTokens: Tokens are complete and each fits 32 bits.
	PlainTokens bool
	// Group of the KV cache, or NoGroup.
	Group int
	// BlockSize is in tokens, 0 where it is not told.
	BlockSize int
	// Hashes are the engine's names of the blocks, in the order of the tokens. Signed
	// ones are in two's complement, longer ones hashed to 64 bits.
	Hashes []uint64
	Parent uint64
	Tokens []uint32
	// Extras has an entry per block, or is empty if none has any.
	Extras []Extra
	// Adapter (LoRA) and cache salt, empty if none. A salt counts for the first block of
	// a prompt; later ones inherit it.
	Adapter, Salt []byte
}

// Batch is one message of a publisher. It is reusable: decoding into it again keeps its
// memory.
type Batch struct {
	// Time is the engine's clock, in seconds since 1970.
	Time float64
	// Rank is the data-parallel rank, -1 where it is not told.
	Rank   int
	Events []Event

	hashes []uint64
	tokens []uint32
	extras []Extra
}

// maxKept bounds the memory that a Batch keeps for the next, in elements of each kind:
// a prompt of a million tokens comes once.
const maxKept = 1 << 18

// reset empties the batch.
func (b *Batch) reset() {
	*b = Batch{
		Rank: -1, Events: kept(b.Events), hashes: kept(b.hashes), tokens: kept(b.tokens), extras: kept(b.extras),
	}
}

func kept[E any](s []E) []E {
	if cap(s) > maxKept {
		return nil
	}
	return s[:0]
}

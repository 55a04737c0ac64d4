package kvevents

// Reason names what happened to events besides being applied; each is counted.
type Reason uint8

// The reasons.
const (
	MalformedBatch   Reason = iota // payloads that are no batch
	MalformedEvent                 // events of a known kind that make no sense
	UnknownEvent                   // events of a kind that is not known
	WrongRank                      // batches of another data-parallel rank
	DuplicateBatch                 // batches that had come before
	LostBatches                    // batches that never came, not by replay either
	HeldDropped                    // batches that came during a replay and had no room to wait
	ReplaysAsked                   // replays asked for
	Restarts                       // new lives of the publisher
	Resets                         // pictures dropped because too much was lost
	OtherGroup                     // events about groups that say nothing about prefixes
	OtherMedium                    // events about media that are not known
	OtherBlockSize                 // stores whose blocks are of another size
	Ragged                         // stores whose tokens do not fill their blocks
	WithoutTokens                  // blocks stored without tokens or a known hash
	UnnamedAdapters                // stores of adapters whose name is not told
	UnknownNamespace               // prompts in namespaces that the caller does not know
	OpaqueBlocks                   // blocks that depend on more than tokens
	OrphansHeld                    // blocks whose parent was not known
	OrphansDropped                 // of these, forgotten for room
	UnknownRemoved                 // removals of blocks that were not known
	AliasesDropped                 // blocks forgotten for room
	reasons
)

var reasonNames = [reasons]string{
	"malformed_batch", "malformed_event", "unknown_event", "wrong_rank", "duplicate_batch", "lost_batches",
	"held_dropped", "replays_asked", "restarts", "resets", "other_group", "other_medium", "other_block_size",
	"ragged", "without_tokens", "unnamed_adapters", "unknown_namespace", "opaque_blocks", "orphans_held",
	"orphans_dropped", "unknown_removed", "aliases_dropped",
}

// String is the reason as in labels of metrics.
func (r Reason) String() string {
	if r < reasons {
		return reasonNames[r]
	}
	return "unknown"
}

// Reasons lists all of them, for exporters.
func Reasons() []Reason {
	all := make([]Reason, reasons)
	for i := range all {
		all[i] = Reason(i)
	}
	return all
}

// Picture says what the index may be trusted with about one publisher.
type Picture uint8

// The pictures.
const (
	Unheard  Picture = iota // nothing was heard in this life of the publisher
	Complete                // every block that the engine told of in this life
	Lacking                 // some blocks are missing; all that are there are held
	Doubtful                // events were lost: blocks may be there that are gone
)

// String is the name of a picture, as in labels of metrics.
func (p Picture) String() string {
	switch p {
	case Complete:
		return "complete"
	case Lacking:
		return "lacking"
	case Doubtful:
		return "doubtful"
	case Unheard:
	}
	return "unheard"
}

// Package kvevents turns what engines tell about their KV caches into changes of the
// prefix index.
//
// A Publisher follows one publisher of events, which is one data-parallel rank of one
// replica. It is fed messages (Connected, Live, Replayed, ReplayEnded; Polled for
// TensorRT-LLM), says when a replay must be asked for, and calls an Index. The package
// zmq beside it does the I/O. This one is pure: no network, clock, lock or goroutine.
//
// # Keys
//
// Events carry token ids, so blocks get keys of our own (keys.Chain), the same that
// prompts are looked up by. The engine's hash is an alias for one: later events name
// parents and removed blocks by it. A hash is forgotten when no tier holds its block, or
// for room; then the index is told that the block is gone, because its removal could not
// be understood any more.
//
// Blocks that depend on more than their tokens (images, embeddings, adapters whose name
// is not told) and all that follow them have no key, but are known, so that they are not
// taken for orphans. Orphans are blocks whose parents were never told of, or too long
// ago: they wait, within bounds, for the parent or for Adopt.
//
// # Numbers
//
// A publisher numbers its batches from 0. What is missing is asked for again, beginning
// with the last batch that is known: if its content is another, it is another process,
// and everything is forgotten. So it is when a connection gives a number that had come
// before, unless the batch is the same. Without replay a new connection leaves doubt.
//
// Picture says what all this left: while it is Complete or Lacking, the engine holds
// every block that the index was told of and not told to forget. Two things can deceive
// that: an engine that reports hits as stores (vLLM with kv_cache_report_mode "full"),
// whose blocks seem to be held twice, and events of kinds that do not exist yet, which
// are counted as UnknownEvent.
//
// # Which blocks count
//
// Models with several kinds of attention keep blocks in groups. Only a group of full
// attention says how much of a prompt is held: the first one heard of counts, the others
// are counted as OtherGroup. TensorRT-LLM tells windows instead; the largest counts.
//
// SGLang's events tell neither adapters nor images: with those, its blocks go by tokens
// alone.
package kvevents

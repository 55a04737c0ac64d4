// Package keying is the adapter between a pool's configuration and the pure packages
// that turn a prompt into block keys: it reads tokenizers and templates from disk,
// checks them against the pool's engines, and asks an engine where they cannot tell.
// It never fails a request: what it does not know is said as a Reason.
//
// Where the keys of a prompt come from, in this order: the pool's own tokenizer and
// template, as long as nothing speaks against them; an answer of an engine that was
// fetched for an equal prompt before; the bytes of the prompt.
//
// Clients are not believed: what they can bring about, the usage of answers, has the
// engines asked again, and a prompt can cost no more than its budget of time and
// memory, nor engines more than some questions a second.
//
// Goroutines: Manager.Run has one per pool, which loads and watches the pool's
// replicas, one beside it that compares with them, and for pools that may ask engines
// four more that do. They end before Run returns. Key and Observe run on the caller's
// goroutine.
package keying

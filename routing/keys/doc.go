// Package keys turns a prompt into the chain of block keys that the prefix index is
// asked for, and remembers what it worked out so that the next turn of a conversation
// pays only for its new text.
//
// A key is XXH64 over the key before it (the namespace, for the first) and the token
// ids of one full block; the ids of an incomplete last block have no key.
//
// # The memo
//
// Text may be cut at some special tokens without changing its ids
// (tokenizer.Encoder.Boundaries). At such places the memo keeps, under a tag of all
// text before, the number of tokens, the keys of the blocks since the place before,
// and the ids that do not fill a block yet. A lookup tags the text of the whole
// prompt, looks for the last place that is known and tokenizes what follows it.
//
// Clients choose the text, so a tag must not be forgeable: it is GMAC under a key drawn
// for the process (package gmac).
//
// Namespaces keep tenants with a salt apart in the memo as they do in the index, so
// that one cannot learn from the time of an answer what another has asked.
//
// The package is pure and starts no goroutine. A Keyer is safe for concurrent use, a
// Worker is for one goroutine at a time.
package keys

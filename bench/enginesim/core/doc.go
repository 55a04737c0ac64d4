// Package core is the model of one inference engine: a scheduler that works in
// steps, a paged block pool with a prefix cache, and the time each step takes.
//
// It owns what a request waits for (queue, batch, blocks) and never does I/O,
// reads a clock or starts a goroutine. The caller supplies the time: it asks
// Next when the engine wants attention and calls Step then. A wall-clock runner
// and a virtual-time replay drive the same code.
//
// An Engine is not safe for concurrent use.
package core

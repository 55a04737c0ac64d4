// Package trace owns request traces: reading the published formats, changing
// their clock, generating a multi-turn chat mix, and turning each request into
// a body whose text repeats exactly where the trace says that it repeats.
//
// Everything is deterministic in its seed. The package reads files only where a
// caller names one, and starts no goroutine.
package trace

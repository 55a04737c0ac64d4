// Package relay moves the bytes of a streamed answer from an engine to a
// client, with backpressure end to end and bounded memory.
//
// A Stream whose two sides are bare TCP runs on a Loop: one goroutine per core
// around an epoll of its own, one read and one write per wake-up, scratch
// memory shared by all streams. A stream that no wake-up concerns costs a few
// hundred bytes and no goroutine. Everything else (TLS, other systems) runs the
// same state machine on a goroutine with blocking calls.
//
// Why a loop: on the runtime's poller each event costs a wake-up of the
// goroutine and a second read that finds nothing, 1.6 times what nginx spends
// (bench/RESULTS.md has both).
//
// The package owns the two connections of a stream from Start until Done is
// called, decides nothing about what the bytes mean (an Observer does), and
// starts only the loops and the blocking relays, all of which end with Close.
package relay

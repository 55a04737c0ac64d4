// Package pools owns the replicas: which there are, whether they are alive, how
// loaded they are, and the leases on them. It never speaks HTTP to clients.
//
// A Set is one pool and a Fleet is all of them. Readers take a View, an
// immutable picture behind an atomic pointer, and never lock; the counters that
// change with every request are atomics reached through its Members. A Lease is
// reserved when a replica is chosen and ended exactly once.
//
// The package starts no goroutine of its own; the probes in pools/health and
// pools/load report into a Set. The one timer is that of a removed replica
// whose requests outlast the drain timeout; Close stops it.
//
// Lock order: Fleet.mu, then a breaker's own mutex, then Set.mu. Nothing calls
// a breaker while it holds Set.mu.
package pools

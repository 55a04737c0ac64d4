// Package pools owns the replicas: which there are, whether they are alive, how
// loaded they are, and the leases on them. It never speaks HTTP to clients.
//
// A Set is one pool. Readers take a View, an immutable picture behind an atomic
// pointer, and never lock. A Lease is reserved when a replica is chosen and
// ended exactly once. The package starts no goroutine; the probes in
// pools/health and pools/load report into a Set.
package pools

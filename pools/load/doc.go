// Package load owns the reading of engines' own load: one goroutine per replica
// asks its metrics and reports running and waiting requests and KV cache usage
// to the pool. A reading that fails makes the replica's load unknown after a
// while; it never makes the replica unhealthy.
package load

// Package health owns the active probes of a pool: one goroutine per replica
// asks whether the engine is well, finds out what kind of engine it is and
// which models it lists, and reports all of it to the pool. It decides nothing;
// thresholds and states are the pool's.
package health

// Package auth owns the gateway's own API keys: who a caller is, and which
// models that caller may use.
//
// Keys are held as SHA-256 digests (they are long and random, so a slow hash
// would only slow requests down) in an immutable table behind an atomic
// pointer; a reload swaps the table. No raw key is kept, logged, or put in an
// error. The package does no I/O and starts no goroutine.
package auth

package routing

import "github.com/cespare/xxhash/v2"

// HashKey hashes a session key or a prompt's start for a Query. It is 0, which
// means none, only for an empty key.
func HashKey(key []byte) uint64 {
	if len(key) == 0 {
		return 0
	}
	return max(1, xxhash.Sum64(key))
}

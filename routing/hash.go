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

// HashString is HashKey for a string.
func HashString(key string) uint64 {
	if key == "" {
		return 0
	}
	return max(1, xxhash.Sum64String(key))
}

// HashPair joins two hashes, such as a tenant's and a session's, in order. It
// is 0 only when both are.
func HashPair(a, b uint64) uint64 {
	if a == 0 && b == 0 {
		return 0
	}
	return max(1, mix(mix(a)+b))
}

package keys

import (
	"encoding/binary"

	"penstock/routing/internal/gmac"
)

// tag stands for all text up to a place, and everything else that the ids up to there
// depend on.
type tag = gmac.Tag

// SecretSize is the length of Options.Secret in bytes.
const SecretSize = gmac.SecretSize

// root is the tag before any text.
func root(namespace uint64, variant byte) tag {
	var t tag
	binary.LittleEndian.PutUint64(t[:], namespace)
	t[8] = variant
	return t
}

package keys

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
)

// tag stands for all text up to a place, and everything else that the ids up to there
// depend on.
type tag [16]byte

// tagger computes tags. It is immutable; AES-GCM keeps no state.
type tagger struct{ gcm cipher.AEAD }

// SecretSize is the length of Options.Secret in bytes.
const SecretSize = 16

func newTagger(secret []byte) (tagger, error) {
	if len(secret) != SecretSize {
		return tagger{}, fmt.Errorf("cannot use a secret of %d bytes: want %d", len(secret), SecretSize)
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return tagger{}, err
	}
	gcm, err := cipher.NewGCM(block)
	return tagger{gcm}, err
}

// scratch is memory for one tag; on the stack it would escape through the interface.
type scratch struct {
	nonce [12]byte
	out   [2 * len(tag{})]byte
}

// next is the tag after text that follows the place of t.
func (g tagger) next(s *scratch, t tag, text []byte) tag {
	copy(s.out[:], t[:])
	// The plaintext is the tag before, the authenticated data the text: GHASH covers
	// both. Sealing in place is allowed when the plaintext starts where the output does.
	sealed := g.gcm.Seal(s.out[:0], s.nonce[:], s.out[:len(t)], text)
	return tag(sealed[len(t):])
}

// root is the tag before any text.
func root(namespace uint64, variant byte) tag {
	var t tag
	binary.LittleEndian.PutUint64(t[:], namespace)
	t[8] = variant
	return t
}

// Package gmac owns tags of text that strangers choose: AES-GCM over authenticated
// data alone, under a key drawn for the process. Two different texts of n bytes get
// equal tags with probability n/2^131, whatever the author knows, because tags never
// leave the process; the nonce is constant for the same reason: nothing encrypted is
// ever shown to anybody.
//
// The package is pure and starts no goroutine.
package gmac

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"
)

// Tag stands for all text that it was made of.
type Tag [16]byte

// SecretSize is the length of a Key's secret in bytes.
const SecretSize = 16

// Key makes tags. It is immutable and safe for concurrent use.
type Key struct{ gcm cipher.AEAD }

// New makes a Key of a secret of SecretSize bytes. Each use has a secret of its own.
func New(secret []byte) (Key, error) {
	if len(secret) != SecretSize {
		return Key{}, fmt.Errorf("cannot use a secret of %d bytes: want %d", len(secret), SecretSize)
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return Key{}, err
	}
	gcm, err := cipher.NewGCM(block)
	return Key{gcm}, err
}

// Scratch is memory for one tag; on the stack it would escape through the interface.
type Scratch struct {
	nonce [12]byte
	out   [2 * len(Tag{})]byte
}

// Next is the tag of text that follows what t stands for.
func (k Key) Next(s *Scratch, t Tag, text []byte) Tag {
	copy(s.out[:], t[:])
	// The plaintext is the tag before, the authenticated data the text: GHASH covers
	// both. Sealing in place is allowed when the plaintext starts where the output does.
	sealed := k.gcm.Seal(s.out[:0], s.nonce[:], s.out[:len(t)], text)
	return Tag(sealed[len(t):])
}

package bpe

import (
	"encoding/binary"
	"math/bits"
)

// Odd constants with well spread bits: the golden ratio and two from splitmix64.
const (
	mixA = 0x9E3779B97F4A7C15
	mixB = 0xBF58476D1CE4E5B9
	mixC = 0x94D049BB133111EB
)

// hashWords mixes the two words of a piece and its length.
func hashWords(a, b uint64, n int) uint64 {
	hi, lo := bits.Mul64(a^mixA, b^mixB^uint64(n)*mixC)
	return hi ^ lo
}

// hashText hashes a text of any length. It need not resist an adversary: what is
// looked up is the vocabulary's own.
func hashText(text []byte) uint64 {
	h := uint64(len(text)) * mixC
	for len(text) > 16 {
		h = hashWords(h^binary.LittleEndian.Uint64(text), binary.LittleEndian.Uint64(text[8:]), 16)
		text = text[16:]
	}
	a, b := words(text, 0, len(text))
	return hashWords(h^a, b, len(text))
}

// words is text[from:from+n] as two words, n <= 16, zero after the end.
func words(text []byte, from, n int) (a, b uint64) {
	if from+16 <= len(text) {
		window := text[from : from+16]
		a = binary.LittleEndian.Uint64(window)
		if n <= 8 {
			return a << (64 - 8*uint(n)) >> (64 - 8*uint(n)), 0
		}
		b = binary.LittleEndian.Uint64(window[8:])
		return a, b << (128 - 8*uint(n)) >> (128 - 8*uint(n))
	}
	return wordsAtEnd(text[from : from+n])
}

func wordsAtEnd(text []byte) (a, b uint64) {
	var window [16]byte
	copy(window[:], text)
	return binary.LittleEndian.Uint64(window[:8]), binary.LittleEndian.Uint64(window[8:])
}

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
	a, b := words(text, 0, uint(len(text)))
	return hashWords(h^a, b, len(text))
}

// wordMasks keep the bytes of a piece of a length in its two words.
var wordMasks = makeWordMasks()

func makeWordMasks() (masks [17]struct{ a, b uint64 }) {
	for n := range masks {
		masks[n].a = ^uint64(0) >> (64 - 8*min(uint(n), 8))
		masks[n].b = ^uint64(0) >> (128 - 8*max(uint(n), 8))
	}
	return masks
}

// words is text[from:from+n] as two words, n <= 16, zero after the end.
func words(text []byte, from int, n uint) (a, b uint64) {
	if from+16 <= len(text) && n < uint(len(wordMasks)) {
		window := text[from : from+16]
		mask := &wordMasks[n]
		return binary.LittleEndian.Uint64(window) & mask.a, binary.LittleEndian.Uint64(window[8:]) & mask.b
	}
	return wordsAtEnd(text[from : from+int(n)])
}

func wordsAtEnd(text []byte) (a, b uint64) {
	var window [16]byte
	copy(window[:], text)
	return binary.LittleEndian.Uint64(window[:8]), binary.LittleEndian.Uint64(window[8:])
}

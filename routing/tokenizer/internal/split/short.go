package split

import (
	"encoding/binary"
	"math/bits"
)

// shortWord ends a space, if any, and up to seven ASCII letters at i, where something
// else of ASCII follows: most of the pieces of Latin text, and the same piece in
// every family without cases. It is 0 for any other text.
func shortWord(text []byte, i int) int {
	if text[i] == ' ' {
		i++
	}
	if i+8 > len(text) {
		return 0
	}
	w := binary.LittleEndian.Uint64(text[i:])
	other := notSmall(w | caseBits)
	size := bits.TrailingZeros64(other) // of the letters, in bits, and 7 more
	if size == 7 || w>>(size&^7&63)&0x80 != 0 || other == 0 {
		return 0
	}
	return i + size>>3
}

// shortCased is shortWord for a word that has small letters after its first letter,
// or is small, and that no apostrophe follows.
func shortCased(text []byte, i int) int {
	if text[i] == ' ' {
		i++
	}
	if i+8 > len(text) {
		return 0
	}
	w := binary.LittleEndian.Uint64(text[i:])
	other := notSmall(w | 0x20)
	size := bits.TrailingZeros64(other)
	if size == 7 || other == 0 {
		return 0
	}
	next := byte(w >> (size &^ 7 & 63))
	if next >= 0x80 || next == '\'' || size == 15 && w&0x20 == 0 {
		return 0
	}
	return i + size>>3
}

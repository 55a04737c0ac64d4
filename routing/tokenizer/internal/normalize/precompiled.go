package normalize

import (
	"bytes"
	"encoding/binary"
	"errors"
	"unicode/utf8"
)

// charsmap is the rules of a SentencePiece normalizer: a double-array trie over what
// is replaced, and the replacements, each ended by a zero byte.
type charsmap struct {
	units []uint32
	texts []byte
}

// newCharsmap reads the binary form: the size of the trie in bytes, the trie, the
// replacements.
func newCharsmap(data []byte) (*charsmap, error) {
	if len(data) < 4 {
		return nil, errors.New("precompiled_charsmap is too short")
	}
	size := uint64(binary.LittleEndian.Uint32(data)) / 4 * 4
	data = data[4:]
	if size == 0 || size > uint64(len(data)) {
		return nil, errors.New("precompiled_charsmap is shorter than its trie")
	}
	c := &charsmap{units: make([]uint32, size/4), texts: data[size:]}
	for i := range c.units {
		c.units[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	if !utf8.Valid(c.texts) {
		return nil, errors.New("precompiled_charsmap has replacements that are not UTF-8")
	}
	return c, nil
}

// offset is how far the children of a unit are from it.
func offset(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }

// find gives the replacement for text: that of its shortest beginning that has one,
// as the library does, though it then replaces all of it.
func (c *charsmap) find(text []byte) ([]byte, bool) {
	at := offset(c.units[0])
	for _, b := range text {
		if b == 0 {
			return nil, false
		}
		at ^= uint32(b)
		if uint64(at) >= uint64(len(c.units)) {
			return nil, false
		}
		unit := c.units[at]
		if unit&(1<<31|0xFF) != uint32(b) {
			return nil, false
		}
		at ^= offset(unit)
		if unit>>8&1 == 0 {
			continue
		}
		if uint64(at) >= uint64(len(c.units)) {
			return nil, false
		}
		return c.text(c.units[at] & (1<<31 - 1))
	}
	return nil, false
}

// text is the replacement that begins at a place.
func (c *charsmap) text(from uint32) ([]byte, bool) {
	if uint64(from) > uint64(len(c.texts)) {
		return nil, false
	}
	text := c.texts[from:]
	if end := bytes.IndexByte(text, 0); end >= 0 {
		text = text[:end]
	}
	return text, true
}

// short is below how many bytes a grapheme is replaced as a whole.
const short = 6

// apply replaces graphemes, or the characters in them.
func (c *charsmap) apply(dst, text []byte) []byte {
	for from := 0; from < len(text); {
		end := grapheme(text, from)
		if end-from < short {
			if replacement, found := c.find(text[from:end]); found {
				dst = append(dst, replacement...)
				from = end
				continue
			}
		}
		for from < end {
			_, size := utf8.DecodeRune(text[from:end])
			if replacement, found := c.find(text[from : from+size]); found {
				dst = append(dst, replacement...)
			} else {
				dst = append(dst, text[from:from+size]...)
			}
			from += size
		}
	}
	return dst
}

package spec

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// Vocabulary maps texts to ids. All texts lie in one piece of memory and the table
// holds numbers only, so that half a million entries cost no garbage collection.
type Vocabulary struct {
	arena []byte
	ends  []uint32 // of the texts in arena
	ids   []uint32
	table []uint32 // entry+1 by hash, open addressing; a power of two long
	order []uint32 // entries by id; nil while every entry is its own id
}

// NewVocabulary makes an empty vocabulary with room for so many entries and bytes.
func NewVocabulary(entries, size int) *Vocabulary {
	slots := 64
	for slots < entries*2 {
		slots *= 2
	}
	return &Vocabulary{
		arena: make([]byte, 0, size),
		ends:  make([]uint32, 0, entries),
		ids:   make([]uint32, 0, entries),
		table: make([]uint32, slots),
	}
}

// Len is the number of entries.
func (v *Vocabulary) Len() int { return len(v.ids) }

// Bytes is the memory that it takes.
func (v *Vocabulary) Bytes() int64 {
	return int64(cap(v.arena)) + 4*int64(cap(v.ends)+cap(v.ids)+len(v.table)+len(v.order))
}

// Entry is the text and the id of entry i, in the order of the file.
func (v *Vocabulary) Entry(i int) (text []byte, id uint32) {
	start := uint32(0)
	if i > 0 {
		start = v.ends[i-1]
	}
	return v.arena[start:v.ends[i]:v.ends[i]], v.ids[i]
}

// Add gives a text an id, a new one if it has one already, as the last of two equal
// keys counts in a JSON object. It says false when there is no more room.
func (v *Vocabulary) Add(text []byte, id uint32) bool {
	slot, entry := v.find(text)
	if entry >= 0 {
		v.ids[entry] = id
		return true
	}
	if len(v.arena)+len(text) > math.MaxUint32 || len(v.ids) == math.MaxInt32 {
		return false
	}
	v.arena = append(v.arena, text...)
	v.ends = append(v.ends, uint32(len(v.arena)))
	v.ids = append(v.ids, id)
	v.table[slot] = uint32(len(v.ids))
	if len(v.ids)*2 > len(v.table) {
		v.grow()
	}
	return true
}

// Find is the id of a text.
func (v *Vocabulary) Find(text []byte) (uint32, bool) {
	_, entry := v.find(text)
	if entry < 0 {
		return 0, false
	}
	return v.ids[entry], true
}

// find gives the slot in which text is or belongs, and its entry or -1.
func (v *Vocabulary) find(text []byte) (slot uint64, entry int) {
	mask := uint64(len(v.table) - 1)
	for slot = mix(text) & mask; ; slot = (slot + 1) & mask {
		number := v.table[slot]
		if number == 0 {
			return slot, -1
		}
		if found, _ := v.Entry(int(number - 1)); bytes.Equal(found, text) {
			return slot, int(number - 1)
		}
	}
}

func (v *Vocabulary) grow() {
	v.table = make([]uint32, len(v.table)*2)
	mask := uint64(len(v.table) - 1)
	for i := range v.ids {
		text, _ := v.Entry(i)
		slot := mix(text) & mask
		for v.table[slot] != 0 {
			slot = (slot + 1) & mask
		}
		v.table[slot] = uint32(i + 1)
	}
}

// Sort readies Text, once all entries are in, and lets go of memory that was meant for
// more.
func (v *Vocabulary) Sort() {
	v.arena = append(make([]byte, 0, len(v.arena)), v.arena...)
	v.ends = append(make([]uint32, 0, len(v.ends)), v.ends...)
	v.ids = append(make([]uint32, 0, len(v.ids)), v.ids...)
	v.order = nil
	inOrder := true
	for i, id := range v.ids {
		inOrder = inOrder && uint32(i) == id
	}
	if inOrder {
		return
	}
	v.order = make([]uint32, len(v.ids))
	for i := range v.order {
		v.order[i] = uint32(i)
	}
	slices.SortStableFunc(v.order, func(a, b uint32) int { return cmp.Compare(v.ids[a], v.ids[b]) })
}

// Text is the text of an id.
func (v *Vocabulary) Text(id uint32) ([]byte, bool) {
	if v.order == nil {
		if int64(id) >= int64(len(v.ids)) {
			return nil, false
		}
		text, _ := v.Entry(int(id))
		return text, true
	}
	at, found := slices.BinarySearchFunc(v.order, id, func(entry, id uint32) int {
		return cmp.Compare(v.ids[entry], id)
	})
	if !found {
		return nil, false
	}
	text, _ := v.Entry(int(v.order[at]))
	return text, true
}

// mix mixes eight bytes at a time; vocabularies are an operator's files, so it need
// not withstand an attacker.
func mix(text []byte) uint64 {
	const multiplier = 0x9E3779B97F4A7C15
	sum := uint64(len(text)) * multiplier
	for len(text) >= 8 {
		sum = (sum ^ binary.LittleEndian.Uint64(text)) * multiplier
		sum ^= sum >> 29
		text = text[8:]
	}
	var rest uint64
	for i, c := range text {
		rest |= uint64(c) << (8 * i)
	}
	sum = (sum ^ rest) * multiplier
	return sum ^ sum>>32
}

package bpe

import "bytes"

// wholeTable finds pieces that are one token as a whole.
//
// What is asked for most must stay near the core, so a slot has 8 bytes: 34 bits of the
// hash, the kind, the length and the id. The text itself is compared at the id's place,
// where frequent tokens, which have low ids, lie together. Slots of 24 bytes with the
// text in them spread the same tokens over three times the memory.
type wholeTable struct {
	slots []uint64    // 0 is empty
	texts [][2]uint64 // by id, of tokens of up to 16 bytes
	long  longTable
}

// Layout of a slot.
const (
	idBits     = 24
	lengthBits = 5
	kindBit    = 1 << (idBits + lengthBits)
	tagShift   = idBits + lengthBits + 1
)

// Kinds of whole pieces.
const (
	reached   = iota // merging makes the token of the piece
	unreached        // only a whole piece is the token, not a part cut from a text
)

// slotOf is what the slot of a piece begins with: all but kind and id.
func slotOf(hash uint64, n int) uint64 { return hash>>tagShift<<tagShift | uint64(n)<<idBits }

func (t *wholeTable) put(text []byte, id uint32, kind uint16) {
	a, b := words(text, 0, uint(len(text)))
	if int(id) >= len(t.texts) {
		t.texts = append(t.texts, make([][2]uint64, int(id)+1-len(t.texts))...)
	}
	t.texts[id] = [2]uint64{a, b}
	hash := hashWords(a, b, len(text))
	slot := slotOf(hash, len(text)) | uint64(kind)*kindBit | uint64(id)
	mask := len(t.slots) - 1
	for i := int(hash) & mask; ; i = (i + 1) & mask {
		if t.slots[i] == 0 {
			t.slots[i] = slot
			return
		}
	}
}

// get finds a piece of 1 to 16 bytes by its words, length and their hash.
func (t *wholeTable) get(a, b uint64, n int, hash uint64) (id uint32, kind uint16, ok bool) {
	slots := t.slots
	mask := len(slots) - 1
	want := slotOf(hash, n)
	for i := int(hash); ; i++ {
		s := slots[i&mask]
		if (s^want)>>idBits&^(kindBit>>idBits) == 0 {
			id := uint32(s) & (1<<idBits - 1)
			if text := &t.texts[id]; text[0]^a|text[1]^b == 0 {
				return id, uint16(s >> (tagShift - 1) & 1), true
			}
		}
		if s == 0 {
			return 0, 0, false
		}
	}
}

func (t *wholeTable) bytes() int64 {
	return int64(len(t.slots))*8 + int64(cap(t.texts))*16 + t.long.bytes()
}

// longTable finds longer pieces: a table of places in an arena of texts.
type longTable struct {
	slots   []uint32 // place+1
	ends    []uint32 // of the text of each place in the arena
	ids     []uint32
	arena   []byte
	longest int
}

func (t *longTable) text(place uint32) []byte {
	from := uint32(0)
	if place > 0 {
		from = t.ends[place-1]
	}
	return t.arena[from:t.ends[place]]
}

func (t *longTable) add(text []byte, id uint32) {
	t.arena = append(t.arena, text...)
	t.ends = append(t.ends, uint32(len(t.arena)))
	t.ids = append(t.ids, id)
	t.longest = max(t.longest, len(text))
}

// index makes what was added so far findable.
func (t *longTable) index() {
	t.slots = make([]uint32, tableSize(len(t.ids)))
	mask := len(t.slots) - 1
	for place := range uint32(len(t.ids)) {
		i := int(hashText(t.text(place))) & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = place + 1
	}
}

func (t *longTable) get(text []byte, hash uint64) (uint32, bool) {
	if len(text) > t.longest {
		return 0, false
	}
	mask := len(t.slots) - 1
	for i := int(hash) & mask; ; i = (i + 1) & mask {
		place := t.slots[i]
		if place == 0 {
			return 0, false
		}
		if bytes.Equal(t.text(place-1), text) {
			return t.ids[place-1], true
		}
	}
}

func (t *longTable) bytes() int64 {
	return int64(len(t.slots)+len(t.ends)+len(t.ids))*4 + int64(len(t.arena))
}

// newWholeTable holds the tokens that merging reaches, and with all the others too.
func newWholeTable(d *dictionary, nodeOf []uint32, all bool) wholeTable {
	var t wholeTable
	short := 0
	for i := range d.spec.Tokens {
		if len(d.spec.Tokens[i].Bytes) <= 16 {
			short++
		}
	}
	t.slots = make([]uint64, tableSize(short))
	t.texts = make([][2]uint64, 0, len(d.spec.Tokens))
	for i := range d.spec.Tokens {
		token := &d.spec.Tokens[i]
		kind := uint16(reached)
		if nodeOf[i] == goneNode {
			kind = unreached
		}
		switch {
		case kind == unreached && !all:
		case len(token.Bytes) <= 16:
			t.put(token.Bytes, token.ID, kind)
		default:
			t.long.add(token.Bytes, token.ID)
		}
	}
	t.long.index()
	return t
}

package bpe

import "bytes"

// wholeTable finds pieces that are one token as a whole.
type wholeTable struct {
	slots []wholeSlot // pieces of up to 16 bytes
	long  longTable
}

type wholeSlot struct {
	a, b uint64
	id   uint32
	n    uint16 // length of the piece; 0 is empty
	kind uint16
}

// Kinds of whole pieces.
const (
	reached   = iota // merging makes the token of the piece
	unreached        // only a whole piece is the token, not a part cut from a text
)

func (t *wholeTable) put(text []byte, id uint32, kind uint16) {
	a, b := words(text, 0, uint(len(text)))
	mask := len(t.slots) - 1
	for i := int(hashWords(a, b, len(text))) & mask; ; i = (i + 1) & mask {
		if t.slots[i].n == 0 {
			t.slots[i] = wholeSlot{a, b, id, uint16(len(text)), kind}
			return
		}
	}
}

// get finds a piece of 1 to 16 bytes by its words, length and their hash.
func (t *wholeTable) get(a, b uint64, n int, hash uint64) (id uint32, kind uint16, ok bool) {
	slots := t.slots
	mask := len(slots) - 1
	for i := int(hash); ; i++ {
		s := &slots[i&mask]
		if s.a^a|s.b^b|uint64(s.n^uint16(n)) == 0 {
			return s.id, s.kind, true
		}
		if s.n == 0 {
			return 0, 0, false
		}
	}
}

func (t *wholeTable) bytes() int64 { return int64(len(t.slots))*24 + t.long.bytes() }

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
	t.slots = make([]wholeSlot, tableSize(short))
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

package bpe

// runeTable is the node of each character: pages of 256, of which all without a
// token are the same.
type runeTable struct {
	page  [0x110000 >> 8]uint16
	nodes []uint32
}

func newRuneTable() *runeTable {
	t := &runeTable{nodes: make([]uint32, 256)}
	for i := range t.nodes {
		t.nodes[i] = goneNode
	}
	return t
}

func (t *runeTable) put(r rune, node uint32) {
	if t.page[r>>8] == 0 {
		t.page[r>>8] = uint16(len(t.nodes) >> 8)
		for range 256 {
			t.nodes = append(t.nodes, goneNode)
		}
	}
	t.nodes[int(t.page[r>>8])<<8|int(r&255)] = node
}

// get is the node of a valid character, or goneNode.
func (t *runeTable) get(r rune) uint32 {
	return t.nodes[int(t.page[r>>8])<<8|int(r&255)]
}

func (t *runeTable) bytes() int64 { return int64(len(t.page))*2 + int64(len(t.nodes))*4 }

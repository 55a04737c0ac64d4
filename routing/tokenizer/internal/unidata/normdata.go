package unidata

import (
	_ "embed"
	"sync"
)

// normData is what normalisation needs, as crate unicode-normalization-alignments
// 0.1.12 has it, which every release of Hugging Face tokenizers uses: Unicode 9.
type normData struct {
	index  [blockCount]uint16
	blocks []property
	// skip is the length of the characters that begin with a byte when all of them
	// are plain in NFC; 0 for other bytes.
	skip [256]uint8

	canonical, compatible map[rune][]rune // full decompositions
	pairs                 map[[2]rune]rune
}

// property of a code point: its combining class in the low byte, and flags. A code
// point is plain in a form when it stays as it is there and nothing before it in the
// text has a say in that: it can be copied, and text can be normalised in two parts
// around it. Zero is plain in every form.
type property uint16

const (
	classMask property = 0xFF
	notPlainC property = 1 << (7 + iota)
	notPlainD
	notPlainKC
	notPlainKD
	backward   // may compose with a character before it
	decomposed // has a canonical decomposition
)

var (
	//go:embed norm.bin
	normFile string

	norm = sync.OnceValue(func() *normData { return newNormData(normFile) })
)

func (n *normData) of(r rune) property {
	if uint32(r) >= scalars {
		return 0
	}
	return n.blocks[uint32(n.index[r>>blockBits])<<blockBits|uint32(r)&blockMask]
}

// The constants of Hangul syllables, Unicode 3.12.
const (
	hangulS = 0xAC00
	hangulL = 0x1100
	hangulV = 0x1161
	hangulT = 0x11A7
	countL  = 19
	countV  = 21
	countT  = 28
	countN  = countV * countT
	countS  = countL * countN
)

func newNormData(data string) *normData {
	in := reader{data: data}
	n := &normData{pairs: map[[2]rune]rune{}}
	flat := make([]property, scalars)
	in.runs(func(first, last rune, value int) {
		for r := first; r <= last; r++ {
			flat[r] = property(value)
		}
	})
	n.canonical = in.decompositions()
	n.compatible = in.decompositions()
	for range in.number() {
		pair := [2]rune{rune(in.number()), rune(in.number())}
		n.pairs[pair] = rune(in.number())
	}
	n.flag(flat)
	n.fold(flat)
	n.findSkips()
	return n
}

// runs gives the runs of a value: gap, length, value.
func (r *reader) runs(each func(first, last rune, value int)) {
	next := 0
	for range r.number() {
		first := next + r.number()
		next = first + r.number()
		each(rune(first), rune(next-1), r.number())
	}
}

// decompositions reads a map of code points to sequences.
func (r *reader) decompositions() map[rune][]rune {
	n := r.number()
	m := make(map[rune][]rune, n)
	last := 0
	for range n {
		last += r.number()
		to := make([]rune, r.number())
		for i := range to {
			to[i] = rune(last + r.difference())
		}
		m[rune(last)] = to
	}
	return m
}

// flag sets the flags of property.
func (n *normData) flag(flat []property) {
	for pair := range n.pairs {
		flat[pair[1]] |= backward
	}
	for v := rune(hangulV); v < hangulV+countV; v++ {
		flat[v] |= backward
	}
	for t := rune(hangulT + 1); t < hangulT+countT; t++ {
		flat[t] |= backward
	}
	for s := rune(hangulS); s < hangulS+countS; s++ {
		flat[s] |= decomposed | notPlainD | notPlainKD
	}
	for r := range n.canonical {
		flat[r] |= decomposed | notPlainD | notPlainKD
	}
	for r := range n.compatible {
		flat[r] |= notPlainKC | notPlainKD
	}
	for r, p := range flat {
		if p&classMask != 0 {
			flat[r] |= notPlainD | notPlainKD
		}
		if p&(classMask|backward) != 0 {
			flat[r] |= notPlainC | notPlainKC
		}
	}
	for r, to := range n.canonical {
		composed := n.recompose(to)
		if composed != r || flat[to[0]]&(classMask|backward) != 0 {
			flat[r] |= notPlainC | notPlainKC
		}
	}
}

// recompose composes a full decomposition as far as it goes to one code point; 0 if
// it stays more than one.
func (n *normData) recompose(to []rune) rune {
	r := to[0]
	for _, next := range to[1:] {
		var ok bool
		if r, ok = n.compose(r, next); !ok {
			return 0
		}
	}
	return r
}

// fold makes the two-stage table.
func (n *normData) fold(flat []property) {
	shared := map[[blockSize]property]uint16{}
	for i := range n.index {
		block := [blockSize]property(flat[i*blockSize:])
		at, ok := shared[block]
		if !ok {
			at = uint16(len(shared))
			shared[block] = at
			n.blocks = append(n.blocks, block[:]...)
		}
		n.index[i] = at
	}
}

// findSkips fills skip for the first bytes of three-byte characters.
func (n *normData) findSkips() {
	for lead := rune(0xE1); lead < 0xF0; lead++ {
		n.skip[lead] = 3
		for low := range rune(1 << 12) {
			if n.of(lead&0xF<<12|low)&notPlainC != 0 {
				n.skip[lead] = 0
			}
		}
	}
}

// compose gives the code point that two compose to.
func (n *normData) compose(a, b rune) (rune, bool) {
	if a-hangulL >= 0 && a-hangulL < countL && b-hangulV >= 0 && b-hangulV < countV {
		return hangulS + ((a-hangulL)*countV+(b-hangulV))*countT, true
	}
	if a-hangulS >= 0 && a-hangulS < countS && (a-hangulS)%countT == 0 && b > hangulT && b < hangulT+countT {
		return a + b - hangulT, true
	}
	r, ok := n.pairs[[2]rune{a, b}]
	return r, ok
}

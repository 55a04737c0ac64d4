package split

import "penstock/routing/tokenizer/internal/unidata"

// gpt2 cuts as
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// With alone set, characters of that class are pieces first, and the pattern sees
// only the text between them.
type gpt2 struct {
	scanner
	alone unidata.Class
}

var _ Splitter = (*gpt2)(nil)

func newGPT2(t *unidata.Table, alone unidata.Class) *gpt2 {
	return &gpt2{scanner: newScanner(t), alone: alone}
}

// Split implements Splitter.
func (g *gpt2) Split(text []byte, from int, ends []int) int {
	for n := range ends {
		if from >= len(text) {
			return n
		}
		from = g.next(text, from)
		ends[n] = from
	}
	return len(ends)
}

func (g *gpt2) next(text []byte, i int) int {
	class, size := g.class(text, i)
	if text[i] == ' ' && i+1 < len(text) {
		second, secondSize := g.class(text, i+1)
		if second&(unidata.Space|g.alone) == 0 {
			return g.same(text, i+1+secondSize, second)
		}
	}
	switch {
	case class&g.alone != 0:
		return i + size
	case class&unidata.Space != 0:
		r := g.spaces(text, i)
		return r.beforeLast(i, g.ends(text, r.end))
	case text[i] == '\'':
		if end := smallContraction(text, i); end > 0 {
			return end
		}
	}
	return g.same(text, i+size, class)
}

// same ends the run that a character of a class began before i.
func (g *gpt2) same(text []byte, i int, class unidata.Class) int {
	switch {
	case class&unidata.Letter != 0:
		return g.word(text, i, unidata.Letter)
	case class&unidata.Number != 0:
		return g.run(text, i, unidata.Number)
	}
	return g.runWithout(text, i, inText)
}

// ends says whether the pattern sees the end of its text at i.
func (g *gpt2) ends(text []byte, i int) bool {
	if i == len(text) {
		return true
	}
	class, _ := g.class(text, i)
	return class&g.alone != 0
}

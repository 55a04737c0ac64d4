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
		if end := shortWord(text, from); end > 0 {
			from = end
		} else {
			from = g.next(text, from)
		}
		ends[n] = from
	}
	return len(ends)
}

func (g *gpt2) next(text []byte, i int) int {
	first := g.at(text, i)
	if text[i] == ' ' && i+1 < len(text) {
		if second := g.at(text, i+1); !second.in(unidata.Space | g.alone) {
			return g.same(text, i+1+second.size(), second)
		}
	}
	after := i + first.size()
	switch {
	case first.in(g.alone):
		return after
	case first.in(unidata.Space):
		r := g.spaces(text, i)
		return r.beforeLast(i, r.end == len(text) || g.at(text, r.end).in(g.alone))
	case text[i] == '\'':
		if end := smallContraction(text, i); end > 0 {
			return end
		}
	}
	return g.same(text, after, first)
}

// same ends the run that c began, from i on.
func (g *gpt2) same(text []byte, i int, c character) int {
	switch {
	case c.in(unidata.Letter):
		return g.run8(text, i, unidata.Letter)
	case c.in(unidata.Number):
		return g.run(text, i, unidata.Number)
	}
	return g.runWithout(text, i, inText|g.alone)
}

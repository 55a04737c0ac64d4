package split

import "penstock/routing/tokenizer/internal/unidata"

// cl100k cuts as
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
//	 ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//
// and in the variants that cl100kForm tells apart.
type cl100k struct {
	scanner
	form  cl100kForm
	known unidata.Class // what symbols are not
}

type cl100kForm struct {
	word     unidata.Class // what words are made of
	digits   int           // at most so many in a piece
	alone    unidata.Class // split off first, so that the pattern sees the text between
	wholeEnd bool          // \s++$ comes before \s*[\r\n]
	noTail   bool          // line ends do not follow symbols
}

var _ Splitter = (*cl100k)(nil)

func newCL100K(t *unidata.Table, f cl100kForm) *cl100k {
	return &cl100k{
		scanner: newScanner(t),
		form:    f,
		known:   f.word | unidata.Space | unidata.Letter | unidata.Number,
	}
}

// Split implements Splitter.
func (c *cl100k) Split(text []byte, from int, ends []int) int {
	for n := range ends {
		if from >= len(text) {
			return n
		}
		if end := shortWord(text, from); end > 0 {
			from = end
		} else {
			from = c.next(text, from)
		}
		ends[n] = from
	}
	return len(ends)
}

func (c *cl100k) next(text []byte, i int) int {
	first := c.at(text, i)
	after := i + first.size()
	switch {
	case first.in(c.form.word):
		return c.run8(text, after, c.form.word)
	case first.in(unidata.Number):
		return c.atMost(text, after, c.form.digits-1, unidata.Number)
	case text[i] == '\'':
		if end := contraction(text, i); end > 0 {
			return end
		}
	}
	if !first.in(unidata.Newline) && after < len(text) {
		second := c.at(text, after)
		if second.in(c.form.word) {
			return c.run8(text, after+second.size(), c.form.word)
		}
		if text[i] == ' ' && !second.in(c.known) {
			return c.symbols(text, after+second.size())
		}
	}
	if first.in(unidata.Space) {
		return c.space(text, i)
	}
	return c.symbols(text, after)
}

// symbols ends [^\s\p{L}\p{N}]+[\r\n]* whose first character lies before i.
func (c *cl100k) symbols(text []byte, i int) int {
	i = c.runWithout(text, i, c.known)
	if c.form.noTail {
		return i
	}
	return newlines(text, i, '\n')
}

func (c *cl100k) space(text []byte, i int) int {
	r := c.spaces(text, i)
	if c.form.wholeEnd && r.end == len(text) {
		return r.end
	}
	if r.newline != 0 {
		return r.newline
	}
	return r.beforeLast(i, r.end == len(text) || c.at(text, r.end).in(c.form.alone))
}

package split

import "penstock/routing/tokenizer/internal/unidata"

// o200kForm is what tells the patterns of the o200k kind apart.
type o200kForm struct {
	contractions bool // words end with (?i:'s|'t|'re|'ve|'m|'ll|'d)?
	slash        bool // symbols end with [\r\n/]*, not [\r\n]*
	han          bool // [\p{Han}]+ comes first, and words have none
	digits       int
}

// o200k cuts as
//
//	[^\r\n\p{L}\p{N}]?U*W+C?|[^\r\n\p{L}\p{N}]?U+W*C?|\p{N}{1,3}|
//	 ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
//
// where U is [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}], W is [\p{Ll}\p{Lm}\p{Lo}\p{M}] and C the
// contractions.
type o200k struct {
	scanner
	form o200kForm
	also byte // that ends symbols like a newline
}

var _ Splitter = (*o200k)(nil)

const (
	inWords = unidata.Upper | unidata.Lower
	inText  = unidata.Space | unidata.Letter | unidata.Number // no symbol
	uncased = unidata.Class(1 << 15)                          // in U and in W
)

func newO200K(t *unidata.Table, f o200kForm) *o200k {
	t = t.Map(func(c unidata.Class) unidata.Class {
		if f.han && c&unidata.Han != 0 {
			return c &^ inWords // [...&&[^\p{Han}]]
		}
		if c&inWords == inWords {
			c |= uncased
		}
		return c
	})
	o := &o200k{scanner: newScanner(t), form: f, also: '\n'}
	if f.slash {
		o.also = '/'
	}
	return o
}

// Split implements Splitter.
func (o *o200k) Split(text []byte, from int, ends []int) int {
	for n := range ends {
		if from >= len(text) {
			return n
		}
		if end := shortCased(text, from); end > 0 {
			from = end
		} else {
			from = o.next(text, from)
		}
		ends[n] = from
	}
	return len(ends)
}

func (o *o200k) next(text []byte, i int) int {
	first := o.at(text, i)
	after := i + first.size()
	switch {
	case o.form.han && first.in(unidata.Han):
		return o.wideRun(text, after, unidata.Han)
	case first.in(inWords):
		return o.contracted(text, o.marked(text, i, first))
	case first.in(unidata.Number):
		return o.atMost(text, after, o.form.digits-1, unidata.Number)
	}
	if !first.in(unidata.Newline|unidata.Letter) && after < len(text) {
		second := o.at(text, after)
		if second.in(inWords) {
			end, _ := o.core(text, after)
			return o.contracted(text, end)
		}
		if text[i] == ' ' && !second.in(inText) {
			return o.symbols(text, after+second.size())
		}
	}
	if first.in(unidata.Space) {
		return o.lines(text, i)
	}
	return o.symbols(text, after)
}

// marked ends the word at i. A mark there may stand before the word as any symbol
// may, which the pattern tries first.
func (o *o200k) marked(text []byte, i int, first character) int {
	if !first.in(unidata.Mark) {
		end, _ := o.core(text, i)
		return end
	}
	after := i + first.size()
	if end, lower := o.core(text, after); lower {
		return end
	}
	// Nothing after the mark ends in W, so U*W+ gives back all but the mark.
	return after
}

// core ends U*W+ at i, or, with lower false, U+W*, or nothing: end is i then. After
// U* either W follows, or U* gives back what it must: up to its last character that
// is in W too.
func (o *o200k) core(text []byte, i int) (end int, lower bool) {
	last := 0
	for i < len(text) {
		c := o.at(text, i)
		if !c.in(unidata.Upper) {
			if c.in(unidata.Lower) {
				return o.small(text, i+c.size()), true
			}
			break
		}
		i += c.size()
		if c.in(unidata.Lower) {
			i = o.wideRun(text, i, uncased)
			last = i
		}
	}
	if last > 0 {
		return last, true
	}
	return i, false
}

// small ends W* at i.
func (o *o200k) small(text []byte, i int) int {
	for {
		i = smallLetters(text, i)
		if i >= len(text) || text[i] < 0x80 {
			return i
		}
		c := o.wide(text, i)
		if !c.in(unidata.Lower) {
			return i
		}
		i += c.size()
	}
}

// contracted ends the optional contraction at i.
func (o *o200k) contracted(text []byte, i int) int {
	if o.form.contractions && i < len(text) && text[i] == '\'' {
		if end := contraction(text, i); end > 0 {
			return end
		}
	}
	return i
}

// symbols ends [^\s\p{L}\p{N}]+[\r\n/]* whose first character lies before i.
func (o *o200k) symbols(text []byte, i int) int {
	return newlines(text, o.runWithout(text, i, inText), o.also)
}

package split

import "penstock/routing/tokenizer/internal/unidata"

// deepSeek cuts in three steps: first numbers, \p{N}{1,3}; then Han and kana,
// [一-龥぀-ゟ゠-ヿ]+; then everything that these left or cut out as
//
//	[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|
//	 ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//
// where what matches nothing is a piece of its own. The third pattern sees one part
// of the text at a time; what is no part of it has the class foreign and no other.
type deepSeek struct {
	outer deepSeekPart
	inner deepSeekPart // Han and kana
}

type deepSeekPart struct {
	scanner
	foreignASCII bool // no ASCII is part of it
}

var _ Splitter = (*deepSeek)(nil)

const (
	foreign  = unidata.Han // which these patterns do not ask for
	dsWord   = unidata.Letter | unidata.Mark
	dsSymbol = unidata.Punct | unidata.Symbol
	dsAny    = dsWord | dsSymbol | unidata.Space | foreign // what is never in a gap
)

func newDeepSeek(t *unidata.Table) *deepSeek {
	const apart = unidata.Number | unidata.KanaHan
	outer := t.Map(func(c unidata.Class) unidata.Class {
		if c&apart != 0 {
			return c&apart | foreign
		}
		return c &^ foreign
	})
	inner := t.Map(func(c unidata.Class) unidata.Class {
		if c&unidata.KanaHan == 0 {
			return foreign
		}
		return c &^ foreign
	})
	return &deepSeek{
		outer: deepSeekPart{scanner: newScanner(outer)},
		inner: deepSeekPart{scanner: newScanner(inner), foreignASCII: true},
	}
}

// Split implements Splitter.
func (d *deepSeek) Split(text []byte, from int, ends []int) int {
	for n := range ends {
		if from >= len(text) {
			return n
		}
		if end := shortWord(text, from); end > 0 {
			from = end
		} else {
			from = d.next(text, from)
		}
		ends[n] = from
	}
	return len(ends)
}

func (d *deepSeek) next(text []byte, i int) int {
	first := d.outer.at(text, i)
	switch {
	case first.in(unidata.Number):
		return d.outer.atMost(text, i+first.size(), 2, unidata.Number)
	case first.in(unidata.KanaHan):
		return d.inner.next(text, i, d.inner.at(text, i))
	}
	return d.outer.next(text, i, first)
}

// next ends the piece of the third pattern at i, where first is.
func (d *deepSeekPart) next(text []byte, i int, first character) int {
	after := i + first.size()
	if first.in(dsWord) {
		return d.words(text, after)
	}
	second := character(foreign)
	if after < len(text) {
		second = d.at(text, after)
	}
	switch {
	case first.in(dsSymbol):
		if text[i] < 0x80 && second.in(unidata.Letter) && text[after] < 0x80 {
			return letters(text, after)
		}
		return d.symbols(text, after)
	case second.in(dsWord) && !first.in(unidata.Newline):
		return d.words(text, after+second.size())
	case text[i] == ' ' && second.in(dsSymbol):
		return d.symbols(text, after+second.size())
	case first.in(unidata.Space):
		return d.space(text, i)
	}
	return d.gap(text, i)
}

// words ends a run of letters and marks.
func (d *deepSeekPart) words(text []byte, i int) int {
	if d.foreignASCII {
		return d.wideRun(text, i, dsWord)
	}
	return d.run8(text, i, dsWord)
}

// symbols ends [\p{P}\p{S}]+[\r\n]* whose first character lies before i.
func (d *deepSeekPart) symbols(text []byte, i int) int {
	i = d.run(text, i, dsSymbol)
	if d.foreignASCII {
		return i
	}
	return newlines(text, i, '\n')
}

func (d *deepSeekPart) space(text []byte, i int) int {
	r := d.spaces(text, i)
	if r.newline != 0 {
		return r.newline
	}
	return r.beforeLast(i, r.end == len(text) || d.at(text, r.end).in(foreign))
}

// gap ends what no alternative matches: controls and unassigned characters, but for
// one right before a word, which belongs to that.
func (d *deepSeekPart) gap(text []byte, i int) int {
	last := i
	for i < len(text) {
		c := d.at(text, i)
		if c.in(dsWord) {
			return last
		}
		if c.in(dsAny) {
			return i
		}
		last = i
		i += c.size()
	}
	return i
}

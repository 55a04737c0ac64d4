package split

import (
	"unicode/utf8"

	"penstock/routing/tokenizer/internal/unidata"
)

// A slow matcher in the shape of the regular expressions themselves, to hold the
// scanners against: it backtracks, and knows nothing of any family.

// matcher tries to match at i and calls next with each end it finds, the preferred
// first, until next says that it is content.
type matcher func(s []rune, i int, next func(int) bool) bool

// set is one character.
func set(has func(rune) bool) matcher {
	return func(s []rune, i int, next func(int) bool) bool {
		return i < len(s) && has(s[i]) && next(i+1)
	}
}

// seq is matchers one after another.
func seq(ms ...matcher) matcher {
	if len(ms) == 1 {
		return ms[0]
	}
	rest := seq(ms[1:]...)
	return func(s []rune, i int, next func(int) bool) bool {
		return ms[0](s, i, func(j int) bool { return rest(s, j, next) })
	}
}

// any1 is the first of some alternatives that leads to a match.
func any1(ms ...matcher) matcher {
	return func(s []rune, i int, next func(int) bool) bool {
		for _, m := range ms {
			if m(s, i, next) {
				return true
			}
		}
		return false
	}
}

// many is least to most characters of a set, as many as lead to a match.
func many(has func(rune) bool, least, most int) matcher {
	return func(s []rune, i int, next func(int) bool) bool {
		n := 0
		for n < most && i+n < len(s) && has(s[i+n]) {
			n++
		}
		for ; n >= least; n-- {
			if next(i + n) {
				return true
			}
		}
		return false
	}
}

// notBefore is (?!x).
func notBefore(has func(rune) bool) matcher {
	return func(s []rune, i int, next func(int) bool) bool {
		return (i == len(s) || !has(s[i])) && next(i)
	}
}

// atEnd is $ of Rust.
func atEnd(s []rune, i int, next func(int) bool) bool { return i == len(s) && next(i) }

const unbounded = 1 << 30

// isolated cuts every piece at i, as the pre_tokenizer Split does with the behaviour
// Isolated: matches are pieces, and so is what lies between two.
func isolated(s []rune, m matcher) [][]rune {
	var out [][]rune
	gap := 0
	for i := 0; i < len(s); {
		end := i
		if !m(s, i, func(j int) bool { end = j; return j > i }) {
			i++
			continue
		}
		if gap < i {
			out = append(out, s[gap:i])
		}
		out = append(out, s[i:end])
		i, gap = end, end
	}
	if gap < len(s) {
		out = append(out, s[gap:])
	}
	return out
}

// reference gives the ends of the pieces of text by a family's patterns.
func reference(f Family, v unidata.Version, text string) []int {
	pieces := [][]rune{[]rune(text)}
	for _, m := range referenceSteps(f, unidata.Classes(v)) {
		var cut [][]rune
		for _, p := range pieces {
			cut = append(cut, isolated(p, m)...)
		}
		pieces = cut
	}
	var ends []int
	at := 0
	for _, p := range pieces {
		for _, r := range p {
			at += utf8.RuneLen(r)
		}
		ends = append(ends, at)
	}
	return ends
}

func one(rs string) func(rune) bool {
	return func(r rune) bool {
		for _, o := range rs {
			if o == r {
				return true
			}
		}
		return false
	}
}

func not(has func(rune) bool) func(rune) bool { return func(r rune) bool { return !has(r) } }

func both(a, b func(rune) bool) func(rune) bool { return func(r rune) bool { return a(r) && b(r) } }

// contractions is 's|'t|'re|'ve|'m|'ll|'d over letters that fold to small ones.
func contractions(fold func(rune) rune) matcher {
	letter := func(want rune) matcher { return set(func(r rune) bool { return fold(r) == want }) }
	pair := func(a, b rune) matcher { return seq(letter(a), letter(b)) }
	return seq(set(one("'")), any1(letter('s'), letter('t'), pair('r', 'e'), pair('v', 'e'),
		letter('m'), pair('l', 'l'), letter('d')))
}

func exact(r rune) rune { return r }

// folded is simple case folding, which takes the long s and the Kelvin sign along.
func folded(r rune) rune {
	switch {
	case 'A' <= r && r <= 'Z':
		return r + 'a' - 'A'
	case r == 'ſ':
		return 's'
	case r == '\u212A':
		return 'k'
	}
	return r
}

func referenceSteps(f Family, t *unidata.Table) []matcher {
	in := func(mask unidata.Class) func(rune) bool {
		return func(r rune) bool { return t.Of(r)&mask != 0 }
	}
	const l, n, m = unidata.Letter, unidata.Number, unidata.Mark
	space, number, newline := in(unidata.Space), in(n), one("\r\n")
	opt := func(has func(rune) bool) matcher { return many(has, 0, 1) }
	plus := func(has func(rune) bool) matcher { return many(has, 1, unbounded) }
	star := func(has func(rune) bool) matcher { return many(has, 0, unbounded) }
	trailing := any1(seq(plus(space), notBefore(not(space))), plus(space))
	lines := any1(seq(star(space), plus(newline)), trailing)
	before := opt(both(not(newline), not(in(l|n))))
	symbols := seq(opt(one(" ")), plus(not(in(unidata.Space|l|n))))
	words := func(contraction matcher, word func(rune) bool, digits matcher, symbols, rest matcher) matcher {
		return any1(contraction, seq(before, plus(word)), digits, symbols, rest)
	}
	tail := seq(symbols, star(newline))
	insensitive := contractions(folded)
	gpt2 := any1(contractions(exact), seq(opt(one(" ")), plus(in(l))), seq(opt(one(" ")), plus(number)), symbols, trailing)
	o200k := func(upper, lower func(rune) bool, end matcher, digits int, also string) matcher {
		return any1(
			seq(before, star(upper), plus(lower), end),
			seq(before, plus(upper), star(lower), end),
			many(number, 1, digits), seq(symbols, star(one(also))), lines)
	}
	maybe := any1(insensitive, star(one("")))
	noHan := func(mask unidata.Class) func(rune) bool { return both(in(mask), not(in(unidata.Han))) }
	switch f {
	case GPT2:
		return []matcher{gpt2}
	case GPT2Digits:
		return []matcher{set(in(unidata.Numeric)), gpt2}
	case CL100K:
		return []matcher{words(insensitive, in(l), many(number, 1, 3), tail, lines)}
	case Tiktoken:
		return []matcher{words(insensitive, in(l), many(number, 1, 3), tail, any1(seq(plus(space), atEnd), lines))}
	case Qwen2:
		return []matcher{words(insensitive, in(l), set(number), tail, lines)}
	case Seed:
		return []matcher{words(insensitive, in(l), set(number), symbols, lines)}
	case MiniCPM5:
		return []matcher{many(number, 1, 3), words(insensitive, in(l), plus(number), tail, lines)}
	case Qwen35:
		marked := seq(opt(one(" ")), plus(not(in(unidata.Space|l|m|n))), star(newline))
		return []matcher{words(insensitive, in(l|m), set(number), marked, lines)}
	case O200K:
		return []matcher{o200k(in(unidata.Upper), in(unidata.Lower), maybe, 3, "\r\n/")}
	case Tekken:
		return []matcher{o200k(in(unidata.Upper), in(unidata.Lower), star(one("")), 1, "\r\n/")}
	case Kimi:
		return []matcher{any1(plus(in(unidata.Han)), o200k(noHan(unidata.Upper), noHan(unidata.Lower), maybe, 3, "\r\n"))}
	case DeepSeek3:
		ascii := func(r rune) bool { return (r|0x20)-'a' < 26 && r|0x20 >= 'a' }
		ps := in(unidata.Punct | unidata.Symbol)
		return []matcher{many(number, 1, 3), plus(in(unidata.KanaHan)), any1(
			seq(set(func(r rune) bool { return r < 0x80 && ps(r) }), plus(ascii)),
			seq(opt(not(in(unidata.Newline|l|unidata.Punct|unidata.Symbol))), plus(in(l|m))),
			seq(opt(one(" ")), plus(ps), star(newline)),
			lines)}
	}
	return nil
}

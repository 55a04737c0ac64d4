package unidata

import (
	"hash/fnv"
	"testing"
	"unicode"
)

// Counts and hash were taken from the engines' own library, by asking its regular
// expressions, and its Digits, for every code point: tokenizers 0.23.3 and 0.21.0.
// The hash is FNV-1a over the classes in order, two bytes each, the lower first.
func TestClassesAreThoseOfTheVersion(t *testing.T) {
	t.Parallel()
	f := func(v Version, hash uint64, counts [12]int) {
		t.Helper()
		table := Classes(v)
		h := fnv.New64a()
		var got [12]int
		for r := range rune(scalars) {
			c := table.Of(r)
			h.Write([]byte{byte(c), byte(c >> 8)})
			for i := range got {
				got[i] += int(c >> i & 1)
			}
		}
		if got != counts {
			t.Errorf("version %d: %d of the classes, want %d", v, got, counts)
		}
		if h.Sum64() != hash {
			t.Errorf("version %d: hash %#x, want %#x", v, h.Sum64(), hash)
		}
	}
	f(V16, 0x77c75d9c56c1653, [12]int{141028, 1911, 25, 2, 141271, 141640, 2501, 855, 8514, 99030, 21094, 1924})
	f(V14, 0x66195472c57351aa, [12]int{131756, 1791, 25, 2, 131937, 132302, 2408, 819, 7741, 94215, 21094, 1831})
}

// Go's tables are of a version between the two: whatever both have, it has, and what
// neither has assigned, it may not.
func TestClassesAgreeWithGo(t *testing.T) {
	t.Parallel()
	sets := map[Class][]*unicode.RangeTable{
		Letter: {unicode.L}, Number: {unicode.N}, Mark: {unicode.M}, Punct: {unicode.P}, Symbol: {unicode.S},
		Space: {unicode.White_Space}, Han: {unicode.Han},
		Upper: {unicode.Lu, unicode.Lt, unicode.Lm, unicode.Lo, unicode.M},
		Lower: {unicode.Ll, unicode.Lm, unicode.Lo, unicode.M},
	}
	old, current := Classes(V14), Classes(V16)
	const numeric = Numeric | KanaHan | Newline // which Go has not
	same := 0
	for r := range rune(scalars) {
		a, b := old.Of(r), current.Of(r)
		if a&^numeric != b&^numeric {
			continue
		}
		for bit, tables := range sets {
			if got := unicode.In(r, tables...); got != (a&bit != 0) {
				t.Errorf("%U: class %#x, Go says %v of %#x", r, a, got, bit)
			}
		}
		same++
	}
	if same < scalars-20000 {
		t.Errorf("only %d code points are the same in both versions", same)
	}
}

func TestClassesOfWhatIsNoScalarValue(t *testing.T) {
	t.Parallel()
	for _, v := range []Version{V16, V14} {
		for _, r := range []rune{-1, 0x110000, 0x7FFFFFFF, -0x80000000, 0xD800, 0xDFFF} {
			if c := Classes(v).Of(r); c != 0 {
				t.Errorf("%#x has class %#x", r, c)
			}
		}
	}
}

func TestMapLeavesTheTableAlone(t *testing.T) {
	t.Parallel()
	table := Classes(V16)
	m := table.Map(func(c Class) Class { return c ^ Mark })
	for _, r := range []rune{'a', ' ', 0x301, 0x4E2D, 0x10FFFF} {
		if m.Of(r) != table.Of(r)^Mark {
			t.Errorf("%U: %#x mapped from %#x", r, m.Of(r), table.Of(r))
		}
	}
	if table.Of('a') != Classes(V16).Of('a') || table.Of('a')&Letter == 0 {
		t.Error("the table changed")
	}
}

// White space is what Oniguruma and Rust call \s: neither the separators of ASCII nor
// what has no width.
func TestSpaceIsWhiteSpace(t *testing.T) {
	t.Parallel()
	f := func(r rune, want bool) {
		t.Helper()
		if got := Classes(V16).Of(r)&Space != 0; got != want {
			t.Errorf("%U is space: %v", r, got)
		}
	}
	for _, r := range []rune{'\t', '\n', '\v', '\f', '\r', ' ', 0x85, 0xA0, 0x1680, 0x2000, 0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000} {
		f(r, true)
	}
	for _, r := range []rune{0x1C, 0x1F, 0x180E, 0x200B, 0x2060, 0xFEFF} {
		f(r, false)
	}
}

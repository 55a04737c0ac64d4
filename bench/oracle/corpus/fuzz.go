package corpus

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"
)

// Fuzz is the sets made to break tokenizers: about 22,000 strings. specials are added
// tokens of the models, to be typed into texts.
func Fuzz(specials []string) []Set {
	return []Set{
		{"sweep", sweep()},
		{"contexts", contexts()},
		{"random", random(7000)},
		{"marks", marks(2500)},
		{"added", added(2500, specials)},
		{"blanks", blanks(2000)},
		{"quotes", quotes(1500)},
		{"long", long(400)},
		{"chat", Chat(400, specials)},
	}
}

// sweep has every Unicode scalar value once: those of planes with characters between a
// letter and a digit, 256 to a string, the others in runs of 64.
func sweep() [][]byte {
	var out [][]byte
	var text []byte
	packed := 0
	for c := rune(0); c <= unicode.MaxRune; c++ {
		if c >= 0xD800 && c <= 0xDFFF {
			continue
		}
		if assigned(c) {
			text = append(append(append(text, 'x'), string(c)...), "1 "...)
		} else {
			text = append(text, string(c)...)
			if c%64 == 63 {
				text = append(text, "x1 "...)
			}
		}
		if packed++; packed%256 == 0 {
			out = append(out, text)
			text = nil
		}
	}
	return append(out, text)
}

// assigned says whether the block of c has characters that are not for private use.
func assigned(c rune) bool {
	return c < 0xE000 || c >= 0xF900 && c < 0x32400 || c >= 0xE0000 && c < 0xE0200
}

// ideographs says whether c is one of many that no pre-tokenizer tells apart.
func ideographs(c rune) bool {
	return c >= 0x3400 && c < 0xA000 || c >= 0xAC00 && c < 0xD7A4 || c >= 0x20000 && c < 0x32400
}

// contexts has every assigned scalar value, and each sixteenth ideograph, in the
// contexts that pre-tokenizers tell apart, 64 to a string.
func contexts() [][]byte {
	var out [][]byte
	var text []byte
	packed := 0
	for c := range unicode.MaxRune + 1 {
		if c >= 0xD800 && c <= 0xDFFF || !assigned(c) || ideographs(c) && c%16 != 0 {
			continue
		}
		s := string(c)
		text = fmt.Appendf(text, "a%sB 1%s2 '%s t'%ss  %s\n%s%s\r\n .%s", s, s, s, s, s, s, s, s)
		if packed++; packed%64 == 0 {
			out = append(out, text)
			text = nil
		}
	}
	return append(out, text)
}

// pool is a range of characters that random strings draw from.
type pool struct{ from, to rune }

func pools() []pool {
	return []pool{
		{' ', '~'},
		{' ', '~'},
		{'a', 'z'},
		{'A', 'Z'},
		{'0', '9'},
		{'!', '/'},
		{0x00, 0x1F},
		{0x80, 0xFF},
		{0x100, 0x24F},
		{0x300, 0x36F},
		{0x370, 0x3FF},
		{0x400, 0x4FF},
		{0x590, 0x6FF},
		{0x900, 0xDFF},
		{0xE00, 0xEFF},
		{0x1100, 0x11FF},
		{0x1E00, 0x1FFF},
		{0x2000, 0x206F},
		{0x2070, 0x21FF},
		{0x2500, 0x27BF},
		{0x2E80, 0x30FF},
		{0x4E00, 0x9FFF},
		{0xAC00, 0xD7A3},
		{0xF900, 0xFDFF},
		{0xFE00, 0xFFEF},
		{0x10000, 0x10FFF},
		{0x1D400, 0x1D7FF},
		{0x1F000, 0x1FAFF},
		{0x20000, 0x2FA1D},
		{0xE0000, 0xE01EF},
	}
}

// bits are strings that break the boundaries between random runs.
func bits() []string {
	return []string{
		" ", "  ", "\n", "\r\n", "\t", "'s", "'S", "'ſ", "'ll", "'LL", "'re", "n't", "I'm", "'d", "’s", ".", "...", "//", "/*",
		"\u00A0", "\u3000", "\u2028", "\u0085", "\u200B", "\u200D", "\uFEFF", "\u0301", "ǅ", "ß", "İ", "ı", "Ⅷ", "²", "½", "٣", "一", "▁", "▁▁", "Ġ", "##", "<s>", "<0x0A>",
	}
}

func random(n int) [][]byte {
	r := seeded(10)
	from, between := pools(), bits()
	out := make([][]byte, 0, n)
	for range n {
		var text []byte
		for range 1 + r.IntN(8) {
			p := from[r.IntN(len(from))]
			for range 1 + r.IntN(10) {
				c := p.from + r.Int32N(p.to-p.from+1)
				text = append(text, string(c)...) // surrogates are in no pool
			}
			if r.IntN(2) == 0 {
				text = append(text, between[r.IntN(len(between))]...)
			}
		}
		out = append(out, text)
	}
	return out
}

func blanks(n int) [][]byte {
	r := seeded(11)
	space := []string{" ", " ", " ", "\t", "\n", "\n", "\r", "\r\n", "\u00A0", "\u3000", "\u2003", "\u2028", "\u2029", "\u0085", "\v", "\f", "\u1680", "\u200B", "\x1c", "▁"}
	words := []string{"a", "Word", "don't", "42", "中", "é", ".", "=", "{", "—", "'s", "_", "<", "\u0301"}
	out := make([][]byte, 0, n)
	for range n {
		var text []byte
		for range r.IntN(12) {
			s := space[r.IntN(len(space))]
			text = append(text, strings.Repeat(s, 1+r.IntN(1+r.IntN(30)))...)
			if r.IntN(3) > 0 {
				text = append(text, words[r.IntN(len(words))]...)
			}
		}
		out = append(out, text)
	}
	return out
}

func quotes(n int) [][]byte {
	r := seeded(12)
	parts := []string{"'", "'", "'", "’", "ʼ", "＇", "s", "S", "ſ", "t", "T", "re", "RE", "rE", "ve", "vE", "m", "M", "ll", "lL", "LL", "d", "D", "K", "İ", "ﬅ", "a", "I", "we", " ", "1", "é", "中", "\n", "''", "_", "-", "\u0301"}
	out := make([][]byte, 0, n)
	for range n {
		text := make([]byte, 0, 64)
		for range 1 + r.IntN(14) {
			text = append(text, parts[r.IntN(len(parts))]...)
		}
		out = append(out, text)
	}
	return out
}

// long has pieces far longer than any word: what merging must not be quadratic in.
func long(n int) [][]byte {
	r := seeded(13)
	out := make([][]byte, 0, n)
	repeated := []string{"a", "A", " ", "=", "\n", "-", "1", "é", "中", "\u0301", "😀", "ab", "the", " the", "\r\n", "aA", "▁", "%20", "ा", "ー"}
	for i := range n {
		size := 20 + r.IntN(3000)
		switch {
		case i < len(repeated)*8:
			out = append(out, []byte(strings.Repeat(repeated[i%len(repeated)], 1+size/4)))
		case i%4 == 0:
			out = append(out, letters(r, "abcdefghijklmnopqrstuvwxyz", size))
		case i%4 == 1:
			out = append(out, letters(r, "ABCDEFabcdef0123456789+/", size))
		case i%4 == 2:
			out = append(out, letters(r, "的一是不了人我在有他这中大来上国", size/3))
		default:
			out = append(out, letters(r, "!\"#$%&()*+,-./:;<=>?@[]^_`{|}~", size))
		}
	}
	return out
}

func letters(r *rand.Rand, alphabet string, n int) []byte {
	from := []rune(alphabet)
	out := make([]byte, 0, n)
	for range n {
		out = append(out, string(from[r.IntN(len(from))])...)
	}
	return out
}

// added types whole added tokens, and what is left of them when a piece is cut off,
// between ordinary text.
func added(n int, specials []string) [][]byte {
	r := seeded(14)
	words := slices.Concat(bits(), []string{"hello", "Hello world", "中文", "1234", "<", ">", "|", "<|", "|>", "</", "[", "]"})
	out := make([][]byte, 0, n)
	for range n {
		var text []byte
		for range 1 + r.IntN(7) {
			token := specials[r.IntN(len(specials))]
			switch r.IntN(6) {
			case 0:
				token = token[:runeStart(token, r.IntN(len(token)+1))]
			case 1:
				token = token[runeStart(token, r.IntN(len(token)+1)):]
			case 2:
				token = strings.ToUpper(token)
			case 3:
				token = words[r.IntN(len(words))]
			}
			text = append(text, token...)
			if r.IntN(2) == 0 {
				text = append(text, words[r.IntN(len(words))]...)
			}
		}
		out = append(out, text)
	}
	return out
}

func runeStart(s string, n int) int {
	for n > 0 && n < len(s) && s[n]&0xC0 == 0x80 {
		n--
	}
	return n
}

// Chat is prompts as templates render them: turns between special tokens, with
// special tokens typed into the turns as well.
func Chat(n int, specials []string) [][]byte {
	r := seeded(15)
	prose := []string{
		"You are a helpful assistant.", "What's the weather in Zürich?", "北京今天天气怎么样？", "def f(x):\n    return x + 1\n",
		`{"name": "get_weather", "arguments": {"city": "Köln"}}`, "  ", "\n\n", "No.", "I don't know  ", "\t1. first\n\t2. second", "e\u0301te\u0301", "😀👍🏽",
	}
	out := make([][]byte, 0, n)
	for range n {
		begin, end := specials[r.IntN(len(specials))], specials[r.IntN(len(specials))]
		var text []byte
		for range 2 + r.IntN(12) {
			text = append(text, begin+[]string{"user", "assistant", "system", ""}[r.IntN(4)]...)
			text = append(text, []string{"\n", "\n\n", "", " "}[r.IntN(4)]...)
			for range 1 + r.IntN(4) {
				text = append(text, prose[r.IntN(len(prose))]...)
				if r.IntN(5) == 0 {
					text = append(text, specials[r.IntN(len(specials))]...)
				}
			}
			text = append(text, end+[]string{"\n", "", " "}[r.IntN(3)]...)
		}
		out = append(out, text)
	}
	return out
}

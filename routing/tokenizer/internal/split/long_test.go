package split

import (
	"slices"
	"strings"
	"testing"

	"penstock/routing/tokenizer/internal/unidata"
)

// Clients choose the text. Each of these is cut one piece a call; a scanner that
// reads a run anew for every piece would take minutes over one of them.
func TestLongRunsAreReadAFewTimesOnly(t *testing.T) {
	t.Parallel()
	const size = 400 << 10
	units := []string{
		" ", "\n", "\r\n", "\t", " \n", "\u3000", "a", "A", "é", "É", "中", "あ", "・", "\u0301", "'", "a'", "a's", "'ſ", "1", "٣", "½1",
		"!", "/\n", "€", "\x00", "\u200b", "A\u0301", "\u0301A", "aB", "Ba", "ʰA", "⺀", "〇", " a", "  a", "1 ", "\x00 ", "\u3040",
	}
	ends := []string{"", "a", "A", "1", " ", "\n", "'", "中", "\u0301"}
	for _, family := range []Family{GPT2Digits, Tiktoken, O200K, DeepSeek3, Kimi} { // one of each code
		t.Run(string(family), func(t *testing.T) {
			t.Parallel()
			s, _ := New(family, unidata.V16)
			for i, unit := range units {
				text := ends[i%len(ends)] + strings.Repeat(unit, size/len(unit)) + ends[(i+i/len(ends)+1)%len(ends)]
				if !slices.Equal(cuts(s, []byte(text), 1), cuts(s, []byte(text), 100)) {
					t.Errorf("%d times %q: cuts depend on the batch", size/len(unit), unit)
				}
			}
		})
	}
}

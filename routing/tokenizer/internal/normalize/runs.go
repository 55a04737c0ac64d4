package normalize

import (
	"unicode/utf8"

	"penstock/routing/tokenizer/internal/runeset"
)

// run is a regular expression for a number of equal characters.
type run struct {
	has     func(rune) bool
	atLeast int
}

// knownRuns are the expressions of Replace that files have: T5 and its kin join
// spaces with the first, CLIP white space with the second.
func knownRuns() map[string]run {
	space := func(r rune) bool { return r == ' ' }
	return map[string]run{
		" {2,}": {space, 2},
		" +":    {space, 1},
		`\s+`:   {runeset.Space().Has, 1},
	}
}

// replace puts content where a run is.
func (r *run) replace(dst, text, content []byte) []byte {
	for at := 0; at < len(text); {
		end, count := at, 0
		for end < len(text) {
			c, size := utf8.DecodeRune(text[end:])
			if !r.has(c) {
				break
			}
			end += size
			count++
		}
		switch {
		case count >= r.atLeast:
			dst = append(dst, content...)
		case count > 0:
			dst = append(dst, text[at:end]...)
		default:
			_, size := utf8.DecodeRune(text[at:])
			end = at + size
			dst = append(dst, text[at:end]...)
		}
		at = end
	}
	return dst
}

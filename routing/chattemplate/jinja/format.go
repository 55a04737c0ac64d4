package jinja

import (
	"bytes"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"penstock/routing/chattemplate/value"
)

// spec is how one value is formatted, by % or by str.format.
type spec struct {
	fill      string
	align     byte // < > = ^, 0 by type
	sign      byte // + or space, 0 for none
	alternate bool // #
	zero      bool // sign-aware zero padding
	grouping  byte // , or _
	width     int
	precision int // -1 for none
	verb      byte
}

// maxWidth bounds widths and precisions.
const maxWidth = 1 << 20

// pad writes text, whose sign and prefix take lead bytes, in the width of s.
func (r *run) pad(s *spec, text string, lead int, numeric bool) {
	lacks := s.width - utf8.RuneCountInString(text)
	if lacks <= 0 {
		r.out = append(r.out, text...)
		return
	}
	if !r.room(lacks * len(s.fill)) {
		return
	}
	align := s.align
	if align == 0 {
		align = '<'
		if numeric {
			align = '>'
		}
	}
	before, inside := 0, 0
	switch align {
	case '>':
		before = lacks
	case '^':
		before = lacks / 2
	case '=':
		inside = lacks
	}
	r.fill(s.fill, before)
	r.out = append(r.out, text[:lead]...)
	r.fill(s.fill, inside)
	r.out = append(r.out, text[lead:]...)
	r.fill(s.fill, lacks-before-inside)
}

func (r *run) fill(text string, times int) {
	for range times {
		r.out = append(r.out, text...)
	}
}

// integer writes an int by one of d, x, X, o, b and c.
func (r *run) integer(s *spec, v value.Value) {
	n := bigOf(v)
	base, prefix := 10, ""
	switch s.verb {
	case 'x', 'X':
		base, prefix = 16, "0x"
	case 'o':
		base, prefix = 8, "0o"
	case 'b':
		base, prefix = 2, "0b"
	}
	digits := new(big.Int).Abs(n).Text(base)
	if base == 10 && len(digits) > maxIntDigits {
		r.raise("int too large to print")
		return
	}
	for len(digits) < s.precision {
		digits = strings.Repeat("0", s.precision-len(digits)) + digits
	}
	if !s.alternate {
		prefix = ""
	}
	if s.verb == 'X' {
		digits, prefix = strings.ToUpper(digits), strings.ToUpper(prefix)
	}
	lead := signText(s.sign, n.Sign() < 0) + prefix
	r.numeral(s, lead, digits, "")
}

func signText(sign byte, negative bool) string {
	switch {
	case negative:
		return "-"
	case sign == '+':
		return "+"
	case sign == ' ':
		return " "
	}
	return ""
}

// numeral writes the parts of a number, its digits grouped and padded.
func (r *run) numeral(s *spec, lead, digits, rest string) {
	if s.grouping != 0 {
		size := 3
		if s.grouping == '_' && (s.verb == 'x' || s.verb == 'X' || s.verb == 'o' || s.verb == 'b') {
			size = 4
		}
		least := 0
		if s.zero && s.fill == "0" {
			least = s.width - len(lead) - len(rest)
		}
		digits = grouped(digits, string(s.grouping), size, least)
	}
	r.pad(s, lead+digits+rest, len(lead), true)
}

// grouped separates digits; zeros come before them up to a least width.
func grouped(digits, sep string, size, least int) string {
	var groups []string
	width := 0
	for len(digits) > 0 {
		n := min(size, len(digits))
		groups = append(groups, digits[len(digits)-n:])
		digits = digits[:len(digits)-n]
		width += n + 1
	}
	last := len(groups) - 1
	for width-1 < least {
		if len(groups[last]) == size {
			groups = append(groups, "")
			last++
			width++
			if width-1 >= least { // a separator never comes first
				groups[last] = "0"
				break
			}
		}
		groups[last] = "0" + groups[last]
		width++
	}
	for i, j := 0, last; i < j; i, j = i+1, j-1 {
		groups[i], groups[j] = groups[j], groups[i]
	}
	return strings.Join(groups, sep)
}

// decimal writes a float by one of e, f, g and %, or as repr does for 0.
func (r *run) decimal(s *spec, f float64) {
	verb, precision := s.verb|0x20, s.precision
	if precision < 0 {
		precision = 6
	}
	tail := ""
	if s.verb == '%' {
		f, verb, tail = f*100, 'f', "%"
	}
	var text string
	abs := math.Abs(f)
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		text = strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(abs, 'f', -1, 64)), "+")
	case s.verb == 0 && s.precision < 0:
		text = string(value.AppendFloat(nil, abs))
	case s.verb == 0 || verb == 'g':
		text = general(abs, max(1, precision), s.alternate, s.verb == 0)
	default:
		text = strconv.FormatFloat(abs, verb, precision, 64)
		if s.alternate && precision == 0 {
			text = strings.Replace(text+".", "e", ".e", 1)
			if strings.Contains(text, "e") {
				text = strings.TrimSuffix(text, ".")
			}
		}
	}
	if s.verb >= 'A' && s.verb <= 'Z' {
		text = strings.ToUpper(text)
	}
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	r.numeral(s, signText(s.sign, math.Signbit(f) && !math.IsNaN(f)), text[:digits], text[digits:]+tail)
}

// general is %g: the shorter of two notations. Of a float without verb (plain) the
// fraction is kept, if only to be .0, and the exponent comes one digit earlier.
func general(f float64, precision int, alternate, plain bool) string {
	text := strconv.FormatFloat(f, 'e', precision-1, 64)
	at := strings.IndexByte(text, 'e')
	exponent, _ := strconv.Atoi(text[at+1:])
	limit := precision
	if plain {
		limit--
	}
	if exponent < -4 || exponent >= limit {
		mantissa := text[:at]
		if !alternate && strings.Contains(mantissa, ".") {
			mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
		}
		return mantissa + text[at:]
	}
	text = strconv.FormatFloat(f, 'f', max(0, precision-1-exponent), 64)
	if !alternate && strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	if plain && !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// cutText is s up to a number of characters, -1 for all.
func cutText(s []byte, precision int) string {
	if precision < 0 {
		return string(s)
	}
	return string(s[:offset(s, precision)])
}

// ascii is Python's ascii(v).
func (r *run) ascii(v value.Value) []byte {
	start := len(r.out)
	r.out = r.appendRepr(r.out, v)
	text := bytes.Clone(r.out[start:])
	r.out = r.out[:start]
	if isASCIIText(text) {
		return text
	}
	var out []byte
	for _, c := range string(text) {
		if c < utf8.RuneSelf {
			out = append(out, byte(c))
			continue
		}
		out = appendEscaped(out, c)
	}
	return out
}

package jinja

import (
	"bytes"
	"math"
	"math/big"
	"strconv"
	"strings"

	"penstock/routing/chattemplate/value"
)

func filterAbs(r *run, v value.Value, _ []value.Value) value.Value {
	switch {
	case v.Kind() == value.Float:
		return r.m.NewFloat(math.Abs(v.Float64()))
	case !isNumber(v.Kind()):
		return r.raise("bad operand type for abs(): %s", typeName(v))
	case value.CompareNumbers(v, value.NewInt(0)) < 0:
		return r.signed(v, true)
	default:
		return r.signed(v, false)
	}
}

func filterInt(r *run, v value.Value, p []value.Value) value.Value {
	fallback := value.NewInt(0)
	if !isMissing(p[0]) {
		fallback = p[0]
	}
	base := int64(10)
	if !isMissing(p[1]) {
		n, ok := p[1].Int64()
		if !ok || n == 0 {
			return r.unsupported("int of base %s", typeName(p[1]))
		}
		base = n
	}
	switch v.Kind() {
	case value.Int, value.Bool:
		return r.signed(v, false)
	case value.Float:
		return r.truncated(v.Float64(), fallback, true)
	case value.Undefined:
		return r.raise("undefined is no number")
	case value.String:
		if n, ok := r.parseInt(v.Bytes(), int(base)); ok {
			return n
		}
		if f, ok := parseFloat(v.Bytes()); ok {
			return r.truncated(f, fallback, false)
		}
	default:
	}
	return fallback
}

// truncated is int(f). An infinity is an error at first, and the fallback when it
// came of a string.
func (r *run) truncated(f float64, fallback value.Value, infinityRaises bool) value.Value {
	switch {
	case math.IsNaN(f):
		return fallback
	case math.IsInf(f, 0) && infinityRaises:
		return r.raise("cannot convert float infinity to integer")
	case math.IsInf(f, 0):
		return fallback
	}
	n, _ := new(big.Float).SetFloat64(math.Trunc(f)).Int(nil)
	return r.newBig(n)
}

// parseInt is Python's int(s, base).
func (r *run) parseInt(s []byte, base int) (v value.Value, ok bool) {
	if base < 2 || base > 36 {
		return v, false
	}
	text := strings.TrimFunc(string(s), isSpace)
	if !isASCIIText([]byte(text)) {
		text = asciiDigits(text)
	}
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "+"), "-")
	if len(text)-len(digits) > 1 || len(digits) > maxIntDigits {
		return v, false
	}
	if base == 10 && strings.HasPrefix(digits, "0") {
		digits = strings.TrimLeft(digits, "0_")
		if strings.Contains(text, "__") || strings.HasSuffix(text, "_") {
			return v, false
		}
		if digits == "" {
			return value.NewInt(0), true
		}
	}
	digits, ok = withoutUnderscores(digits, base)
	if !ok {
		return v, false
	}
	n, ok := new(big.Int).SetString(digits, base)
	if !ok || digits[0] == '-' || digits[0] == '+' {
		return v, false
	}
	if text[0] == '-' {
		n.Neg(n)
	}
	return r.newBig(n), true
}

// withoutUnderscores takes the prefix of the base and single underscores away.
func withoutUnderscores(s string, base int) (string, bool) {
	prefix := map[int]string{2: "0b", 8: "0o", 16: "0x"}[base]
	if prefix != "" && len(s) > 2 && strings.EqualFold(s[:2], prefix) {
		s = strings.TrimPrefix(s[2:], "_")
	}
	if s == "" || strings.Contains(s, "__") || s[0] == '_' || s[len(s)-1] == '_' {
		return "", false
	}
	return strings.ReplaceAll(s, "_", ""), true
}

// asciiDigits replaces the decimal digits of other scripts.
func asciiDigits(s string) string {
	return strings.Map(func(c rune) rune {
		if c < 0x80 || !isDecimal(c) {
			return c
		}
		zero := c
		for isDecimal(zero-1) && c-zero < 9 {
			zero--
		}
		return '0' + c - zero
	}, s)
}

// parseFloat is Python's float(s).
func parseFloat(s []byte) (float64, bool) {
	text := asciiDigits(strings.TrimFunc(string(s), isSpace))
	unsigned := strings.ToLower(strings.TrimLeft(text, "+-"))
	if len(text)-len(unsigned) > 1 || strings.HasPrefix(unsigned, "0x") {
		return 0, false
	}
	switch unsigned {
	case "inf", "infinity", "nan":
		f, err := strconv.ParseFloat(text, 64)
		return f, err == nil
	}
	if unsigned == "" || unsigned[0] >= 'a' {
		return 0, false
	}
	for i, c := range []byte(unsigned) {
		if c == '_' && (i == 0 || i == len(unsigned)-1 || unsigned[i-1]-'0' > 9 || unsigned[i+1]-'0' > 9) {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	return f, err == nil || math.IsInf(f, 0)
}

func filterFloat(r *run, v value.Value, p []value.Value) value.Value {
	switch v.Kind() {
	case value.Int, value.Float, value.Bool:
		f := r.float(v)
		return r.m.NewFloat(f)
	case value.Undefined:
		return r.raise("undefined is no number")
	case value.String:
		if f, ok := parseFloat(v.Bytes()); ok {
			return r.m.NewFloat(f)
		}
	default:
	}
	if isMissing(p[0]) {
		return r.m.NewFloat(0)
	}
	return p[0]
}

func filterRound(r *run, v value.Value, p []value.Value) value.Value {
	precision, method := int64(0), "common"
	if !isMissing(p[0]) {
		n, ok := p[0].Int64()
		if !ok || p[0].Kind() == value.Bool {
			return r.unsupported("rounding to %s", typeName(p[0]))
		}
		precision = n
	}
	if !isMissing(p[1]) {
		method = string(p[1].Bytes())
	}
	if !isNumber(v.Kind()) {
		return r.raise("%s cannot be rounded", typeName(v))
	}
	if precision > 300 || precision < -300 {
		return r.unsupported("rounding to %d digits", precision)
	}
	switch method {
	case "common":
		if v.Kind() == value.Float {
			return r.roundFloat(v.Float64(), int(precision))
		}
		return r.roundInt(v, precision)
	case "ceil", "floor":
	default:
		return r.raise("method must be common, ceil or floor")
	}
	power := r.number('^', value.NewInt(10), r.m.NewInt(precision))
	scaled := r.number('*', v, power)
	if scaled.Kind() == value.Float {
		f := math.Floor(scaled.Float64())
		if method == "ceil" {
			f = math.Ceil(scaled.Float64())
		}
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return r.raise("cannot convert float to integer")
		}
		scaled = r.truncated(f, scaled, true)
	}
	return r.number('/', scaled, power)
}

// roundFloat rounds half to even by the exact decimal value, as Python does.
func (r *run) roundFloat(f float64, precision int) value.Value {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return r.m.NewFloat(f)
	}
	if precision < 0 {
		power := math.Pow(10, float64(-precision))
		return r.m.NewFloat(math.RoundToEven(f/power) * power)
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(f, 'f', precision, 64), 64)
	if err != nil {
		return r.m.NewFloat(f)
	}
	return r.m.NewFloat(rounded)
}

func (r *run) roundInt(v value.Value, precision int64) value.Value {
	if precision >= 0 {
		return r.signed(v, false)
	}
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(-precision), nil)
	n, half := bigOf(v), new(big.Int).Rsh(power, 1)
	rest := new(big.Int)
	quotient := new(big.Int)
	quotient.DivMod(n, power, rest)
	if c := rest.Cmp(half); c > 0 || c == 0 && quotient.Bit(0) == 1 {
		quotient.Add(quotient, big.NewInt(1))
	}
	return r.newBig(quotient.Mul(quotient, power))
}

func filterFileSize(r *run, v value.Value, p []value.Value) value.Value {
	f := r.float(filterFloat(r, v, []value.Value{none}))
	if v.Kind() == value.String {
		if _, ok := parseFloat(v.Bytes()); !ok {
			return r.raise("could not convert string to float")
		}
	} else if !isNumber(v.Kind()) {
		return r.raise("%s is no number", typeName(v))
	}
	base, units := 1000.0, "kMGTPEZY"
	suffix := "B"
	if r.isTrue(p[0]) {
		base, units, suffix = 1024, "KMGTPEZY", "iB"
	}
	var text string
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return r.unsupported("sizes of %v", f)
	case f == 1:
		text = "1 Byte"
	case f < base:
		text = strconv.FormatFloat(math.Trunc(f), 'f', 0, 64) + " Bytes"
	default:
		unit := base
		for i := range units {
			unit *= base
			if f < unit || i == len(units)-1 {
				text = strconv.FormatFloat(base*f/unit, 'f', 1, 64) + " " + units[i:i+1] + suffix
				break
			}
		}
	}
	return r.m.CopyString([]byte(text))
}

func filterWordcount(r *run, v value.Value, _ []value.Value) value.Value {
	n, inside := 0, false
	s := r.str(v)
	r.work(len(s))
	for _, c := range string(s) {
		if word := isWord(c); word != inside {
			inside = word
			if word {
				n++
			}
		}
	}
	return r.m.NewInt(int64(n))
}

// filterStriptags takes comments and tags away and joins what white space separates.
func filterStriptags(r *run, v value.Value, _ []value.Value) value.Value {
	s := r.str(v)
	if !r.work(len(s)) {
		return value.Value{}
	}
	if bytes.IndexByte(s, '&') >= 0 {
		return r.unsupported("striptags of HTML entities")
	}
	cut := func(s []byte, open, end string) []byte {
		var out []byte
		for {
			at := bytes.Index(s, []byte(open))
			if at < 0 {
				return append(out, s...)
			}
			stop := bytes.Index(s[at+len(open):], []byte(end))
			if stop < 0 {
				return append(out, s...)
			}
			out = append(out, s[:at]...)
			s = s[at+len(open)+stop+len(end):]
		}
	}
	s = cut(cut(s, "<!--", "-->"), "<", ">")
	return r.m.CopyString(bytes.Join(fields(s, -1), []byte(" ")))
}

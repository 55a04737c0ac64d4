package value

import (
	"bytes"
	"cmp"
	"math"
	"math/big"
	"strconv"
)

func appendInt(dst []byte, i int64) []byte { return strconv.AppendInt(dst, i, 10) }

// parseFloat reads a literal as Python's float does; too large is an infinity.
func parseFloat(text []byte) float64 {
	switch string(text) {
	case "NaN", "nan":
		return math.NaN()
	case "Infinity", "inf":
		return math.Inf(1)
	case "-Infinity", "-inf":
		return math.Inf(-1)
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil && !math.IsInf(f, 0) {
		return math.NaN()
	}
	return f
}

// AppendFloat writes f as Python's repr does: the shortest digits that read back,
// with an exponent below 1e-4 and from 1e16 on.
func AppendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	}
	if abs := math.Abs(f); abs != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if bytes.IndexByte(dst[start:], '.') < 0 {
		dst = append(dst, ".0"...)
	}
	return dst
}

// AppendNumber writes an Int, Float or Bool as Python's repr does.
func (v Value) AppendNumber(dst []byte) []byte {
	switch {
	case v.kind == Bool && v.small != 0:
		return append(dst, "True"...)
	case v.kind == Bool:
		return append(dst, "False"...)
	case v.kind == Float:
		return AppendFloat(dst, parseFloat(v.text))
	case v.text != nil:
		return append(dst, v.text...)
	default:
		return appendInt(dst, int64(v.small))
	}
}

func (v Value) isNumber() bool { return v.kind == Int || v.kind == Bool || v.kind == Float }

// appendCanonical writes a number so that equal numbers of any kind read the same.
func (v Value) appendCanonicalNumber(dst []byte) []byte {
	if v.kind != Float {
		if v.text != nil {
			return append(dst, v.text...)
		}
		return appendInt(dst, int64(v.small))
	}
	f := parseFloat(v.text)
	if f == 0 {
		return append(dst, '0')
	}
	if f == math.Trunc(f) && !math.IsInf(f, 0) {
		return strconv.AppendFloat(dst, f, 'f', 0, 64)
	}
	return AppendFloat(dst, f)
}

// CompareNumbers orders two numbers of any kinds exactly; a NaN is equal to all.
func CompareNumbers(v, w Value) int {
	a, small := v.Small()
	b, alsoSmall := w.Small()
	switch {
	case small && alsoSmall:
		return cmp.Compare(a, b)
	case v.kind == Float && w.kind == Float:
		return compareFloats(v.Float64(), w.Float64())
	case v.kind != Float && w.kind != Float:
		return v.big().Cmp(w.big())
	case v.kind == Float:
		return -CompareNumbers(w, v)
	}
	f := w.Float64()
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return compareFloats(0, f)
	}
	exact := new(big.Rat).SetInt(v.big())
	return exact.Cmp(new(big.Rat).SetFloat64(f))
}

func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}

func (v Value) big() *big.Int {
	if n, ok := v.Small(); ok {
		return big.NewInt(n)
	}
	n, _ := new(big.Int).SetString(string(v.text), 10)
	return n
}

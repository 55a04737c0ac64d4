package spec

import (
	"math"
	"strconv"
)

// float reads a number as serde_json does without its float_roundtrip feature: the
// digits as a whole number, times or divided by a power of ten. That may be off by
// one in the last place from the nearest value, and the scores of a Unigram model
// must be off in the same way for ties to fall alike.
func (r *reader) float() (float64, error) {
	r.next()
	start := r.at
	negative := r.take('-')
	var mantissa uint64
	exponent, digits, full := 0, 0, false
	if r.at+1 < len(r.data) && r.data[r.at] == '0' && r.data[r.at+1]-'0' < 10 {
		return 0, r.bad("a number with a leading zero")
	}
	mantissa, exponent, digits, full = r.digits(mantissa, full, false)
	if digits == 0 {
		return 0, r.bad("expected a value")
	}
	if r.take('.') {
		var scale int
		mantissa, scale, digits, _ = r.digits(mantissa, full, true)
		if digits == 0 {
			return 0, r.bad("a number without digits after its point")
		}
		exponent += scale
	}
	if r.take('e') || r.take('E') {
		shift, err := r.exponent()
		if err != nil {
			return 0, err
		}
		exponent += shift
	}
	value, ok := scaled(mantissa, exponent)
	if !ok {
		return 0, r.bad("a number out of range")
	}
	if negative {
		value = -value
	}
	if r.exact {
		value, _ = strconv.ParseFloat(string(r.data[start:r.at]), 64) // in range, as above
	}
	return value, nil
}

// take steps over one byte when it is next.
func (r *reader) take(c byte) bool {
	if r.at == len(r.data) || r.data[r.at] != c {
		return false
	}
	r.at++
	return true
}

// digits appends decimal digits to a mantissa until it is full, and says by what
// power of ten the mantissa is now to be read.
func (r *reader) digits(mantissa uint64, full, fraction bool) (value uint64, exponent, count int, isFull bool) {
	for r.at < len(r.data) && r.data[r.at]-'0' < 10 {
		digit := uint64(r.data[r.at] - '0')
		r.at++
		count++
		if !full && (mantissa > math.MaxUint64/10 || mantissa == math.MaxUint64/10 && digit > math.MaxUint64%10) {
			full = true
		}
		switch {
		case full && !fraction:
			exponent++
		case !full:
			mantissa = mantissa*10 + digit
			if fraction {
				exponent--
			}
		}
	}
	return mantissa, exponent, count, full
}

// exponent reads what follows the e of a number.
func (r *reader) exponent() (int, error) {
	negative := r.take('-')
	if !negative {
		r.take('+')
	}
	value, count := 0, 0
	for r.at < len(r.data) && r.data[r.at]-'0' < 10 {
		value = min(value*10+int(r.data[r.at]-'0'), 1<<20)
		r.at++
		count++
	}
	if count == 0 {
		return 0, r.bad("a number without digits in its exponent")
	}
	if negative {
		value = -value
	}
	return value, nil
}

// scaled is mantissa times ten to the exponent.
func scaled(mantissa uint64, exponent int) (float64, bool) {
	value := float64(mantissa)
	for exponent < -308 {
		if value == 0 {
			return 0, true
		}
		value /= 1e308
		exponent += 308
	}
	if exponent < 0 {
		return value / power(-exponent), true
	}
	if value == 0 {
		return 0, true
	}
	if exponent > 308 {
		return 0, false
	}
	value *= power(exponent)
	return value, !math.IsInf(value, 0)
}

// power is the float64 nearest to ten to the n, n from 0 to 308; math.Pow10 is off
// by one for some.
func power(n int) float64 {
	if n <= 22 {
		return math.Pow10(n) // exact
	}
	value, _ := strconv.ParseFloat("1e"+strconv.Itoa(n), 64)
	return value
}

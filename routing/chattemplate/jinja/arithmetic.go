package jinja

import (
	"math"
	"math/big"

	"penstock/routing/chattemplate/value"
)

// maxIntDigits is the length beyond which Python refuses to write an int; larger ones
// are not computed with.
const maxIntDigits = 4300

// sum is Python's a + b.
func (r *run) sum(a, b value.Value) value.Value {
	if x, ok := a.Small(); ok {
		if y, ok := b.Small(); ok {
			return r.m.NewInt(x + y)
		}
	}
	switch x, y := a.Kind(), b.Kind(); {
	case a.IsMarkup() || b.IsMarkup():
		return r.sumMarkup(a, b)
	case x == value.String && y == value.String:
		t := r.text(len(a.Bytes()) + len(b.Bytes()))
		copy(t[copy(t, a.Bytes()):], b.Bytes())
		return value.NewString(t)
	case isNumber(x) && isNumber(y):
		return r.number('+', a, b)
	case x == value.List && y == value.List && a.IsTuple() == b.IsTuple():
		if !r.room((a.Len() + b.Len()) * valueSize) {
			return value.Value{}
		}
		items := r.m.Values(a.Len() + b.Len())
		copy(items[copy(items, a.Items()):], b.Items())
		if a.IsTuple() {
			return r.m.NewTuple(items)
		}
		return r.m.ListOf(items)
	}
	return r.raise("cannot add %s and %s", typeName(a), typeName(b))
}

// arithmetic is one of the other operators, by its character.
func (r *run) arithmetic(operator byte, a, b value.Value) value.Value {
	if r.err != nil {
		return value.Value{}
	}
	if x, ok := a.Small(); ok {
		if y, ok := b.Small(); ok {
			if v, done := r.ints(operator, x, y); done {
				return v
			}
		}
	}
	x, y := a.Kind(), b.Kind()
	switch {
	case isNumber(x) && isNumber(y):
		return r.number(operator, a, b)
	case operator == '-' && (isSetView(a) || isSetView(b)):
		return r.unsupported("sets")
	case operator == '%' && a.IsMarkup():
		return r.unsupported("formatting of markup")
	case operator == '%' && x == value.String:
		return r.percent(a, b)
	case operator == '*' && (y == value.Int || y == value.Bool):
		return r.repeat(a, b)
	case operator == '*' && (x == value.Int || x == value.Bool):
		return r.repeat(b, a)
	}
	return r.raise("unsupported operand types: %s and %s", typeName(a), typeName(b))
}

// isSetView reports whether v is a view of a dict that Python computes with as a set.
func isSetView(v value.Value) bool {
	view, ok := v.Ext().(*dictView)
	return ok && view.kind != overValues
}

// operatorOf are the operators by one character.
var operatorOf = map[op]byte{opSub: '-', opMul: '*', opDiv: '/', opFloorDiv: 'f', opMod: '%', opPow: '^'}

// repeat is a sequence times n.
func (r *run) repeat(seq, n value.Value) value.Value {
	times, fits := n.Int64()
	if !fits && !negative(n) {
		return r.fail(ErrLimit, "memory")
	}
	times = max(0, times)
	switch seq.Kind() {
	case value.String:
		s := seq.Bytes()
		if times > 0 && int64(len(s)) > int64(r.limits.Output)/times {
			return r.fail(ErrLimit, "memory")
		}
		t := r.text(len(s) * int(times))
		for at := 0; at < len(t) && len(s) > 0; {
			at += copy(t[at:], s)
		}
		return sameMarkup(seq, value.NewString(t))
	case value.List:
		if times > 0 && int64(seq.Len()*valueSize) > int64(r.limits.Output)/times {
			return r.fail(ErrLimit, "memory")
		}
		if !r.room(seq.Len() * valueSize * int(times)) {
			return value.Value{}
		}
		items := r.m.Values(seq.Len() * int(times))
		for at := 0; at < len(items); {
			at += copy(items[at:], seq.Items())
		}
		if seq.IsTuple() {
			return r.m.NewTuple(items)
		}
		return r.m.ListOf(items)
	default:
	}
	return r.raise("cannot multiply %s", typeName(seq))
}

// numberSteps is what an operator costs on numbers that are no small ints.
const numberSteps = 6

// number is an operator on numbers.
func (r *run) number(op byte, a, b value.Value) value.Value {
	if !r.spend(numberSteps) {
		return value.Value{}
	}
	if a.Kind() == value.Float || b.Kind() == value.Float {
		x, y := r.float(a), r.float(b)
		if r.err != nil {
			return value.Value{}
		}
		return r.floats(op, x, y)
	}
	x, ok := a.Int64()
	y, alsoOK := b.Int64()
	if ok && alsoOK {
		if v, done := r.ints(op, x, y); done {
			return v
		}
	}
	return r.bigs(op, bigOf(a), bigOf(b))
}

// float is a number as a float; an int too large for one is an error.
func (r *run) float(v value.Value) float64 {
	f := v.Float64()
	if v.Kind() == value.Int && math.IsInf(f, 0) {
		r.raise("int too large to convert to float")
	}
	return f
}

// ints computes within 64 bits; done is false when that may not do.
func (r *run) ints(op byte, x, y int64) (v value.Value, done bool) {
	const half = 1 << 31
	switch op {
	case '+':
		if sum := x + y; (sum > x) == (y > 0) {
			return r.m.NewInt(sum), true
		}
	case '-':
		if diff := x - y; (diff < x) == (y > 0) {
			return r.m.NewInt(diff), true
		}
	case '*':
		if x > -half && x < half && y > -half && y < half {
			return r.m.NewInt(x * y), true
		}
	case '/':
		const exact = 1 << 53
		if y != 0 && x > -exact && x < exact && y > -exact && y < exact {
			return r.m.NewFloat(float64(x) / float64(y)), true
		}
	case 'f', '%':
		if y == 0 || y == -1 {
			return v, false
		}
		quotient, rest := x/y, x%y
		if rest != 0 && (rest < 0) != (y < 0) {
			quotient, rest = quotient-1, rest+y
		}
		if op == '%' {
			return r.m.NewInt(rest), true
		}
		return r.m.NewInt(quotient), true
	}
	return v, false
}

func bigOf(v value.Value) *big.Int {
	if n, ok := v.Small(); ok {
		return big.NewInt(n)
	}
	n, ok := new(big.Int).SetString(string(v.Bytes()), 10)
	if !ok {
		return new(big.Int)
	}
	return n
}

// newBig makes an Int within the limit on its length.
func (r *run) newBig(n *big.Int) value.Value {
	if n.IsInt64() {
		return r.m.NewInt(n.Int64())
	}
	if n.BitLen() > maxIntDigits*332/100 {
		return r.fail(ErrLimit, "an int of %d bits", n.BitLen())
	}
	return value.NewIntText([]byte(n.String()))
}

func (r *run) bigs(op byte, x, y *big.Int) value.Value {
	if !r.work(x.BitLen() + y.BitLen()) {
		return value.Value{}
	}
	n := new(big.Int)
	switch op {
	case '+':
		return r.newBig(n.Add(x, y))
	case '-':
		return r.newBig(n.Sub(x, y))
	case '*':
		return r.newBig(n.Mul(x, y))
	case '^':
		return r.bigPower(x, y)
	}
	if y.Sign() == 0 {
		return r.raise("division by zero")
	}
	if op == '/' {
		f, _ := new(big.Rat).SetFrac(x, y).Float64()
		if math.IsInf(f, 0) {
			return r.raise("integer division result too large for a float")
		}
		return r.m.NewFloat(f)
	}
	rest := new(big.Int)
	n.QuoRem(x, y, rest)
	if rest.Sign() != 0 && rest.Sign() != y.Sign() {
		n.Sub(n, big.NewInt(1))
		rest.Add(rest, y)
	}
	if op == '%' {
		return r.newBig(rest)
	}
	return r.newBig(n)
}

func (r *run) bigPower(x, y *big.Int) value.Value {
	if y.Sign() < 0 {
		if x.Sign() == 0 {
			return r.raise("0.0 cannot be raised to a negative power")
		}
		a, _ := new(big.Float).SetInt(x).Float64()
		b, _ := new(big.Float).SetInt(y).Float64()
		return r.floats('^', a, b)
	}
	if x.BitLen() > 1 && (!y.IsInt64() || y.Int64() > int64(maxIntDigits*4/x.BitLen())) {
		return r.fail(ErrLimit, "a power too large")
	}
	if x.BitLen() <= 1 && !y.IsInt64() {
		return r.unsupported("a power too large")
	}
	if x.BitLen() <= 1 {
		y = big.NewInt(y.Int64()&1 + 2*min(1, y.Int64()/2))
	}
	return r.newBig(new(big.Int).Exp(x, y, nil))
}

// floats is an operator on floats.
func (r *run) floats(op byte, x, y float64) value.Value {
	switch op {
	case '+':
		return r.m.NewFloat(x + y)
	case '-':
		return r.m.NewFloat(x - y)
	case '*':
		return r.m.NewFloat(x * y)
	case '^':
		return r.floatPower(x, y)
	}
	if y == 0 {
		return r.raise("float division by zero")
	}
	if op == '/' {
		return r.m.NewFloat(x / y)
	}
	rest := math.Mod(x, y)
	quotient := (x - rest) / y
	if rest != 0 && (y < 0) != (rest < 0) {
		rest += y
		quotient--
	} else if rest == 0 {
		rest = math.Copysign(0, y)
	}
	if op == '%' {
		return r.m.NewFloat(rest)
	}
	if quotient == 0 {
		return r.m.NewFloat(math.Copysign(0, x/y))
	}
	floor := math.Floor(quotient)
	if quotient-floor > 0.5 {
		floor++
	}
	return r.m.NewFloat(floor)
}

func (r *run) floatPower(x, y float64) value.Value {
	if x == 0 && y < 0 {
		return r.raise("0.0 cannot be raised to a negative power")
	}
	if x < 0 && y != math.Trunc(y) && !math.IsInf(x, 0) {
		return r.unsupported("complex numbers")
	}
	f := math.Pow(x, y)
	if math.IsInf(f, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		return r.raise("result too large")
	}
	return r.m.NewFloat(f)
}

// signed is +v or -v.
func (r *run) signed(v value.Value, negate bool) value.Value {
	switch {
	case r.err != nil:
		return value.Value{}
	case v.Kind() == value.Float && negate:
		return r.m.NewFloat(-v.Float64())
	case v.Kind() == value.Float:
		return v
	case v.Kind() != value.Int && v.Kind() != value.Bool:
		return r.raise("bad operand type for a sign: %s", typeName(v))
	case negate:
		return r.number('-', value.NewInt(0), v)
	default:
		return r.number('+', value.NewInt(0), v)
	}
}

// negative reports whether an Int beyond 64 bits is negative.
func negative(v value.Value) bool { return len(v.Bytes()) > 0 && v.Bytes()[0] == '-' }

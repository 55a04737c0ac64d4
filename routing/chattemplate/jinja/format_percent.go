package jinja

import (
	"strings"
	"unicode/utf8"

	"penstock/routing/chattemplate/value"
)

// percentArgs hands out the arguments of the % operator.
type percentArgs struct {
	args value.Value // a tuple, or the one argument
	at   int
}

func (p *percentArgs) next(r *run) value.Value {
	if p.args.Kind() == value.List && p.args.IsTuple() {
		if p.at < p.args.Len() {
			p.at++
			return p.args.Index(p.at - 1)
		}
	} else if p.at == 0 {
		p.at++
		return p.args
	}
	return r.raise("not enough arguments for format string")
}

// percent is Python's "format % args".
func (r *run) percent(format, args value.Value) value.Value {
	p := percentArgs{args: args}
	s, start := string(format.Bytes()), len(r.out)
	mapped := false
	for r.err == nil {
		at := strings.IndexByte(s, '%')
		if at < 0 {
			r.out = append(r.out, s...)
			break
		}
		r.out = append(r.out, s[:at]...)
		var named bool
		s, named = r.directive(s[at+1:], &p)
		mapped = mapped || named
		r.spend(1)
	}
	left := p.at == 0 && !mapped
	if args.Kind() == value.List && args.IsTuple() {
		left = p.at < args.Len()
	} else if args.Kind() != value.String && isSequence(args) {
		left = false // what can be subscripted passes for a mapping, which may go unused
	}
	if left && r.err == nil {
		return r.raise("not all arguments converted during string formatting")
	}
	return r.capture(start)
}

// directive writes what follows a % and gives the rest of the format.
func (r *run) directive(s string, p *percentArgs) (rest string, named bool) {
	if s == "" {
		r.raise("incomplete format")
		return "", false
	}
	arg := value.Value{}
	if s[0] == '(' {
		end := closing(s)
		if end < 0 || p.args.Kind() != value.Dict {
			r.raise("format requires a mapping")
			return "", false
		}
		named = true
		if arg = p.args.Get(s[1:end]); !p.args.Has(s[1:end]) {
			r.raise("no key %q", s[1:end])
			return "", true
		}
		s = s[end+1:]
	}
	f, s := r.percentSpec(s, p)
	if s == "" {
		r.raise("incomplete format")
		return "", named
	}
	f.verb = s[0]
	if f.verb == '%' {
		r.out = append(r.out, '%')
		return s[1:], named
	}
	if !named {
		arg = p.next(r)
	}
	if r.err == nil {
		r.percentValue(&f, arg)
	}
	return s[1:], named
}

// percentSpec reads flags, width and precision, up to the verb.
func (r *run) percentSpec(s string, p *percentArgs) (f spec, rest string) {
	f = spec{fill: " ", precision: -1, align: '>'}
	for ; s != "" && strings.IndexByte("-+ #0", s[0]) >= 0; s = s[1:] {
		switch s[0] {
		case '-':
			f.align = '<'
		case '+':
			f.sign = '+'
		case ' ':
			f.sign = max(f.sign, ' ')
		case '#':
			f.alternate = true
		case '0':
			f.zero = true
		}
	}
	f.width, s = r.percentNumber(s, p)
	if f.width < 0 {
		f.align, f.width = '<', -f.width
	}
	if strings.HasPrefix(s, ".") {
		f.precision, s = r.percentNumber(s[1:], p)
		f.precision = max(0, f.precision)
	}
	f.zero = f.zero && f.align == '>'
	return f, strings.TrimLeft(s, "hlL")
}

// closing is where the bracket at the start of s closes, -1 if it does not.
func closing(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// percentNumber reads a width or precision, which may be an argument.
func (r *run) percentNumber(s string, p *percentArgs) (int, string) {
	if strings.HasPrefix(s, "*") {
		v := p.next(r)
		n, ok := v.Int64()
		if v.Kind() != value.Int && v.Kind() != value.Bool || !ok || n > maxWidth || n < -maxWidth {
			r.raise("* wants int")
		}
		return int(n), s[1:]
	}
	n := 0
	for s != "" && s[0]-'0' <= 9 {
		if n = n*10 + int(s[0]-'0'); n > maxWidth {
			r.fail(ErrLimit, "width")
			n = 0
		}
		s = s[1:]
	}
	return n, s
}

func (r *run) percentValue(f *spec, v value.Value) {
	switch f.verb {
	case 's':
		r.pad(f, cutText(r.str(v), f.precision), 0, false)
	case 'r':
		start := len(r.out)
		r.out = r.appendRepr(r.out, v)
		text := r.capture(start)
		r.pad(f, cutText(text.Bytes(), f.precision), 0, false)
	case 'a':
		r.pad(f, cutText(r.ascii(v), f.precision), 0, false)
	case 'c':
		r.percentChar(f, v)
	case 'd', 'i', 'u', 'x', 'X', 'o':
		r.percentInt(f, v)
	case 'e', 'E', 'f', 'F', 'g', 'G':
		if !isNumber(v.Kind()) {
			r.raise("must be real number, not %s", typeName(v))
			return
		}
		if f.zero {
			f.fill, f.align = "0", '='
		}
		r.decimal(f, r.float(v))
	default:
		r.raise("unsupported format character %q", f.verb)
	}
}

func (r *run) percentInt(f *spec, v value.Value) {
	decimal := f.verb == 'd' || f.verb == 'i' || f.verb == 'u'
	switch {
	case v.Kind() == value.Float && decimal:
		if v = r.truncated(v.Float64(), none, true); v.Kind() == value.None {
			r.raise("cannot convert float NaN to integer")
			return
		}
	case v.Kind() != value.Int && v.Kind() != value.Bool:
		r.raise("%%%c format: a number is required, not %s", f.verb, typeName(v))
		return
	}
	if decimal {
		f.verb = 'd'
	}
	if f.zero {
		f.fill, f.align = "0", '='
	}
	r.integer(f, v)
}

func (r *run) percentChar(f *spec, v value.Value) {
	if n, ok := v.Int64(); ok && (v.Kind() == value.Int || v.Kind() == value.Bool) && n >= 0 && n <= utf8.MaxRune {
		if !utf8.ValidRune(rune(n)) {
			r.unsupported("surrogates")
			return
		}
		r.pad(f, string(rune(n)), 0, false)
		return
	}
	if v.Kind() != value.String || utf8.RuneCount(v.Bytes()) != 1 {
		r.raise("%%c requires int or char")
		return
	}
	r.pad(f, string(v.Bytes()), 0, false)
}

// filterFormat is the filter format: "%s" | format(x).
func filterFormat(r *run, v value.Value, a arguments) value.Value {
	if len(a.pos) > 0 && len(a.names) > 0 {
		return r.raise("can't handle positional and keyword arguments at the same time")
	}
	if v.IsMarkup() {
		return r.unsupported("formatting of markup")
	}
	args := r.m.NewTuple(r.copyValues(a.pos))
	if len(a.names) > 0 {
		args = r.m.NewDict(len(a.names))
		for i, name := range a.names {
			r.m.Set(args, name, a.vals[i])
		}
	}
	return r.percent(value.NewString(r.str(v)), args)
}

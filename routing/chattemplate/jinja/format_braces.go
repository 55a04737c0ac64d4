package jinja

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"penstock/routing/chattemplate/value"
)

// braces is one str.format.
type braces struct {
	args arguments
	auto int // next automatic number, -1 after an explicit one
}

func strFormat(r *run, recv value.Value, a arguments) value.Value {
	start := len(r.out)
	r.format(string(recv.Bytes()), &braces{args: a}, 2)
	return r.capture(start)
}

func strFormatMap(r *run, recv value.Value, a arguments) value.Value {
	if len(a.pos) != 1 || len(a.names) > 0 || a.pos[0].Kind() != value.Dict {
		return r.raise("format_map() takes exactly one mapping")
	}
	d := a.pos[0]
	var kw arguments
	for i := range d.Len() {
		if d.EntryKey(i).Kind() == value.String {
			kw.names = append(kw.names, string(d.EntryKey(i).Bytes()))
			kw.vals = append(kw.vals, d.EntryValue(i))
		}
	}
	return strFormat(r, recv, kw)
}

// format writes s with its fields replaced; fields inside format specs may nest once.
func (r *run) format(s string, b *braces, depth int) {
	if depth == 0 {
		r.raise("max string recursion exceeded")
		return
	}
	for s != "" && r.spend(1) {
		at := strings.IndexAny(s, "{}")
		if at < 0 {
			r.out = append(r.out, s...)
			return
		}
		r.out = append(r.out, s[:at]...)
		brace := s[at]
		s = s[at+1:]
		if s != "" && s[0] == brace {
			r.out = append(r.out, brace)
			s = s[1:]
			continue
		}
		end := fieldEnd(s)
		if brace == '}' || end < 0 {
			r.raise("single %q encountered in format string", brace)
			return
		}
		r.field(s[:end], b, depth)
		s = s[end+1:]
	}
}

// fieldEnd is where the field whose brace was just read ends, -1 if it does not.
func fieldEnd(s string) int {
	depth := 1
	for i := range len(s) {
		switch s[i] {
		case '[':
			if stop := strings.IndexByte(s[i:], ']'); depth == 1 && stop < 0 {
				return -1
			}
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// field writes one replacement field: name!conversion:spec.
func (r *run) field(s string, b *braces, depth int) {
	name, rest := s, ""
	if at := strings.IndexAny(s, "!:"); at >= 0 {
		name, rest = s[:at], s[at:]
	}
	if strings.ContainsAny(name, "{}") {
		r.raise("unexpected '{' in field name")
		return
	}
	v := r.fieldValue(name, b)
	if r.err != nil {
		return
	}
	if strings.HasPrefix(rest, "!") {
		if len(rest) < 2 || len(rest) > 2 && rest[2] != ':' {
			r.raise("expected ':' after conversion specifier")
			return
		}
		if v = r.converted(v, rest[1]); r.err != nil {
			return
		}
		rest = rest[2:]
	}
	rest = strings.TrimPrefix(rest, ":")
	if strings.ContainsAny(rest, "{}") {
		start := len(r.out)
		r.format(rest, b, depth-1)
		rest = string(r.out[start:])
		r.out = r.out[:start]
	}
	if r.err == nil {
		r.formatValue(v, rest)
	}
}

func (r *run) converted(v value.Value, conversion byte) value.Value {
	switch conversion {
	case 's':
		return value.NewString(r.str(v))
	case 'r':
		start := len(r.out)
		r.out = r.appendRepr(r.out, v)
		return r.capture(start)
	case 'a':
		return r.m.CopyString(r.ascii(v))
	}
	return r.raise("unknown conversion specifier %q", conversion)
}

// fieldValue looks up "name", "0", "name.attribute", "name[key]" and so on.
func (r *run) fieldValue(path string, b *braces) value.Value {
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		path = r.numbered(path, b)
		end = len(path)
	}
	v := r.fieldArgument(path[:end], b)
	for path = path[end:]; path != "" && r.err == nil; {
		if path[0] == '[' {
			v, path = r.fieldItem(v, path)
			continue
		}
		stop := strings.IndexAny(path[1:], ".[") + 1
		if stop == 0 {
			stop = len(path)
		}
		if stop == 1 {
			return r.raise("empty attribute in format string")
		}
		v, path = r.getattr(v, r.attribute(path[1:stop])), path[stop:]
	}
	return v
}

// fieldItem looks up the item in brackets at the start of a path.
func (r *run) fieldItem(v value.Value, path string) (item value.Value, rest string) {
	stop := strings.IndexByte(path, ']')
	if stop < 2 {
		return r.raise("missing ']' or empty attribute in format string"), ""
	}
	key := value.NewString([]byte(path[1:stop]))
	if n, err := strconv.Atoi(path[1:stop]); err == nil && path[1]-'0' <= 9 {
		key = r.m.NewInt(int64(n))
	}
	rest = path[stop+1:]
	if rest != "" && rest[0] != '.' && rest[0] != '[' {
		r.raise("only '.' or '[' may follow ']' in format field specifier")
	}
	return r.getitem(v, key), rest
}

// numbered gives a field without a name its number. Only names that are nothing but a
// number count as explicit ones.
func (r *run) numbered(name string, b *braces) string {
	if name == "" {
		if b.auto < 0 {
			r.raise("cannot switch from manual field specification to automatic field numbering")
			return "0"
		}
		b.auto++
		return strconv.Itoa(b.auto - 1)
	}
	if _, err := strconv.Atoi(name); err == nil && name[0]-'0' <= 9 {
		if b.auto > 0 {
			r.raise("cannot switch from automatic field numbering to manual field specification")
		}
		b.auto = -1
	}
	return name
}

func (r *run) fieldArgument(name string, b *braces) value.Value {
	if n, err := strconv.Atoi(name); err == nil && name[0]-'0' <= 9 {
		if n >= len(b.args.pos) {
			return r.raise("replacement index %d out of range for positional args", n)
		}
		return b.args.pos[n]
	}
	for i, known := range b.args.names {
		if known == name {
			return b.args.vals[i]
		}
	}
	return r.raise("no argument %q", name)
}

// formatValue is Python's format(v, s).
func (r *run) formatValue(v value.Value, s string) {
	if s == "" {
		r.print(v)
		return
	}
	f, ok := parseSpec(s)
	if !ok || f.width > maxWidth || f.precision > maxWidth {
		r.raise("invalid format specifier %q", s)
		return
	}
	switch v.Kind() {
	case value.String:
		if f.sign != 0 || f.alternate || f.grouping != 0 || f.align == '=' || f.verb != 0 && f.verb != 's' {
			r.raise("invalid format specifier %q for str", s)
			return
		}
		r.pad(&f, cutText(v.Bytes(), f.precision), 0, false)
	case value.Float:
		if strings.IndexByte("\x00eEfFgG%n", f.verb) < 0 {
			r.raise("unknown format code %q for float", f.verb)
			return
		}
		r.formatFloat(&f, v.Float64())
	case value.Int, value.Bool:
		r.formatInt(&f, v)
	default:
		r.raise("unsupported format string passed to %s", typeName(v))
	}
}

func (r *run) formatFloat(f *spec, x float64) {
	if f.verb == 'n' {
		f.verb = 'g'
	}
	r.decimal(f, x)
}

func (r *run) formatInt(f *spec, v value.Value) {
	switch f.verb {
	case 0, 'd', 'n', 'x', 'X', 'o', 'b':
		if f.precision >= 0 {
			r.raise("precision not allowed in integer format specifier")
			return
		}
		if f.verb == 0 || f.verb == 'n' {
			f.verb = 'd'
		}
		r.integer(f, v)
	case 'e', 'E', 'f', 'F', 'g', 'G', '%':
		x := r.float(v)
		if r.err == nil {
			r.decimal(f, x)
		}
	case 'c':
		if f.sign != 0 || f.grouping != 0 || f.precision >= 0 || f.alternate {
			r.raise("not allowed with integer format specifier 'c'")
			return
		}
		r.percentChar(f, v)
	default:
		r.raise("unknown format code %q for int", f.verb)
	}
}

// parseSpec reads a format spec: [[fill]align][sign][#][0][width][,_][.precision][verb].
func parseSpec(s string) (f spec, ok bool) {
	f = spec{fill: " ", precision: -1}
	_, size := utf8.DecodeRuneInString(s)
	isAlign := func(i int) bool { return i < len(s) && strings.IndexByte("<>=^", s[i]) >= 0 }
	switch {
	case isAlign(size):
		f.fill, f.align, s = s[:size], s[size], s[size+1:]
	case isAlign(0):
		f.align, s = s[0], s[1:]
	}
	take := func(set string) byte {
		if s != "" && strings.IndexByte(set, s[0]) >= 0 {
			c := s[0]
			s = s[1:]
			return c
		}
		return 0
	}
	number := func() int {
		n := 0
		for s != "" && s[0]-'0' <= 9 {
			n = min(n*10+int(s[0]-'0'), maxWidth+1)
			s = s[1:]
		}
		return n
	}
	if f.sign = take("+- "); f.sign == '-' {
		f.sign = 0
	}
	f.alternate = take("#") != 0
	if take("0") != 0 {
		f.zero = true
		if f.align == 0 {
			f.fill, f.align = "0", '='
		}
	}
	f.width = number()
	f.grouping = take(",_")
	if take(".") != 0 {
		if s == "" || s[0]-'0' > 9 {
			return f, false
		}
		f.precision = number()
	}
	if len(s) > 1 {
		return f, false
	}
	if s != "" {
		f.verb = s[0]
	}
	return f, true
}

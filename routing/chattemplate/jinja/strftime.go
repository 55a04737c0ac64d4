package jinja

import (
	"strconv"

	"penstock/routing/chattemplate/value"
)

// strftimeNow is strftime_now(format): Python's strftime of the time of the rendering
// in the C locale.
func (r *run) strftimeNow(a arguments) value.Value {
	var p [1]value.Value
	if !r.bindArgs("strftime_now", a, p[:], 1, "format") {
		return value.Value{}
	}
	if p[0].Kind() != value.String {
		return r.raise("strftime takes a string, not %s", typeName(p[0]))
	}
	start, format := len(r.out), p[0].Bytes()
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			r.out = append(r.out, format[i])
			continue
		}
		plain := false
		if i++; i < len(format) && format[i] == '-' {
			plain = true // without padding, as glibc has it
			i++
		}
		if i >= len(format) || !r.strftime(format[i], plain) {
			return r.unsupported("strftime format %q", format)
		}
	}
	return r.capture(start)
}

// strftime writes one directive; plain numbers are not padded.
func (r *run) strftime(directive byte, plain bool) bool {
	layouts := map[byte]string{
		'a': "Mon", 'A': "Monday", 'b': "Jan", 'B': "January", 'h': "Jan", 'p': "PM",
		'c': "Mon Jan _2 15:04:05 2006", 'x': "01/02/06", 'X': "15:04:05",
		'D': "01/02/06", 'F': "2006-01-02", 'T': "15:04:05", 'R': "15:04", 'r': "03:04:05 PM",
	}
	t := r.now
	if layout, ok := layouts[directive]; ok && !plain {
		r.out = t.AppendFormat(r.out, layout)
		return true
	}
	week := func(firstDay int) int {
		return (t.YearDay() + 6 - (int(t.Weekday())-firstDay+7)%7) / 7
	}
	_, isoWeek := t.ISOWeek()
	isoYear, _ := t.ISOWeek()
	numbers := map[byte][2]int{
		'd': {t.Day(), 2}, 'm': {int(t.Month()), 2}, 'y': {t.Year() % 100, 2}, 'Y': {t.Year(), 1}, 'G': {isoYear, 1},
		'H': {t.Hour(), 2}, 'I': {(t.Hour()+11)%12 + 1, 2}, 'M': {t.Minute(), 2}, 'S': {t.Second(), 2},
		'j': {t.YearDay(), 3}, 'f': {t.Nanosecond() / 1000, 6}, 'w': {int(t.Weekday()), 1}, 'u': {(int(t.Weekday())+6)%7 + 1, 1},
		'U': {week(0), 2}, 'W': {week(1), 2}, 'V': {isoWeek, 2}, 'C': {t.Year() / 100, 2},
	}
	if n, ok := numbers[directive]; ok && (directive != 'f' || !plain) {
		text := strconv.Itoa(n[0])
		for pad := n[1] - len(text); pad > 0 && !plain; pad-- {
			r.out = append(r.out, '0')
		}
		r.out = append(r.out, text...)
		return true
	}
	switch {
	case plain:
		return false
	case directive == '%':
		r.out = append(r.out, '%')
	case directive == 'n':
		r.out = append(r.out, '\n')
	case directive == 't':
		r.out = append(r.out, '\t')
	case directive == 'e':
		r.out = t.AppendFormat(r.out, "_2")
	case directive == 'z', directive == 'Z': // datetime.now() has no zone
	default:
		return false
	}
	return true
}

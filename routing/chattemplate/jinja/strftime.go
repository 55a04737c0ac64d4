package jinja

import (
	"strconv"
	"time"

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
	for i := 0; i < len(format) && r.work(0); i++ {
		if format[i] != '%' {
			r.out = append(r.out, format[i])
			continue
		}
		plain := false
		if i++; i < len(format) && format[i] == '-' {
			plain = true // without padding, as glibc has it
			i++
		}
		if i >= len(format) || !r.spend(directiveSteps) || !r.strftime(format[i], plain) {
			return r.unsupported("strftime format %q", format)
		}
	}
	return r.capture(start)
}

// directiveSteps is what a directive of strftime costs.
const directiveSteps = 10

// strftime writes one directive; plain numbers are not padded.
func (r *run) strftime(directive byte, plain bool) bool {
	if layout := timeLayouts[directive]; layout != "" && !plain {
		r.out = r.now.AppendFormat(r.out, layout)
		return true
	}
	if n, width, ok := timeNumber(r.now, directive); ok && (directive != 'f' || !plain) {
		text := strconv.Itoa(n)
		for pad := width - len(text); pad > 0 && !plain; pad-- {
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
		r.out = r.now.AppendFormat(r.out, "_2")
	case directive == 'z', directive == 'Z': // datetime.now() has no zone
	default:
		return false
	}
	return true
}

// timeLayouts are the directives that package time has as well.
var timeLayouts = [256]string{
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'B': "January", 'h': "Jan", 'p': "PM",
	'c': "Mon Jan _2 15:04:05 2006", 'x': "01/02/06", 'X': "15:04:05",
	'D': "01/02/06", 'F': "2006-01-02", 'T': "15:04:05", 'R': "15:04", 'r': "03:04:05 PM",
}

// timeNumber is the number that a directive prints, and how many digits at least.
func timeNumber(t time.Time, directive byte) (n, width int, ok bool) {
	switch directive {
	case 'd':
		return t.Day(), 2, true
	case 'm':
		return int(t.Month()), 2, true
	case 'y':
		return t.Year() % 100, 2, true
	case 'Y':
		return t.Year(), 1, true
	case 'H':
		return t.Hour(), 2, true
	case 'I':
		return (t.Hour()+11)%12 + 1, 2, true
	case 'M':
		return t.Minute(), 2, true
	case 'S':
		return t.Second(), 2, true
	case 'j':
		return t.YearDay(), 3, true
	case 'f':
		return t.Nanosecond() / 1000, 6, true
	case 'w':
		return int(t.Weekday()), 1, true
	case 'u':
		return (int(t.Weekday())+6)%7 + 1, 1, true
	case 'U':
		return weekOfYear(t, time.Sunday), 2, true
	case 'W':
		return weekOfYear(t, time.Monday), 2, true
	case 'V':
		_, week := t.ISOWeek()
		return week, 2, true
	case 'G':
		year, _ := t.ISOWeek()
		return year, 1, true
	case 'C':
		return t.Year() / 100, 2, true
	}
	return 0, 0, false
}

// weekOfYear counts weeks from the first that begins in the year.
func weekOfYear(t time.Time, first time.Weekday) int {
	return (t.YearDay() + 6 - (int(t.Weekday()-first)+7)%7) / 7
}

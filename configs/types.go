package configs

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Duration is a time span written as "30s", "1h30m" or "100ms". A bare number
// has no unit and is refused, except 0.
type Duration time.Duration

// D returns d as a time.Duration.
func (d Duration) D() time.Duration { return time.Duration(d) }

// ParseDuration reads a duration as a configuration file writes it.
func ParseDuration(text string) (Duration, error) {
	if text == "0" {
		return 0, nil
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return 0, fmt.Errorf("cannot read duration %q: it has no unit (write %q)", text, text+"s")
	}
	d, err := time.ParseDuration(text)
	if err != nil || strings.HasPrefix(text, "+") {
		return 0, fmt.Errorf(`cannot read duration %q: write a number and a unit, such as "30s", "1h30m" or "100ms"`, text)
	}
	if d < 0 {
		return 0, fmt.Errorf("cannot read duration %q: it is negative", text)
	}
	return Duration(d), nil
}

// String writes d in the shortest form that ParseDuration reads back.
func (d Duration) String() string {
	text := time.Duration(d).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// MarshalText writes d as String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Size is a number of bytes written as "64MiB", "1KiB", "1MB" or "512".
type Size int64

// sizeUnits is ordered so that String picks the largest unit that divides; the
// binary ones stand first because limits are nearly always powers of two.
var sizeUnits = []struct {
	name   string
	factor int64
}{
	{"TiB", 1 << 40},
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"TB", 1e12},
	{"GB", 1e9},
	{"MB", 1e6},
	{"KB", 1e3},
	{"kB", 1e3},
	{"B", 1},
}

// ParseSize reads a size as a configuration file writes it.
func ParseSize(text string) (Size, error) {
	digits := strings.TrimLeft(text, "0123456789")
	number, unit := text[:len(text)-len(digits)], digits
	factor := int64(1)
	if unit != "" {
		factor = 0
		for _, u := range sizeUnits {
			if u.name == unit {
				factor = u.factor
			}
		}
	}
	if number == "" || factor == 0 {
		return 0, fmt.Errorf(`cannot read size %q: write a whole number and a unit, such as "64MiB", "1KiB", "1MB" or "512"`, text)
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if errors.Is(err, strconv.ErrRange) || n > math.MaxInt64/factor {
		return 0, fmt.Errorf("cannot read size %q: too large", text)
	}
	if err != nil {
		return 0, fmt.Errorf("cannot read size %q: %w", text, err)
	}
	return Size(n * factor), nil
}

// String writes s with the largest binary unit that divides it.
func (s Size) String() string {
	for _, u := range sizeUnits[:4] {
		if s != 0 && int64(s)%u.factor == 0 {
			return strconv.FormatInt(int64(s)/u.factor, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// MarshalText writes s as String does.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

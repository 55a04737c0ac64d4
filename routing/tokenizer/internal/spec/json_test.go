package spec

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestReaderRefusesWhatIsNoJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,}`, `[1,]`, `[1 2]`, `{"a" 1}`, `"a`, `"\x"`, `"\u12"`, `"\ud800"`, `"\ud800\u0041"`,
		"\"\n\"", `tru`, `01`, `1.`, `.5`, `-`, `1e`, `1e400`, `[`, strings.Repeat("[", 200) + strings.Repeat("]", 200),
	} {
		r := &reader{data: []byte(text)}
		if _, err := r.raw(); err == nil {
			t.Errorf("%.40q was read", text)
		}
	}
}

func TestStringsAreUnescaped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`""`: "", `"a\"\\\/\b\f\n\r\t"`: "a\"\\/\b\f\n\r\t", `"\u0041\u00e9\ud83d\ude00"`: "Aé😀", `"né"`: "né",
	} {
		r := &reader{data: []byte(text)}
		if got, err := r.str(); err != nil || string(got) != want || r.at != len(text) {
			t.Errorf("%s is %q, %v", text, got, err)
		}
	}
}

// The values are what the tokenizers library 0.23.3 made of the texts; that of the
// third is not the nearest.
func TestNumbersAreRoundedAsSerdeDoes(t *testing.T) {
	t.Parallel()
	f := func(text string, want float64) {
		t.Helper()
		r := &reader{data: []byte(text)}
		if got, err := r.float(); err != nil || got != want {
			t.Errorf("%s is %v, %v, not %v", text, got, err, want)
		}
		r = &reader{data: []byte(text), exact: true}
		nearest, _ := strconv.ParseFloat(text, 64)
		if got, err := r.float(); err != nil || got != nearest {
			t.Errorf("%s is %v, %v exactly, not %v", text, got, err, nearest)
		}
	}
	f("-12.345678901234567890123", -12.345678901234567)
	f("-0.1234567890123456789", -0.12345678901234568)
	f("-18.956549741186986", -18.956549741186983)
	f("3", 3)
	f("-0", math.Copysign(0, -1))
	f("123456789012345678901234.5", 1.2345678901234567e+23)
	f("1.5e3", 1500)
	f("0e999", 0)
}

func FuzzReader(f *testing.F) {
	f.Add([]byte(`{"a": [1, 2.5e3, "x\u00e9", null, true], "b": {}}`))
	f.Add([]byte(`"\ud83d\ude00"`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !utf8.Valid(data) {
			return
		}
		r := &reader{data: data}
		if _, err := r.raw(); err != nil {
			return
		}
		if r.next(); r.at == len(data) && !json.Valid(data) {
			t.Errorf("%q was read, and is no JSON", data)
		}
		r = &reader{data: data}
		text, err := r.str()
		var want string
		if err == nil && (json.Unmarshal(data[:r.at], &want) != nil || want != string(text)) {
			t.Errorf("%q is %q, not %q", data[:r.at], text, want)
		}
	})
}

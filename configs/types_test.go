package configs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "30s": 30 * time.Second, "1h30m": 90 * time.Minute, "1.5s": 1500 * time.Millisecond, "100us": 100 * time.Microsecond,
	} {
		if got, err := ParseDuration(text); err != nil || got.D() != want {
			t.Errorf("%q: got %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "30", "1.5", "-1s", "+1s", "1 s", "1d", "forever", "999999999h", "NaN"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q: got %s, want an error", text, got)
		}
	}
}

func TestParseSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Size{
		"0": 0, "512": 512, "512B": 512, "1KiB": 1024, "1KB": 1000, "1kB": 1000, "1MB": 1e6, "64MiB": 64 << 20, "2GiB": 2 << 30, "7TiB": 7 << 40,
		"9223372036854775807": math.MaxInt64,
	} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "1.5MiB", "1 MiB", "1mib", "1M", "9223372036854775808", "9000000TiB", "0x10"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q: got %d, want an error", text, got)
		}
	}
}

func FuzzDurationAndSizeRoundTrip(f *testing.F) {
	for _, s := range []string{"30s", "1h30m", "64MiB", "1KB", "512", "0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := ParseDuration(text); err == nil {
			if again, err := ParseDuration(d.String()); err != nil || again != d {
				t.Errorf("%q -> %s -> %s, %v", text, d, again, err)
			}
		}
		if s, err := ParseSize(text); err == nil {
			if again, err := ParseSize(s.String()); err != nil || again != s || s < 0 {
				t.Errorf("%q -> %s -> %s, %v", text, s, again, err)
			}
		}
	})
}

func TestSecretNeverPrints(t *testing.T) {
	t.Parallel()
	const text = "sk-very-secret"
	s := NewSecret(text)
	holder := struct {
		Key  Secret
		Keys []Secret
		Ptr  *Secret
	}{s, []Secret{s}, &s}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T", "%10.3s", "%-5v", "%t", "%w"} {
		fmt.Fprintf(&out, verb+"\n", s)
		fmt.Fprintf(&out, verb+"\n", &s)
		fmt.Fprintf(&out, verb+"\n", holder)
	}
	fmt.Fprintln(&out, s, holder)
	for _, marshal := range []func(any) ([]byte, error){json.Marshal, yaml.Marshal} {
		data, err := marshal(holder)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(data)
	}
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", slog.Any("secret", s), slog.Any("holder", holder))
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", slog.Any("secret", s), slog.Any("holder", holder))
	hexed := fmt.Sprintf("%x", text)
	for _, bad := range []string{text, "very", hexed, strings.ToUpper(hexed)} {
		if strings.Contains(out.String(), bad) {
			t.Errorf("%q is visible in:\n%s", bad, out.String())
		}
	}
	if s.Reveal() != text || !s.Set() || (Secret{}).Set() || (Secret{}).String() != "" {
		t.Error("Reveal or Set is wrong")
	}
}

func TestParseSecret(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain": "plain", "": "", "env:KEY": "sk-0123456789abcdef", "file:key.txt": "sk-0123456789abcdef",
	} {
		if got, err := ParseSecret(text, fixed()); err != nil || got.Reveal() != want {
			t.Errorf("%q: got %q, %v", text, got.Reveal(), err)
		}
	}
	for _, text := range []string{"env:", "env:MISSING", "file:", "file:missing", "***"} {
		if _, err := ParseSecret(text, fixed()); err == nil {
			t.Errorf("%q: want an error", text)
		}
	}
}

// TestCommentsStateTheDefaults reads "default X" out of the comments and
// compares it with what Default gives.
func TestCommentsStateTheDefaults(t *testing.T) {
	t.Parallel()
	stated := regexp.MustCompile(`(?:^|[;.)] )default ("[^"]*"|[^;,. ]+(?:\.[0-9]+)?)`)
	text := readDocs(t)
	checked := 0
	for _, v := range []any{Default(), DefaultPool(), DefaultReplica(), DefaultServerTLS()} {
		eachField(reflect.ValueOf(v), func(name string, got reflect.Value) {
			m := stated.FindStringSubmatch(text[name])
			if m == nil || strings.HasPrefix(text[name], "default:") || got.Kind() == reflect.Slice {
				return
			}
			checked++
			var same bool
			switch d := got.Interface().(type) {
			case Duration:
				want, err := ParseDuration(m[1])
				same = err == nil && d == want
			case Size:
				want, err := ParseSize(m[1])
				same = err == nil && d == want
			default:
				same = fmt.Sprint(d) == strings.Trim(m[1], `"`)
			}
			if !same {
				t.Errorf("%s: the comment says %q, the default is %v", name, m[1], got)
			}
		})
	}
	if checked < 50 {
		t.Errorf("only %d comments state a default", checked)
	}
}

func eachField(v reflect.Value, visit func(string, reflect.Value)) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if key := f.Tag.Get("yaml"); key != "" {
			visit(v.Type().Name()+"."+key, v.Field(i))
			if f.Type.Kind() == reflect.Struct {
				eachField(v.Field(i), visit)
			}
		}
	}
}

func TestEngineDefaults(t *testing.T) {
	t.Parallel()
	for kind, want := range map[Engine]Health{
		EngineSGLang:   {Path: "/health", Interval: seconds(20), Timeout: seconds(10)},
		EngineVLLM:     {Path: "/health", Interval: seconds(5), Timeout: seconds(3)},
		EngineOpenAI:   {Interval: seconds(10), Timeout: seconds(5)},
		Engine("what"): {Interval: seconds(5), Timeout: seconds(3)},
	} {
		if got := (Health{}).For(kind); got != want {
			t.Errorf("%s: got %+v", kind, got)
		}
	}
	chosen := Health{Path: "/ping", Interval: seconds(1), Timeout: seconds(1)}
	if got := (Pool{Health: chosen}).Resolve(EngineSGLang).Health; got != chosen {
		t.Errorf("chosen values were replaced: %+v", got)
	}
}

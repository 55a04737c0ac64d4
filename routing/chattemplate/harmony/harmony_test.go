package harmony

import (
	"errors"
	"strings"
	"testing"

	"penstock/routing/chattemplate/value"
)

func parse(t testing.TB, text string) value.Value {
	t.Helper()
	var m value.Memory
	v, err := m.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestSchemasBecomeTypeScript has what oss-harmony 0.0.11 writes; more is compared in
// the package above.
func TestSchemasBecomeTypeScript(t *testing.T) {
	t.Parallel()
	f := func(schema, want string) {
		t.Helper()
		w := typescript{limit: maxOutput}
		w.schema(parse(t, schema), 0, 0)
		if got := string(w.dst); got != want {
			t.Errorf("%s:\n got %q\nwant %q", schema, got, want)
		}
	}
	f(`{"type":"string","enum":["a",1,"b"]}`, `"a" | "b"`)
	f(`{"type":["integer","null"]}`, "number | null")
	f(`{"type":"array","items":{"type":"boolean"}}`, "boolean[]")
	f(`{"type":"array"}`, "Array<any>")
	f(`{"anyOf":[]}`, "any")
	f(`{"type":"object","properties":{"a":{"type":"string","default":"x"},"b":{"type":"number","default":1e20,"description":"d"}},"required":["b"]}`,
		"{\na?: string, // default: \"x\"\n// d\nb: number, // default: 1e+20\n}")
	f(`{"oneOf":[{"type":"string","description":"s"},{"type":"number","nullable":true}]}`, "\n | string // s\n | number | null")
}

func TestFloatsAreWrittenAsSerdeDoes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1.0": "1.0", "1e15": "1000000000000000.0", "1e16": "1e+16", "0.00001": "0.00001", "1e-6": "1e-6", "1.5e-7": "1.5e-7",
		"-0.0": "-0.0", "18446744073709551615": "18446744073709551615", "18446744073709551616": "1.8446744073709552e+19",
	} {
		w := typescript{limit: maxOutput}
		w.json(parse(t, text))
		if got := string(w.dst); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestToolsThatCannotBeWrittenAreErrors(t *testing.T) {
	t.Parallel()
	f := func(schema string, want error) {
		t.Helper()
		_, err := AppendDeveloper(nil, nil, false, []Function{{Name: []byte("f"), Parameters: parse(t, schema)}})
		if !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	f(`{"type":"object","properties":{"a":{"default":NaN}}}`, ErrNumber)
}

func TestSchemasStopGrowingAtALimit(t *testing.T) {
	t.Parallel()
	// Every property lies 250 levels deep, behind 1,000 spaces.
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 250) + `{"type":"object","properties":{` +
		`"b":0,"c":0,"d":0,"e":0}}` + strings.Repeat("}}", 250)
	w := typescript{limit: 1000}
	w.schema(parse(t, deep), 0, 0)
	if !errors.Is(w.err, ErrLimit) || len(w.dst) > 10_000 {
		t.Errorf("got %v after %d bytes", w.err, len(w.dst))
	}
}

// TestAnalysisEndsWithTheFinalAnswer drops what was concluded.
func TestAnalysisEndsWithTheFinalAnswer(t *testing.T) {
	t.Parallel()
	var e Encoder
	e.Conversation([]Message{
		{Role: Assistant, Channel: Analysis, Text: []byte("gone")},
		{Role: Assistant, Channel: Final, Text: []byte("said")},
		{Role: Assistant, Channel: Analysis, Text: []byte("kept")},
	})
	const want = "<|start|>assistant<|channel|>final<|message|>said<|end|><|start|>assistant<|channel|>analysis<|message|>kept<|end|><|start|>assistant"
	if got := string(e.Text); got != want || len(e.Cuts) != 0 || len(e.Plain) != 1 {
		t.Errorf("got %q with cuts %v", got, e.Cuts)
	}
}

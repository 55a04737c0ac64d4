package scan

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"unicode/utf8"
)

var seeds = []string{
	`{"model":"m","stream":true,"messages":[{"role":"user","content":"héllo\n\"q\" 😀"}],"max_tokens":16}`,
	`{"rid":"x","a":1,"bootstrap_host":"h","kv_transfer_params":{"a":[1,2]},"priority":3}`,
	`{"sampling_params":{"extra_args":{"kv_transfer_params":{}},"max_tokens":1e2},"token_ids":[1,2]}`,
	`{"mod\u0065l":"\ud83d\ude00","stream":null,"stream_options":{"include_usage":false}}`,
	`{"prompt":[[1,2],[3]],"seed":18446744073709551615,"x":1.5e-7,"x":-0}`,
	`[[[[{"a":"\u0000\ud800"}]]]]`, `"\u00e9"`, ` null `, `{"a":"` + "\xff" + `"}`, `{"a":1}x`, `{"rid":1}`, `{}`,
	`{"rid":0,"vllm_xargs":0,"sampling_params":[{"extra_args":{"ec_transfer_params":0}}]}`,
}

// FuzzScan: what is accepted is exactly what encoding/json accepts and is valid
// UTF-8, apart from the refusals that have a class of their own; model and
// stream are what encoding/json decodes.
func FuzzScan(f *testing.F) {
	for i, s := range seeds {
		f.Add([]byte(s), uint8(i))
	}
	f.Fuzz(func(t *testing.T, body []byte, k uint8) {
		kind := Kind(k) % (KindInferenceGenerate + 1)
		valid := json.Valid(body) && utf8.Valid(body)
		var r Result
		err := Scan(body, kind, Limits{}, &r)
		if at := invalidAt(body); !utf8.Valid(body[:at]) || (at == len(body)) != utf8.Valid(body) {
			t.Fatalf("invalidAt = %d", at)
		}
		switch {
		case errors.Is(err, ErrSyntax):
			if valid {
				t.Fatalf("refused valid JSON: %v", err)
			}
			return
		case err != nil:
			return // depth, type, duplicate and limits may be seen before a later syntax error
		case !valid:
			t.Fatal("accepted invalid JSON")
		}
		var doc map[string]json.RawMessage
		if json.Unmarshal(body, &doc) != nil || doc == nil {
			return // not an object
		}
		var model *string
		var stream *bool
		if json.Unmarshal(doc["model"], &model) == nil && (model == nil) != (r.Model == nil) || model != nil && *model != string(r.Model) {
			t.Fatalf("model %q, encoding/json says %v", r.Model, model)
		}
		if json.Unmarshal(doc["stream"], &stream) == nil && stream != nil && *stream != r.Stream {
			t.Fatalf("stream %v", r.Stream)
		}
		for _, m := range r.All() {
			if !json.Valid(m.Value.Of(body)) || !json.Valid(m.Key.Of(body)) {
				t.Fatalf("span of %v is no JSON value", m.Field)
			}
		}
	})
}

func decode(t *testing.T, body []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return v
}

// strip deletes injection members from a decoded document, as the oracle.
func strip(doc map[string]any, kind Kind) {
	for k := range doc {
		if lookup(scopeTop, []byte(k), kind).Injected() {
			delete(doc, k)
		}
	}
	inSampling := func(v any) {
		params, _ := v.(map[string]any)
		extra, _ := params["extra_args"].(map[string]any)
		for k := range extra {
			if lookup(scopeExtraArgs, []byte(k), kind).Injected() {
				delete(extra, k)
			}
		}
	}
	if !inNative.has(kind) {
		return
	}
	inSampling(doc["sampling_params"])
	if list, ok := doc["sampling_params"].([]any); ok {
		for _, v := range list {
			inSampling(v)
		}
	}
}

// FuzzEditor: cutting and setting change nothing else in the decoded document,
// and an edited body scans to the new values.
func FuzzEditor(f *testing.F) {
	for i, s := range seeds {
		f.Add([]byte(s), uint8(i), "new")
	}
	f.Fuzz(func(t *testing.T, body []byte, k uint8, model string) {
		kind := Kind(k) % (KindInferenceGenerate + 1)
		var r, again Result
		if Scan(body, kind, Limits{}, &r) != nil || r.open == 0 {
			return
		}
		before := decode(t, body).(map[string]any)
		var e Editor
		e.Reset(body, &r)
		if got := e.Append(nil); !bytes.Equal(got, body) {
			t.Fatalf("no edits changed the body to %s", got)
		}
		e.CutInjected()
		e.Cut(FieldPriority)
		strip(before, kind)
		delete(before, "priority")
		cutOnly := e.Append(nil)
		if got := decode(t, cutOnly); !reflect.DeepEqual(got, any(before)) {
			t.Fatalf("cut %s\ngives %s", body, cutOnly)
		}
		e.SetModel(model)
		usage := e.IncludeUsage()
		e.SetString(FieldRID, "ours")
		edited := e.Append(nil)
		if !json.Valid(edited) || e.Size() != len(edited) {
			t.Fatalf("edit of %s\ngives %s", body, edited)
		}
		if err := Scan(edited, kind, Limits{Depth: 100, StringBytes: 1 << 20}, &again); err != nil {
			t.Fatalf("edited body %s: %v", edited, err)
		}
		if want := string([]rune(model)); string(again.Model) != want || usage && !again.IncludeUsage || again.Injected() != 1 {
			t.Fatalf("edited body %s: model %q usage %v", edited, again.Model, again.IncludeUsage)
		}
		after := decode(t, edited).(map[string]any)
		for _, k := range []string{"model", "stream_options", "rid"} {
			delete(after, k)
			delete(before, k)
		}
		if !reflect.DeepEqual(after, before) {
			t.Fatalf("edit of %s\nchanged more: %s", body, edited)
		}
	})
}

// FuzzAppendString: what is written is what encoding/json reads back.
func FuzzAppendString(f *testing.F) {
	f.Add("a\"\\\n\x00\x7f é😀\xff")
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		out := AppendString(nil, s)
		if err := json.Unmarshal(out, &got); err != nil || got != string([]rune(s)) {
			t.Fatalf("%q -> %s -> %q (%v)", s, out, got, err)
		}
	})
}

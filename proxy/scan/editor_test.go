package scan

import (
	"encoding/json"
	"strings"
	"testing"
)

func edit(t *testing.T, kind Kind, body string, do func(e *Editor)) string {
	t.Helper()
	var r Result
	if err := Scan([]byte(body), kind, Limits{}, &r); err != nil {
		t.Fatalf("Scan(%s): %v", body, err)
	}
	var e Editor
	e.Reset([]byte(body), &r)
	do(&e)
	out := e.Append(nil)
	if !json.Valid(out) {
		t.Errorf("edit of %s gives invalid %s", body, out)
	}
	if e.Size() != len(out) {
		t.Errorf("Size %d, length %d", e.Size(), len(out))
	}
	return string(out)
}

func TestCutLeavesValidJSON(t *testing.T) {
	t.Parallel()
	f := func(body, want string) {
		t.Helper()
		if got := edit(t, KindInferenceGenerate, body, (*Editor).CutInjected); got != want {
			t.Errorf("%s\n got %s\nwant %s", body, got, want)
		}
	}
	f(`{"rid":1}`, `{}`)
	f(`{ "rid" : 1 }`, `{  }`)
	f(`{"rid":1,"a":2}`, `{"a":2}`)
	f(`{"a":2,"rid":1}`, `{"a":2}`)
	f(`{"a":2 , "rid":1 , "b":3}`, `{"a":2 , "b":3}`)
	f(`{"rid":1,"vllm_xargs":{},"a":2}`, `{"a":2}`)
	f(`{"rid":1,"vllm_xargs":{}}`, `{}`)
	f(`{"a":1,"rid":1,"vllm_xargs":{}}`, `{"a":1}`)
	f(`{"rid":1,"a":1,"vllm_xargs":{},"bootstrap_host":"h","bootstrap_port":2,"b":2,"bootstrap_x":[]}`, `{"a":1,"b":2}`)
	f(`{"r\u0069d":1,"a":9007199254740993}`, `{"a":9007199254740993}`)
	f(`{"sampling_params":{"extra_args":{"kv_transfer_params":{"do_remote_decode":true},"x":1}},"a":1}`, `{"sampling_params":{"extra_args":{"x":1}},"a":1}`)
	f(`{"sampling_params":{"extra_args":{"kv_transfer_params":1,"ec_transfer_params":2}}}`, `{"sampling_params":{"extra_args":{}}}`)
	f(`{"sampling_params":[{"extra_args":{"kv_transfer_params":1}},{"extra_args":{"y":1,"kv_transfer_params":1}}]}`, `{"sampling_params":[{"extra_args":{}},{"extra_args":{"y":1}}]}`)
	f(`{"a":1}`, `{"a":1}`)
	f(`{}`, `{}`)
}

func TestSetReplacesOrAdds(t *testing.T) {
	t.Parallel()
	f := func(body, want string, do func(e *Editor)) {
		t.Helper()
		if got := edit(t, KindChat, body, do); got != want {
			t.Errorf("%s\n got %s\nwant %s", body, got, want)
		}
	}
	salt := func(e *Editor) { e.SetString(FieldCacheSalt, `a"b`) }
	f(`{}`, `{"cache_salt":"a\"b"}`, salt)
	f(`{"a":1}`, `{"cache_salt":"a\"b","a":1}`, salt)
	f(`{"a":1,"cache_salt":null,"b":2}`, `{"a":1,"cache_salt":"a\"b","b":2}`, salt)
	f(`{"model":"x","a":1}`, `{"model":"y","a":1}`, func(e *Editor) { e.SetModel("y") })
	f(`{"rid":1}`, `{"cache_salt":"s"}`, func(e *Editor) { e.CutInjected(); e.SetString(FieldCacheSalt, "s") })
	f(`{"rid":1,"a":1}`, `{"cache_salt":"s","rid":"r","a":1}`, func(e *Editor) { e.CutInjected(); e.SetString(FieldRID, "r"); e.SetString(FieldCacheSalt, "s") })
	f(`{"a":1}`, `{"x":1,"max_tokens":1,"a":1}`, func(e *Editor) { e.Insert("x", []byte("1")); e.Set(FieldMaxTokens, []byte("1")) })
	f(`{}`, `{"max_tokens":2}`, func(e *Editor) { e.Set(FieldMaxTokens, []byte("1")); e.Set(FieldMaxTokens, []byte("2")) })
	f(`{"priority":1,"cache_salt":"s"}`, `{}`, func(e *Editor) { e.Cut(FieldPriority); e.Cut(FieldCacheSalt); e.Cut(FieldSessionID) })
}

func TestIncludeUsageFindsItsPlace(t *testing.T) {
	t.Parallel()
	f := func(body, want string) {
		t.Helper()
		if got := edit(t, KindChat, body, func(e *Editor) { e.IncludeUsage() }); got != want {
			t.Errorf("%s\n got %s\nwant %s", body, got, want)
		}
	}
	f(`{}`, `{"stream_options":{"include_usage":true}}`)
	f(`{"a":1}`, `{"stream_options":{"include_usage":true},"a":1}`)
	f(`{"stream_options":null}`, `{"stream_options":{"include_usage":true}}`)
	f(`{"stream_options":{}}`, `{"stream_options":{"include_usage":true}}`)
	f(`{"stream_options":{"x":1}}`, `{"stream_options":{"include_usage":true,"x":1}}`)
	f(`{"stream_options":{"x":1,"include_usage":false}}`, `{"stream_options":{"x":1,"include_usage":true}}`)
}

func TestNestedSetsMeet(t *testing.T) {
	t.Parallel()
	prefill := func(e *Editor) {
		e.CutInjected()
		e.Set(FieldSamplingMaxTokens, []byte("1"))
		e.Set(FieldSamplingMinTokens, []byte("1"))
		e.Set(FieldExtraKVTransferParams, []byte(`{"k":1}`))
	}
	f := func(body, want string) {
		t.Helper()
		if got := edit(t, KindInferenceGenerate, body, prefill); got != want {
			t.Errorf("%s\n got %s\nwant %s", body, got, want)
		}
	}
	f(`{}`, `{"sampling_params":{"max_tokens":1,"min_tokens":1,"extra_args":{"kv_transfer_params":{"k":1}}}}`)
	f(`{"sampling_params":null}`, `{"sampling_params":{"max_tokens":1,"min_tokens":1,"extra_args":{"kv_transfer_params":{"k":1}}}}`)
	f(`{"sampling_params":{"max_tokens":9}}`, `{"sampling_params":{"min_tokens":1,"extra_args":{"kv_transfer_params":{"k":1}},"max_tokens":1}}`)
	f(`{"sampling_params":{"extra_args":{"kv_transfer_params":0}}}`, `{"sampling_params":{"max_tokens":1,"min_tokens":1,"extra_args":{"kv_transfer_params":{"k":1}}}}`)
	if got := edit(t, KindGenerate, `{"sampling_params":[{}]}`, func(e *Editor) {
		if e.Set(FieldSamplingMaxNewTokens, []byte("1")) {
			t.Error("Set into a list of sampling_params reported success")
		}
	}); got != `{"sampling_params":[{}]}` {
		t.Error(got)
	}
}

func TestSetAfterCutOfTheObjectAround(t *testing.T) {
	t.Parallel()
	got := edit(t, KindChat, `{"stream_options":{"include_usage":false,"x":1},"a":1}`, func(e *Editor) {
		e.Cut(FieldStreamOptions)
		e.IncludeUsage()
	})
	if got != `{"stream_options":{"include_usage":true},"a":1}` {
		t.Error(got)
	}
}

func TestMisuseIsABug(t *testing.T) {
	t.Parallel()
	f := func(what string, do func()) {
		t.Helper()
		defer func() {
			if p, _ := recover().(string); !strings.HasPrefix(p, "BUG:") {
				t.Errorf("%s: recovered %q", what, p)
			}
		}()
		do()
	}
	r := mustScan(t, KindChat, `{}`)
	f("overlapping edits", func() { Apply(nil, []byte("abcd"), []Edit{{Span: Span{0, 3}}, {Span: Span{2, 4}}}) })
	f("edit outside", func() { Apply(nil, []byte("ab"), []Edit{{Span: Span{1, 3}}}) })
	f("another body", func() { new(Editor).Reset([]byte("{ }"), r) })
	f("field of another kind", func() {
		var e Editor
		e.Reset([]byte("{}"), r)
		e.Set(FieldTokenIDs, []byte("[]"))
	})
	f("insert of a field", func() {
		var e Editor
		e.Reset([]byte("{}"), r)
		e.Insert("model", []byte("1"))
	})
}

func TestApplySortsEdits(t *testing.T) {
	t.Parallel()
	got := Apply([]byte("> "), []byte("0123456789"), []Edit{
		{Span{8, 9}, []byte("EIGHT")}, {Span{0, 2}, nil}, {Span{0, 0}, []byte("a")}, {Span{0, 0}, []byte("b")}, {Span{10, 10}, []byte("!")},
	})
	if string(got) != "> ab234567EIGHT9!" {
		t.Errorf("%s", got)
	}
}

package scan

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func mustScan(t *testing.T, kind Kind, body string) *Result {
	t.Helper()
	var r Result
	if err := Scan([]byte(body), kind, Limits{}, &r); err != nil {
		t.Fatalf("Scan(%s): %v", body, err)
	}
	return &r
}

func TestEveryFieldIsFoundByItsName(t *testing.T) {
	t.Parallel()
	for f := FieldNone + 1; f < fieldCount; f++ {
		in := fields[f]
		if in.name == "" || len(in.name) > maxKey || in.kinds == 0 {
			t.Errorf("field %d has a bad table entry: %+v", f, in)
		}
		if got := lookup(in.scope, []byte(in.name), KindGeneric); got != f {
			t.Errorf("lookup(%q) = %v, want %v", in.name, got, f)
		}
		if strings.Count(f.String(), ".") == 0 != (f.parent() == FieldNone) {
			t.Errorf("String() = %q does not show the parent", f.String())
		}
	}
	if got := lookup(scopeTop, []byte("bootstrap_pair_key"), KindChat); got != FieldBootstrapOther {
		t.Errorf("an unknown bootstrap member is %v", got)
	}
	if maxMembers < int(fieldCount) || maxMembers > 254 {
		t.Error("maxMembers must hold every field and fit the uint8 index")
	}
}

func TestRoutingMembersAreRead(t *testing.T) {
	t.Parallel()
	f := func(kind Kind, body, want string) {
		t.Helper()
		r := mustScan(t, kind, body)
		got := fmt.Sprintf("model=%s stream=%v usage=%v/%v store=%d bg=%v session=%s user=%s salt=%s cachekey=%s prev=%s conv=%s max=%d n=%d prompts=%d ids=%v/%d media=%d",
			r.Model, r.Stream, r.IncludeUsage, r.ContinuousUsage, r.Store, r.Background, r.SessionID, r.User, r.CacheSalt, r.PromptCacheKey,
			r.PreviousResponseID, r.Conversation, r.MaxTokens, r.N, r.PromptCount, r.TokenIDs, r.PromptTokens, r.MediaParts)
		for w := range strings.FieldsSeq(want) {
			if !strings.Contains(" "+got+" ", " "+w+" ") {
				t.Errorf("%s %s\n got %s\nmiss %s", kind, body, got, w)
			}
		}
	}
	f(KindChat, `{"model":"m","stream":true,"messages":[],"max_tokens":3,"max_completion_tokens":7,"n":2}`, "model=m stream=true max=7 n=2 prompts=1 usage=false/false store=0")
	f(KindChat, `{"max_completion_tokens":7,"max_tokens":3}`, "max=7")
	f(KindChat, `{"model":null,"stream":null,"max_tokens":null,"stream_options":null,"messages":null}`, "model= stream=false max=-1 prompts=0")
	f(KindChat, `{"mod\u0065l":"a\u00e9\u005c\ud83d\ude00"}`, `model=aé\😀`)
	f(KindChat, `{"model":"m","stream_options":{"include_usage":true,"continuous_usage_stats":true}}`, "usage=true/true")
	f(KindChat, `{"store":false,"session_id":"s","user":"u","cache_salt":"c","prompt_cache_key":"k"}`, "store=1 session=s user=u salt=c cachekey=k")
	f(KindChat, `{"messages":[],"documents":["a","b"]}`, "prompts=1")
	f(KindChat, `{"messages":[],"input_ids":[1,2,3]}`, "prompts=1 ids=true/3")
	f(KindChat, `{"max_tokens":16.0}`, "max=16")
	f(KindChat, `{"max_tokens":1e2}`, "max=100")
	f(KindChat, `{"max_tokens":-5,"n":0}`, "max=-1 n=1")
	f(KindChat, `{"conversation_params":{"conversation_id":"c"}}`, "session=c")
	f(KindChat, `{"conversation_params":{"conversation_id":"c"},"session_id":"s"}`, "session=s")
	f(KindCompletions, `{"prompt":"hello"}`, "prompts=1 ids=false/0")
	f(KindCompletions, `{"prompt":["a","b"]}`, "prompts=2 ids=false/0")
	f(KindCompletions, `{"prompt":[1,2,3]}`, "prompts=1 ids=true/3")
	f(KindCompletions, `{"prompt":[[1,2],[ 3 ],[]]}`, "prompts=3 ids=true/3")
	f(KindCompletions, `{"prompt":[]}`, "prompts=0 ids=false/0")
	f(KindResponses, `{"input":[{"role":"user"},{"type":"input_image","image_url":"u"}],"store":true,"background":true,"previous_response_id":"r","conversation":{"id":"c"},"max_output_tokens":9}`,
		"prompts=1 media=1 store=2 bg=true prev=r conv=c max=9")
	f(KindResponses, `{"conversation":"c2"}`, "conv=c2")
	f(KindMessages, `{"system":"s","messages":[{"content":[{"type":"image","source":{"data":"QUJD"}}]}],"metadata":{"user_id":"u9"},"max_tokens":4}`, "user=u9 media=1 max=4")
	f(KindEmbeddings, `{"input":["a","b","c"]}`, "prompts=3")
	f(KindRerank, `{"query":"q","documents":["a","b"]}`, "prompts=2")
	f(KindScore, `{"text_1":"q","text_2":["a","b"]}`, "prompts=2")
	f(KindTokenize, `{"prompt":"x"}`, "prompts=1")
	f(KindGenerate, `{"text":"x","sampling_params":{"max_new_tokens":8,"n":2},"session_params":{"id":"sp"}}`, "max=8 n=2 session=sp prompts=1")
	f(KindGenerate, `{"input_ids":[[1],[2,3]],"sampling_params":[{"max_new_tokens":8},{"max_new_tokens":9}]}`, "max=9 prompts=2 ids=true/3")
	f(KindInferenceGenerate, `{"token_ids":[1,2],"sampling_params":{"max_tokens":5},"stream":true}`, "max=5 ids=true/2 stream=true prompts=1")
	f(KindGeneric, `{"model":7,"stream":"yes","max_tokens":"x"}`, "model= stream=false max=-1")
	f(KindGeneric, `[1,2]`, "model=")
}

func TestNamesAreCaseSensitiveAndScoped(t *testing.T) {
	t.Parallel()
	r := mustScan(t, KindChat, `{"Model":"x","messages":[{"model":"y","stream":true,"rid":1}],"metadata":{"model":"z","rid":2}}`)
	if r.Model != nil || r.Stream || r.Injected() != 0 {
		t.Errorf("nested or differently spelled members were taken: %+v", r)
	}
}

func TestPromptBytesLeaveMediaOut(t *testing.T) {
	t.Parallel()
	data := strings.Repeat("A", 5000)
	r := mustScan(t, KindChat, `{"messages":[{"content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"data:image/png;base64,`+data+`"}}]}]}`)
	if r.MediaParts != 1 || r.MediaBytes < 5000 || r.PromptBytes > 200 || r.PromptBytes < 50 {
		t.Errorf("parts %d, media %d, prompt %d bytes", r.MediaParts, r.MediaBytes, r.PromptBytes)
	}
}

func TestSpansPointAtRawValues(t *testing.T) {
	t.Parallel()
	body := ` { "priority" : 12 , "tools":[1], "messages" : [ {"a":1} ], "cache_salt":"s\n" } `
	r := mustScan(t, KindChat, body)
	for f, want := range map[Field]string{FieldPriority: "12", FieldTools: "[1]", FieldMessages: `[ {"a":1} ]`, FieldCacheSalt: `"s\n"`, FieldModel: ""} {
		if got := string(r.Value(f).Of([]byte(body))); got != want {
			t.Errorf("%v = %q, want %q", f, got, want)
		}
	}
	m, ok := r.Member(FieldPriority)
	if !ok || string(m.Key.Of([]byte(body))) != `"priority"` {
		t.Errorf("key of priority: %+v", m)
	}
	if r.Members != 4 || len(r.All()) != 4 {
		t.Errorf("members %d, recorded %d", r.Members, len(r.All()))
	}
}

func TestBadBodiesAreRefused(t *testing.T) {
	t.Parallel()
	f := func(kind Kind, body string, class error, field Field) {
		t.Helper()
		var r Result
		err := Scan([]byte(body), kind, Limits{}, &r)
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, class) || e.Field != field {
			t.Errorf("Scan(%.60q) = %v, want %v on %q", body, err, class, field)
			return
		}
		if e.Offset < 0 || e.Offset > len(body) {
			t.Errorf("offset %d outside the body", e.Offset)
		}
		if strings.Contains(err.Error(), "CANARY") {
			t.Errorf("the message quotes the body: %v", err)
		}
	}
	for _, body := range []string{
		``, ` `, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`, `{"a" 1}`, `{a:1}`, `{"a":1}x`, `{"a":1}{}`,
		`{"a":[1,]}`, `{"a":[1 2]}`, `{"a":[}`, `{"a":tru}`, `{"a":nul`, `{"a":True}`, `{"a":01}`, `{"a":1.}`, `{"a":.5}`, `{"a":-}`,
		`{"a":1e}`, `{"a":+1}`, `{"a":0x1}`, `{"a":NaN}`, `{"a":"CANARY`, `{"a":"\x"}`, `{"a":"\u12g4"}`, `{"a":"\u12`, `{"a":"\`,
		"{\"a\":\"\n\"}", "{\"a\":\"\x00\"}", "{\"a\":\"\xff\"}", "{\"a\":\"long enough text for a word \xed\xa0\x80\"}", "\xef\xbb\xbf{}", "{\"\xc3\":1}",
		`{'a':1}`, `{"a":1//x` + "\n}",
	} {
		f(KindChat, body, ErrSyntax, FieldNone)
	}
	f(KindChat, `[]`, ErrType, FieldNone)
	f(KindChat, `"CANARY"`, ErrType, FieldNone)
	f(KindChat, `{"model":"CANARY","model":"b"}`, ErrDuplicate, FieldModel)
	f(KindChat, `{"model":"a","mod\u0065l":"CANARY"}`, ErrDuplicate, FieldModel)
	f(KindChat, `{"stream_options":{"include_usage":true,"include_usage":false}}`, ErrDuplicate, FieldIncludeUsage)
	f(KindChat, `{"kv_transfer_params":1,"kv_transfer_params":2}`, ErrDuplicate, FieldKVTransferParams)
	f(KindChat, `{"model":1}`, ErrType, FieldModel)
	f(KindChat, `{"model":"\ud800"}`, ErrType, FieldModel)
	f(KindChat, `{"stream":"true"}`, ErrType, FieldStream)
	f(KindChat, `{"stream":1}`, ErrType, FieldStream)
	f(KindChat, `{"stream_options":[]}`, ErrType, FieldStreamOptions)
	f(KindChat, `{"model":`+`"`+strings.Repeat("s", 5000)+`"}`, ErrTooMany, FieldModel)
	f(KindChat, `{"a":`+strings.Repeat("[", 1_000_000), ErrDepth, FieldNone)
	f(KindGeneric, strings.Repeat("[", 1_000_000), ErrDepth, FieldNone)
	f(KindChat, strings.Repeat(`{"stream_options":`, 1000), ErrDepth, FieldNone)
	many := `{`
	for i := range maxMembers + 1 {
		many += fmt.Sprintf(`"bootstrap_%d":1,`, i)
	}
	f(KindChat, many+`"a":1}`, ErrTooMany, FieldBootstrapOther)
}

func TestEscapedNamesOfAnyLengthAreRecognised(t *testing.T) {
	t.Parallel()
	f := func(body string, want int) {
		t.Helper()
		if r := mustScan(t, KindChat, body); r.Injected() != want || cap(r.scratch) > 256 {
			t.Errorf("%.40s: %d injected, %d bytes of scratch", body, r.Injected(), cap(r.scratch))
		}
	}
	long := strings.Repeat("a", 5000)
	f(`{"\u0062\u006f\u006f\u0074\u0073\u0074\u0072\u0061\u0070\u005f\u0068\u006f\u0073\u0074":1}`, 1)
	f(`{"disagg_prefill_dp_ran\u006b":1}`, 1)
	f(`{"bootstrap_`+long+`\u0041":1}`, 1)
	f(`{"`+long+`\u0041":1}`, 0)
	f(`{"ri\u0064`+long+`":1}`, 0)
	f(`{"rid\u0000":1}`, 0)
	f(`{"rid\ud83d\ude00":1,"\ud800rid":1}`, 0)
}

func TestOrdinaryRepeatsPass(t *testing.T) {
	t.Parallel()
	mustScan(t, KindChat, `{"temperature":1,"temperature":2,"messages":[{"content":"a","content":"b"}],"x":"\ud800"}`)
	// A name that means nothing for this API is no routing member.
	mustScan(t, KindChat, `{"background":1,"background":2}`)
}

func TestLimitsHold(t *testing.T) {
	t.Parallel()
	var r Result
	deep := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	if err := Scan(deep(64), KindGeneric, Limits{}, &r); err != nil {
		t.Errorf("64 levels: %v", err)
	}
	if err := Scan(deep(65), KindGeneric, Limits{}, &r); !errors.Is(err, ErrDepth) {
		t.Errorf("65 levels: %v", err)
	}
	if err := Scan([]byte(`[1,2,3]`), KindGeneric, Limits{Values: 3}, &r); !errors.Is(err, ErrTooMany) {
		t.Errorf("4 values, 3 allowed: %v", err)
	}
	if err := Scan([]byte(`{"model":"abcdef"}`), KindChat, Limits{StringBytes: 7}, &r); !errors.Is(err, ErrTooMany) {
		t.Errorf("string over its limit: %v", err)
	}
}

// What only informs an estimate is the engine's to judge: vLLM takes a repeated
// max_tokens and a user of any length.
func TestOddHintsAreNotRefused(t *testing.T) {
	t.Parallel()
	f := func(body string, maxTokens int64, user string) {
		t.Helper()
		var r Result
		if err := Scan([]byte(body), KindChat, Limits{}, &r); err != nil {
			t.Fatalf("%.60s: %v", body, err)
		}
		if r.MaxTokens != maxTokens || string(r.User) != user {
			t.Fatalf("%.60s: max %d user %q", body, r.MaxTokens, r.User)
		}
	}
	f(`{"max_tokens":1,"user":"a","max_tokens":9,"user":"b"}`, 9, "b")
	f(`{"max_tokens":"x","user":3}`, -1, "")
	f(`{"max_tokens":1.5,"n":99999999999999999999}`, -1, "")
	f(`{"user":"`+strings.Repeat("u", 1<<20)+`","session_id":"`+strings.Repeat("s", 5000)+`"}`, -1, "")
	f(`{"user":"\ud800"}`, -1, "")
}

func TestLargeBatchOfSamplingParamsFits(t *testing.T) {
	t.Parallel()
	one := `{"max_new_tokens":4,"n":1,"extra_args":{"a":1}}`
	r := mustScan(t, KindGenerate, `{"text":["a"],"sampling_params":[`+strings.Repeat(one+",", 500)+one+`]}`)
	if r.MaxTokens != 4 || len(r.All()) != 2 {
		t.Errorf("max %d, %d members", r.MaxTokens, len(r.All()))
	}
}

func TestErrorReadsWell(t *testing.T) {
	t.Parallel()
	var r Result
	err := Scan([]byte(`{"stream":1}`), KindChat, Limits{}, &r)
	if got := err.Error(); got != "cannot read JSON body: stream: wrong JSON type at byte 10" {
		t.Error(got)
	}
}

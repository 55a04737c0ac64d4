package chattemplate

import (
	"testing"
	"time"

	"penstock/routing/chattemplate/jinja"
)

const showAll = `M={{ messages | tojson }} T={{ tools | tojson }} G={{ add_generation_prompt }} E={{ reasoning_effort }} K={{ enable_thinking }} H={{ thinking }} C={{ custom }}`

// TestPromptsAreThoseOfSGLang follows protocol.py and serving_chat.py of the versions
// named; the expected texts were derived by reading them.
func TestPromptsAreThoseOfSGLang(t *testing.T) {
	t.Parallel()
	f := func(name, version, template, body string, status Status, want string) {
		t.Helper()
		r, err := New(Sources{ChatTemplate: []byte(template)}, Profile{Engine: EngineSGLang, Version: version})
		if err != nil {
			t.Fatal(err)
		}
		p := r.NewWorker().Render(&Request{Kind: KindChat, Body: []byte(body), Now: time.Unix(0, 0)})
		got := string(p.Reason)
		for i, part := range p.Parts {
			if i > 0 {
				got += "|"
			}
			got += string(part.Text)
		}
		if p.Status != status || got != want {
			t.Errorf("%s:\n got %v %s\nwant %v %s", name, p.Status, got, status, want)
		}
	}
	const hi = `"messages":[{"role":"user","content":"Hi"}]`
	const tool = `"tools":[{"function":{"name":"f","parameters":{"z":1}},"type":"function"}]`
	f("old tools", "0.5.10", showAll, `{`+hi+`,`+tool+`}`, Exact,
		`M=[{"role": "user", "content": "Hi"}] T=[{"type": "function", "function": {"description": null, "name": "f", "parameters": {"z": 1}, "strict": false}}] G=True E= K= H= C=`)
	f("tools that may be deferred", "0.5.22", showAll, `{`+hi+`,`+tool+`}`, Exact,
		`M=[{"role": "user", "content": "Hi"}] T=[{"type": "function", "function": {"description": null, "name": "f", "parameters": {"z": 1}, "strict": false}, "defer_loading": null}] G=True E= K= H= C=`)
	f("new tools", "", showAll, `{`+hi+`,`+tool+`}`, Exact,
		`M=[{"role": "user", "content": "Hi"}] T=[{"type": "function", "function": {"name": "f", "parameters": {"z": 1}, "description": null}, "defer_loading": null}] G=True E= K= H= C=`)
	f("tools of an unsure version", "0.5.12", showAll, `{`+hi+`,`+tool+`}`, Unknown, "engine")
	f("a version that is not known", "0.4.9", showAll, `{`+hi+`}`, Unknown, "engine")
	f("no tools for the choice none", "", showAll, `{`+hi+`,`+tool+`,"tool_choice":"none"}`, Exact,
		`M=[{"role": "user", "content": "Hi"}] T=null G=True E= K= H= C=`)
	f("an effort thinks", "", showAll, `{`+hi+`,"reasoning_effort":"low"}`, Exact,
		`M=[{"role": "user", "content": "Hi"}] T=null G=True E=low K=True H=True C=`)
	f("an effort of old", "0.5.14", showAll, `{`+hi+`,"reasoning_effort":"low"}`, Unknown, "field")
	f("kwargs", "", showAll, `{`+hi+`,"chat_template_kwargs":{"custom":null,"enable_thinking":false}}`, Exact,
		`M=[{"role": "user", "content": "Hi"}] T=null G=True E= K=False H= C=None`)
	f("messages", "", showAll, `{"messages":[{"role":"SYSTEM","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"name":"n"},`+
		`{"role":"user","content":"x","name":"dropped"},{"role":"assistant","content":null,"reasoning_content":"r","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"b\":1}"}}]},`+
		`{"role":"tool","tool_call_id":"1","content":[{"type":"text","text":"c"},{"type":"text","text":"d"}]}]}`, Exact,
		`M=[{"role": "system", "content": "a b", "name": "n"}, {"role": "user", "content": "x"}, {"role": "assistant", "content": "", "reasoning_content": "r", "tool_calls": [{"id": "1", "index": null, "type": "function", "function": {"name": "f", "arguments": {"b": 1}}}]}, {"role": "tool", "content": "c d", "tool_call_id": "1"}] T=null G=True E= K= H= C=`)
	f("an assistant last is a user", "", showAll, `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`, Exact,
		`M=[{"role": "user", "content": "a"}, {"role": "user", "content": "b"}] T=null G=True E= K= H= C=`)
	f("a continued message is a piece of its own", "", showAll, `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}],"continue_final_message":true}`, Exact,
		`M=[{"role": "user", "content": "a"}] T=null G=True E= K= H= C=|b`)
	f("bare functions after an error", "", `{% for t in tools %}{% if t.type %}{{ raise_exception('no wrapper') }}{% endif %}{{ t.name }}{% endfor %}`, `{`+hi+`,`+tool+`}`, Exact, "f")
	f("arguments that are no object", "", showAll, `{"messages":[{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":"[]"}}]}]}`, Unknown, "bad_request")
	f("parts", "", `{% for message in messages %}{% for c in message['content'] %}{{ c | tojson }}{% endfor %}{{ message | tojson }}{% endfor %}`,
		`{"messages":[{"role":"system","content":[{"type":"text","text":"a"}],"name":"n"}]}`, Exact, `{"type": "text", "text": "a"}{"role": "system", "name": "n", "content": [{"type": "text", "text": "a"}]}`)
	f("a thinking part", "", showAll, `{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"x"}]}]}`, Unknown, "field")
	f("input_ids", "", showAll, `{`+hi+`,"input_ids":[1,2]}`, Exact, "")
}

// TestSGLangFindsTheFormatOfContents compares with jinja_template_utils.py.
func TestSGLangFindsTheFormatOfContents(t *testing.T) {
	t.Parallel()
	f := func(source string, want bool) {
		t.Helper()
		tpl := compile([]byte(source))
		if tpl.err != nil {
			t.Fatal(tpl.err)
		}
		if got := tpl.sglang == jinja.FormatParts; got != want {
			t.Errorf("%s: got %t, want %t", source, got, want)
		}
	}
	f("{% for c in message.content %}{% endfor %}", true)
	f("{%- for c in message['content'] -%}{% endfor %}", true)
	f(`{% for c in msg["content"] | list %}{% endfor %}`, true)
	f("{% for c in m.content if c %}{% endfor %}", true)
	f("{% for c in content %}{% endfor %}", false)
	f("{% for c in turn.content %}{% endfor %}", false)
	f("{% for c in message.content.split('x') %}{% endfor %}", false)
	f("{% for c in message.content or [] %}{% endfor %}", false)
	f("{% for c in (message.content or []) %}{% endfor %}", false)
	f("{# for c in message.content #}", false)
	f("{% for c in message.content[1:] %}{% endfor %}", true)
	f("{{ message.content }} vision", true)
}

// TestNativePromptsOfSGLang covers /generate and what completions add.
func TestNativePromptsOfSGLang(t *testing.T) {
	t.Parallel()
	r, err := New(Sources{}, Profile{Engine: EngineSGLang})
	if err != nil {
		t.Fatal(err)
	}
	w := r.NewWorker()
	f := func(kind Kind, body string, want Status, prompts int, adapter string) *Prompt {
		t.Helper()
		p := w.Render(&Request{Kind: kind, Body: []byte(body)})
		if p.Status != want || p.Prompts != prompts || p.Adapter != adapter {
			t.Errorf("%s: got %v %q, %d prompts, adapter %q", body, p.Status, p.Reason, p.Prompts, p.Adapter)
		}
		return p
	}
	if p := f(KindGenerate, `{"text":"a","lora_path":"x"}`, Exact, 1, "x"); !p.Parts[0].AddSpecial {
		t.Error("text of /generate has special tokens")
	}
	f(KindGenerate, `{"text":["a","b"]}`, Exact, 2, "")
	f(KindGenerate, `{"input_ids":[[1,2],[3]]}`, Exact, 2, "")
	f(KindGenerate, `{"input_ids":[1],"image_data":"x"}`, Unknown, 1, "")
	f(KindGenerate, `{}`, Unknown, 1, "")
	f(KindCompletions, `{"model":"base:ad","prompt":"a"}`, Exact, 1, "ad")
	f(KindCompletions, `{"prompt":"a","lora_path":["x"]}`, Unknown, 1, "")
	f(KindResponses, `{"input":"a"}`, Unknown, 1, "")
	if p := f(KindCompletions, `{"prompt":"a","cache_salt":"s","extra_key":"k"}`, Exact, 1, ""); string(p.Salt) != "s\x00k\x00" {
		t.Errorf("got salt %q", p.Salt)
	}
}

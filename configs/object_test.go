package configs

import (
	"strings"
	"testing"
)

func TestObjectKeepsOrderAndNumbers(t *testing.T) {
	t.Parallel()
	f := func(text, want string) {
		t.Helper()
		c, err := Parse([]byte("pools: [{tokenizer: {path: x, default_template_kwargs: "+text+"}, replicas: [{url: http://a}]}]"), Options{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			return
		}
		got := c.Pools[0].Tokenizer.TemplateKwargs
		if string(got) != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
		back, err := Parse(c.Effective(), Options{})
		if err != nil || back.Pools[0].Tokenizer.TemplateKwargs != got {
			t.Errorf("%s: read back as %v, %v", text, back, err)
		}
	}
	f("{z: 1, a: 1.0, m: 1e22}", `{"z": 1, "a": 1.0, "m": 1e22}`)
	f("{big: 18446744073709551616}", `{"big": 18446744073709551616}`)
	f("{hex: 0x10}", `{"hex": 16}`)
	f("{a: [true, null, {b: x}], c: \"<&>\"}", `{"a": [true, null, {"b": "x"}], "c": "<&>"}`)
	f(`'{"enable_thinking": false}'`, `{"enable_thinking": false}`)
	f("{}", "")
}

func TestObjectIsBounded(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("{a: ", 40) + "1" + strings.Repeat("}", 40)
	_, err := Parse([]byte("pools: [{tokenizer: {default_template_kwargs: "+deep+"}, replicas: [{url: http://a}]}]"), Options{})
	if err == nil || !strings.Contains(err.Error(), "nested deeper") {
		t.Errorf("%v", err)
	}
}

func TestWhatIsKeyed(t *testing.T) {
	t.Parallel()
	f := func(change func(*Tokenizer), keys, text, remote bool) {
		t.Helper()
		c := DefaultTokenizer()
		change(&c)
		if c.Keys() != keys || c.TextKeys() != text || c.RemoteKeys() != remote {
			t.Errorf("%+v: keys %v, text %v, remote %v", c, c.Keys(), c.TextKeys(), c.RemoteKeys())
		}
	}
	f(func(*Tokenizer) {}, false, false, false)
	f(func(c *Tokenizer) { c.Path = "x" }, true, true, true)
	f(func(c *Tokenizer) { c.Path, c.Text, c.Remote = "x", SwitchOff, RemoteOff }, true, false, false)
	f(func(c *Tokenizer) { c.Text = SwitchOn }, true, true, true)
	f(func(c *Tokenizer) { c.Text, c.Remote = SwitchOff, RemoteAlways }, true, false, true)
}

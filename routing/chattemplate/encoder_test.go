package chattemplate

import "testing"

func TestRendererTellsItsEncoder(t *testing.T) {
	t.Parallel()
	f := func(config string, mode TokenizerMode, want string) {
		t.Helper()
		r, err := New(Sources{ModelConfig: []byte(config)}, Profile{TokenizerMode: mode})
		if err != nil {
			t.Fatal(err)
		}
		if r.Encoder() != want || r.Native() != (want != "template") {
			t.Errorf("%s: %s, native %v; want %s", config, r.Encoder(), r.Native(), want)
		}
	}
	f(`{"model_type":"qwen3"}`, ModeAuto, "template")
	f(`{"model_type":"gpt_oss"}`, ModeAuto, "harmony")
	f(`{"architectures":["DeepseekV32ForCausalLM"]}`, ModeAuto, "deepseek_v32")
	f(`{"architectures":["DeepseekV4ForCausalLM"]}`, ModeAuto, "deepseek_v4")
	f(``, ModeMistral, "other")
}

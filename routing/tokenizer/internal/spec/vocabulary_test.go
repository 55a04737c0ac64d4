package spec

import (
	"slices"
	"strconv"
	"testing"
)

func TestVocabularyFindsWhatWasAdded(t *testing.T) {
	t.Parallel()
	v := NewVocabulary(1, 1) // so that it grows
	for i := range uint32(5000) {
		if !v.Add([]byte("token "+strconv.Itoa(int(i))), 3*i) {
			t.Fatal("no room")
		}
	}
	v.Add([]byte("token 7"), 1) // the last id counts
	v.Add(nil, 2)
	v.Sort()
	for text, want := range map[string]uint32{"token 0": 0, "token 7": 1, "token 4999": 14997, "": 2} {
		id, found := v.Find([]byte(text))
		back, there := v.Text(want)
		if !found || id != want || !there || string(back) != text {
			t.Errorf("%q is %d, %v; %d is %q, %v", text, id, found, want, back, there)
		}
	}
	if _, found := v.Find([]byte("token")); found {
		t.Error("a text was found that was not added")
	}
	if _, found := v.Text(21); found {
		t.Error("an id was found that was not added")
	}
	if v.Len() != 5001 || v.Bytes() == 0 {
		t.Errorf("%d entries in %d bytes", v.Len(), v.Bytes())
	}
}

func TestVocabularyInOrderNeedsNoIndex(t *testing.T) {
	t.Parallel()
	v := NewVocabulary(4, 16)
	for i, text := range []string{"a", "b", "c"} {
		v.Add([]byte(text), uint32(i))
	}
	v.Sort()
	if text, found := v.Text(2); !found || string(text) != "c" || v.order != nil {
		t.Errorf("2 is %q, %v", text, found)
	}
	if _, found := v.Text(3); found {
		t.Error("3 was found")
	}
}

func TestClassesAreThoseOfAutoTokenizer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ modelType, hub, want string }{
		{"llama", "LlamaTokenizerFast", "LlamaTokenizer"},
		{"llama", "PreTrainedTokenizerFast", generic},
		{"llama", "", generic},
		{"qwen3", "Qwen2Tokenizer", "Qwen2Tokenizer"},
		{"qwen2", "LlamaTokenizerFast", "Qwen2Tokenizer"}, // DeepSeek-R1-Distill-Qwen
		{"qwen3_5", "Qwen2Tokenizer", "Qwen3_5Tokenizer"},
		{"deepseek_v3", "LlamaTokenizerFast", generic},
		{"mistral", "LlamaTokenizerFast", generic},
		{"mixtral", "", generic},
		{"phi3", "GPT2Tokenizer", generic},
		{"gpt_oss", "PreTrainedTokenizerFast", generic},
		{"gemma3", "GemmaTokenizerFast", "GemmaTokenizer"},
		{"gemma3", "", "GemmaTokenizer"},
		{"bert", "DistilBertTokenizer", "DistilBertTokenizer"},
		{"t5", "T5Tokenizer", "T5Tokenizer"},
		{"", "XLNetTokenizerFast", "XLNetTokenizer"},
		{"new", "NewTokenizer", generic},
	} {
		if got := classOf(c.modelType, c.hub); got != c.want {
			t.Errorf("%s with %s is %s, not %s", c.modelType, c.hub, got, c.want)
		}
	}
}

func TestConfigurationAddsTokensInOrder(t *testing.T) {
	t.Parallel()
	c, err := readConfig([]byte(`{"image_token": "<img>", "pad_token": "<pad>", "bos_token": {"__type": "AddedToken", "content": "<s>", "lstrip": true},
		"eos_token": null, "added_tokens_decoder": {"10": {"content": "ten", "special": false}, "9": {"content": "<pad>", "rstrip": true}},
		"extra_special_tokens": ["<x>", "<img>"], "additional_special_tokens": ["<y>"]}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, token := range c.batch(nil) {
		got = append(got, token.Content)
		if token.Special == (token.Content == "ten") {
			t.Errorf("%+v", token)
		}
	}
	if want := []string{"<pad>", "ten", "<s>", "<img>", "<x>"}; !slices.Equal(got, want) {
		t.Errorf("got %q, not %q", got, want)
	}
}

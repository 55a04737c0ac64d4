package tokenizer

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"
)

// A tokenizer that loads, in which the cases replace parts.
const plainTokenizer = `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,
"pre_tokenizer":null,"post_processor":null,"decoder":null,"model":{"type":"BPE","dropout":null,"unk_token":null,
"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,
"vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}}`

func TestUnknownPartsAreRefusedByName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		old, new string
		kind     error
		says     string
	}{
		{"model", `"BPE"`, `"WordLevel"`, ErrUnsupported, `model type "WordLevel"`},
		{"model without a type", `"type":"BPE",`, ``, ErrUnsupported, `model type`},
		{"model option", `"fuse_unk"`, `"shuffle"`, ErrUnsupported, `model option "shuffle"`},
		{"dropout", `"dropout":null`, `"dropout":0.1`, ErrUnsupported, `model dropout`},
		{"prefix", `"continuing_subword_prefix":null`, `"continuing_subword_prefix":"##"`, ErrUnsupported, `continuing_subword_prefix "##"`},
		{"suffix", `"end_of_word_suffix":null`, `"end_of_word_suffix":"</w>"`, ErrUnsupported, `end_of_word_suffix "</w>"`},
		{"version", `"1.0"`, `"2.0"`, ErrUnsupported, `version`},
		{"part", `"decoder"`, `"encoder"`, ErrUnsupported, `part "encoder"`},
		{"normalizer", `"normalizer":null`, `"normalizer":{"type":"Magic"}`, ErrUnsupported, `normalizer "Magic"`},
		{"normalizer option", `"normalizer":null`, `"normalizer":{"type":"NFC","form":"D"}`, ErrUnsupported, `normalizer option "form"`},
		{"normalizer expression", `"normalizer":null`, `"normalizer":{"type":"Replace","pattern":{"Regex":"a|b"},"content":""}`, ErrUnsupported, `Replace pattern "a|b"`},
		{"pre-tokenizer", `"pre_tokenizer":null`, `"pre_tokenizer":{"type":"UnicodeScripts"}`, ErrUnsupported, `pre_tokenizer "UnicodeScripts"`},
		{"expression", `"pre_tokenizer":null`, `"pre_tokenizer":{"type":"Split","pattern":{"Regex":"\\d+"},"behavior":"Isolated","invert":false}`, ErrUnsupported, `Split pattern "\\d+"`},
		{"behavior", `"pre_tokenizer":null`, `"pre_tokenizer":{"type":"Punctuation","behavior":"Doubled"}`, ErrUnsupported, `behavior "Doubled"`},
		{"scheme", `"pre_tokenizer":null`, `"pre_tokenizer":{"type":"Metaspace","replacement":"_","prepend_scheme":"last"}`, ErrUnsupported, `prepend_scheme "last"`},
		{"replacement", `"pre_tokenizer":null`, `"pre_tokenizer":{"type":"Metaspace","replacement":"__"}`, ErrInvalid, `not one character`},
		{"ByteLevel first", `"pre_tokenizer":null`, `"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"ByteLevel"},{"type":"Whitespace"}]}`, ErrUnsupported, `ByteLevel "not the last step"`},
		{"post-processor", `"post_processor":null`, `"post_processor":{"type":"Other"}`, ErrUnsupported, `post_processor "Other"`},
		{"template", `"post_processor":null`, `"post_processor":{"type":"TemplateProcessing","single":[],"pair":[],"special_tokens":{}}`, ErrUnsupported, `template`},
		{"template token", `"post_processor":null`, `"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"x","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],"pair":[],"special_tokens":{}}`, ErrInvalid, `no ids for "x"`},
		{"two templates", `"post_processor":null`, `"post_processor":{"type":"Sequence","processors":[{"type":"BertProcessing","sep":["b",1],"cls":["a",0]},{"type":"BertProcessing","sep":["b",1],"cls":["a",0]}]}`, ErrUnsupported, `two steps`},
		{"merge of three", `"a b"`, `"a b c"`, ErrInvalid, `two parts`},
		{"merge of a stranger", `"a b"`, `"a c"`, ErrInvalid, `not all three`},
		{"unknown token", `"unk_token":null`, `"unk_token":"<unk>"`, ErrInvalid, `unk_token "<unk>"`},
		{"equal added tokens", `"added_tokens":[]`, `"added_tokens":[{"id":3,"content":"X","normalized":true},{"id":4,"content":"x","normalized":true}],"normalizer":{"type":"Lowercase"},"x":null`, ErrUnsupported, `part "x"`},
		{"trailing comma", `"a b"`, `"a b",`, ErrInvalid, `comma`},
		{"no model", `"model"`, `"decoder"`, ErrInvalid, `no model`},
		{"more behind", `["a b"]}}`, `["a b"]}} x`, ErrInvalid, `after the end`},
		{"id", `"b":1`, `"b":-1`, ErrInvalid, `expected an id`},
		{"same id twice", `"b":1`, `"b":0`, ErrInvalid, `model BPE`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			data := strings.Replace(plainTokenizer, c.old, c.new, 1)
			_, err := Load(fstest.MapFS{"tokenizer.json": {Data: []byte(data)}}, Options{})
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, not %v about %q", err, c.kind, c.says)
			}
		})
	}
	if _, err := Load(fstest.MapFS{"tokenizer.json": {Data: []byte(plainTokenizer)}}, Options{}); err != nil {
		t.Error(err)
	}
}

func TestFoldersAreRefused(t *testing.T) {
	t.Parallel()
	f := func(says string, files map[string]string) {
		t.Helper()
		folder := fstest.MapFS{}
		for name, data := range files {
			folder[name] = &fstest.MapFile{Data: []byte(data)}
		}
		_, err := Load(folder, Options{})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, not %q", err, says)
		}
	}
	f("no tokenizer.json", nil)
	f(`tokenizer_class "T5Tokenizer"`, map[string]string{"tokenizer.json": plainTokenizer, "config.json": `{"model_type": "t5"}`})
	f(`tokenizer_class "CodeLlamaTokenizer"`, map[string]string{"tokenizer.json": plainTokenizer, "config.json": `{"model_type": "llama", "tokenizer_class": "CodeLlamaTokenizerFast"}`})
	f(`tokenizer_class with a tiktoken file "QWenTokenizer"`, map[string]string{"qwen.tiktoken": "IQ== 0", "tokenizer_config.json": `{"tokenizer_class": "QWenTokenizer"}`})
	f("line 2", map[string]string{"tiktoken.model": "IQ== 0\nIg==\n"})
	f("byte 0x00: it has no token", map[string]string{"tiktoken.model": "IQ== 0\n"})
	f("rank 1", map[string]string{"tekken.json": `{"vocab": [{"rank": 1, "token_bytes": "IQ==", "token_str": null}]}`})
	f("cannot read tokenizer_config.json", map[string]string{"tokenizer.json": plainTokenizer, "tokenizer_config.json": `[]`})
	f(`option "fix_mistral_regex"`, map[string]string{"tokenizer.json": plainTokenizer, "tokenizer_config.json": `{"fix_mistral_regex": true}`})
	f("cannot read config.json", map[string]string{"tokenizer.json": plainTokenizer, "config.json": `[]`})
}

func TestTextThatIsNotUTF8IsRefused(t *testing.T) {
	t.Parallel()
	e := loadTiny(t, "cl100k").NewEncoder()
	ids, err := e.Append([]uint32{7}, []byte("a\xff"), AddSpecial)
	if !errors.Is(err, ErrText) || len(ids) != 1 {
		t.Errorf("got %v, %v", ids, err)
	}
}

func TestEncodingEndsOnceItHasExpired(t *testing.T) {
	t.Parallel()
	for _, name := range tiny(t) {
		if name == "bytes_whole" || name == "split_removed_invert" {
			continue // one piece, and none at all
		}
		e := loadTiny(t, name).NewEncoder()
		asked := 0
		e.Expired = func() bool { asked++; return asked > 2 }
		text := []byte(strings.Repeat("hello there, ", 5000))
		ids, err := e.Append([]uint32{7}, text, 0)
		if !errors.Is(err, ErrExpired) || len(ids) != 1 {
			t.Errorf("%s: got %d ids, %v after %d questions", name, len(ids), err, asked)
		}
		e.Expired = nil
		if _, err := e.Append(nil, text, 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

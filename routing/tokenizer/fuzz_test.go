package tokenizer

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// readTiny is a file of a folder of testdata/tiny.
func readTiny(f testing.TB, name, file string) []byte {
	f.Helper()
	data, err := os.ReadFile("testdata/tiny/" + name + "/" + file)
	if err != nil {
		f.Fatal(err)
	}
	return data
}

// checkLoad loads a folder, and encodes with what comes of it: whatever the files say,
// there is an error that says which kind it is, or a model that works.
func checkLoad(t *testing.T, files fstest.MapFS) {
	t.Helper()
	m, err := Load(files, Options{})
	if err != nil {
		if !errors.Is(err, ErrUnsupported) && !errors.Is(err, ErrInvalid) {
			t.Errorf("neither unsupported nor invalid: %v", err)
		}
		return
	}
	e := m.NewEncoder()
	for _, text := range selfTexts() {
		cold, err := e.Append(nil, []byte(text), AddSpecial)
		warm, again := e.Append(nil, []byte(text), AddSpecial)
		if err != nil || again != nil || !slices.Equal(cold, warm) {
			t.Errorf("%q gives %v, %v and then %v, %v", text, cold, err, warm, again)
		}
	}
}

func FuzzLoadTokenizerJSON(f *testing.F) {
	// Small seeds: Go shrinks what it finds interesting, which takes its time with large
	// ones.
	f.Add([]byte(plainTokenizer))
	for part, values := range map[string][]string{
		`"normalizer":null`: {
			`"normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"b"},{"type":"Replace","pattern":{"String":" "},"content":"_"}]}`,
			`"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true}`,
			`"normalizer":{"type":"Precompiled","precompiled_charsmap":"BAAAAAAEAABhAGIA"}`,
		},
		`"pre_tokenizer":null`: {
			`"pre_tokenizer":{"type":"Metaspace","replacement":"_","prepend_scheme":"first","split":true}`,
			`"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"String":"a"},"behavior":"MergedWithNext","invert":true},{"type":"Digits","individual_digits":false}]}`,
			`"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}`,
		},
		`"post_processor":null`: {
			`"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"a","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],"pair":[],"special_tokens":{"a":{"id":"a","ids":[0],"tokens":["a"]}}}`,
			`"post_processor":{"type":"RobertaProcessing","sep":["b",1],"cls":["a",0],"trim_offsets":true,"add_prefix_space":true}`,
		},
		`"added_tokens":[]`: {
			`"added_tokens":[{"id":3,"content":"<x>","single_word":true,"lstrip":true,"rstrip":true,"normalized":false,"special":true},{"id":4,"content":"ba","normalized":true}]`,
		},
		plainTokenizer[strings.Index(plainTokenizer, `"model"`):]: {
			`"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0.0],["a",-1.25],["ab",-2e-1],["<0x61>",-3]],"byte_fallback":true}}`,
			`"model":{"type":"WordPiece","unk_token":"x","continuing_subword_prefix":"##","max_input_chars_per_word":10,"vocab":{"x":0,"a":1,"##b":2}}}`,
			`"model":{"merges":[["a","b"]],"type":"BPE","vocab":{"\u0061":0,"b":1,"ab":2}}}`,
		},
	} {
		for _, value := range values {
			f.Add([]byte(strings.Replace(plainTokenizer, part, value, 1)))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		checkLoad(t, fstest.MapFS{"tokenizer.json": {Data: data}})
	})
}

func FuzzLoadConfig(f *testing.F) {
	for _, name := range []string{"auto_generic", "auto_llama", "auto_qwen2", "auto_cohere", "auto_roberta"} {
		f.Add(readTiny(f, name, "tokenizer_config.json"), readTiny(f, name, "config.json"), []byte(`{"bos_token": "<x>"}`))
	}
	tokenizer := []byte(plainTokenizer)
	f.Fuzz(func(t *testing.T, config, model, special []byte) {
		checkLoad(t, fstest.MapFS{
			"tokenizer.json": {Data: tokenizer}, "tokenizer_config.json": {Data: config},
			"config.json": {Data: model}, "special_tokens_map.json": {Data: special},
		})
	})
}

func FuzzLoadTiktoken(f *testing.F) {
	f.Add([]byte("IQ== 0\nIg== 1\n"), readTiny(f, "kimi", "tokenizer_config.json"))
	f.Add(readTiny(f, "kimi", "tiktoken.model"), []byte(`{"extra_special_tokens": ["<|x|>"]}`))
	f.Fuzz(func(t *testing.T, data, config []byte) {
		checkLoad(t, fstest.MapFS{"tiktoken.model": {Data: data}, "tokenizer_config.json": {Data: config}})
	})
}

func FuzzLoadTekken(f *testing.F) {
	f.Add([]byte(`{"config": {"pattern": "x", "default_vocab_size": 3, "default_num_special_tokens": 2, "version": "v7"},
		"vocab": [{"rank": 0, "token_bytes": "AA==", "token_str": null}], "special_tokens": [{"rank": 0, "token_str": "<s>", "is_control": true}]}`))
	f.Add(readTiny(f, "tekken", "tekken.json"))
	f.Fuzz(func(t *testing.T, data []byte) {
		checkLoad(t, fstest.MapFS{"tekken.json": {Data: data}})
	})
}

// FuzzAppend compares cold caches with warm ones, and a text with its parts.
func FuzzAppend(f *testing.F) {
	names := []string{"cl100k", "qwen2", "deepseek", "gpt2_prefix", "lowercase", "llama2", "gemma", "metaspace_first", "unigram", "wordpiece", "kimi", "sequence"}
	models := make([]*Model, 0, len(names))
	warm := make([]*Encoder, 0, len(names))
	for i, name := range names {
		if name == "sequence" {
			name = "normalize_sequence"
		}
		models = append(models, loadTiny(f, name))
		warm = append(warm, models[i].NewEncoder())
		for _, c := range goldenCases(f, name)[:20] {
			f.Add(i, []byte(c.text), uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, which int, text []byte, mode uint8) {
		at := int(uint(which) % uint(len(models)))
		m := Mode(mode) & (AddSpecial | PlainText | Continuation | Unfinished)
		cold, err := models[at].NewEncoder().Append(nil, text, m)
		ids, again := warm[at].Append(nil, text, m)
		if !errors.Is(again, err) || !slices.Equal(cold, ids) {
			t.Fatalf("%q gives %v, %v cold and %v, %v warm", text, cold, err, ids, again)
		}
		if err == nil {
			checkCuts(t, warm[at], string(text), m&AddSpecial)
		}
	})
}

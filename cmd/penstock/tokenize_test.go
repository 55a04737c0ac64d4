package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tinyTokenizer is a byte-level tokenizer of 269 tokens with a BOS and ChatML.
const tinyTokenizer = "../../routing/keying/testdata/tiny"

// The ids below are those of the tokenizers library, version 0.23, for the same files.
func TestTokenizePrintsTheIDs(t *testing.T) {
	t.Parallel()
	f := func(args, stdin, want string) {
		t.Helper()
		var out, errs strings.Builder
		code := runTokenize(append(strings.Fields(args), "--tokenizer", tinyTokenizer), strings.NewReader(stdin), &out, &errs)
		if code != exitDone || out.String() != want || errs.String() != "" {
			t.Errorf("%s: code %d, %q, %q", args, code, out.String(), errs.String())
		}
	}
	f("", "hello the water", "266 256 257 111 259 264\n")
	f("--special off", "hello the water", "256 257 111 259 264\n")
	f("--special=off", "hello the water\n", "256 257 111 259 264 10\n")
	f("--special off", "", "\n")
	f("--special off --count", "hello the water", "5\n")
	f("--special off --unicode 14", "\xc3\xa9<|im_end|>", "195 169 268\n")
	const chat = `{"model":"m","messages":[{"role":"user","content":"hello the water"}]}`
	const ids = "267 117 115 261 10 256 257 111 259 264 268 10 267 97 115 115 105 115 116 97 110 116 10\n"
	f("--chat", chat, ids)
	f("--chat --count", chat, "23\n")
	f("--api chat", chat, ids)
	f("--api completions", `{"prompt":"hello the water"}`, "266 256 257 111 259 264\n")
	f("--api responses", `{"input":"hello the water"}`, "266 "+ids) // vLLM adds the BOS there
	f("--api messages", `{"max_tokens":1,"messages":[{"role":"user","content":"hello the water"}]}`, ids)
	const parts = `{"messages":[{"role":"user","content":[{"type":"text","text":"hello the water"}]}]}`
	f("--api chat --content-format string --tool-projection sglang --mode hf --tool-call-parser hermes --reasoning-parser qwen3 --harmony-date 2026-01-31", parts, ids)
}

func TestTokenizePrintsJSON(t *testing.T) {
	t.Parallel()
	var out, errs strings.Builder
	if code := runTokenize([]string{"--json", "--tokenizer", filepath.Join(tinyTokenizer, "tokenizer.json")}, strings.NewReader("he"), &out, &errs); code != exitDone {
		t.Fatal(code, errs.String())
	}
	var got tokenizeResult
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err)
	}
	if got.Count != 2 || got.IDs[1] != 256 || got.Status != "exact" || got.Vocabulary != 269 || len(got.Digest) != 64 {
		t.Errorf("%+v", got)
	}
}

func TestTokenizeTakesATemplate(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "t.jinja")
	if err := os.WriteFile(file, []byte("{{ bos_token }}{% for m in messages %}{{ m.content }}{{ x }}{% endfor %}"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs strings.Builder
	args := []string{"--chat", "--tokenizer", tinyTokenizer, "--template", file, "--kwargs", `{"x": "ll"}`}
	if code := runTokenize(args, strings.NewReader(`{"messages":[{"role":"user","content":"he"}]}`), &out, &errs); code != exitDone || out.String() != "266 256 257\n" {
		t.Errorf("code %d, %q, %q", code, out.String(), errs.String())
	}
}

func TestTokenizeFailsInWords(t *testing.T) {
	t.Parallel()
	f := func(code int, args, stdin, want string) {
		t.Helper()
		var out, errs strings.Builder
		if got := runTokenize(strings.Fields(args), strings.NewReader(stdin), &out, &errs); got != code || out.String() != "" || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: code %d, %q, %q", args, got, out.String(), errs.String())
		}
	}
	f(exitUsage, "", "", "--tokenizer PATH is needed")
	f(exitUsage, "--tokenizer x y", "", `unexpected argument "y"`)
	f(exitUsage, "--tokenizer x --unicode 15", "", "neither 16 nor 14")
	f(exitUsage, "--tokenizer x --special maybe", "", "neither on nor off")
	f(exitUsage, "--tokenizer x --engine llama", "", "neither vllm nor sglang")
	f(exitUsage, "--tokenizer x --timezone Mars", "", "not known")
	f(exitUsage, "--tokenizer x --api generate", "", "--api \"generate\" is none of")
	f(exitUsage, "--tokenizer x --content-format list", "", "--content-format")
	f(exitUsage, "--tokenizer x --tool-projection all", "", "--tool-projection")
	f(exitUsage, "--tokenizer x --mode slow", "", "--mode")
	f(exitUsage, "--tokenizer x --harmony-date today", "", "is no date")
	f(exitFailed, "--chat --mode mistral --tokenizer "+tinyTokenizer, `{"messages":[{"role":"user","content":"x"}]}`, "encoder")
	f(exitUsage, "--nonsense", "", "not defined")
	f(exitFailed, "--tokenizer testdata/absent", "", "cannot read tokenizer")
	f(exitFailed, "--tokenizer .", "", "cannot use tokenizer")
	f(exitFailed, "--tokenizer "+tinyTokenizer, "\xff", "cannot tokenize")
	f(exitFailed, "--tokenizer "+tinyTokenizer+" --chat", "{", "cannot read JSON body")
	f(exitFailed, "--tokenizer "+tinyTokenizer+" --chat", `{"messages":[{"role":"user","content":"x"}],"chat_template":"y"}`, "cannot tell the engine's prompt")
	f(exitFailed, "--tokenizer "+tinyTokenizer+" --chat --template testdata/absent", `{"messages":[]}`, "cannot read chat template")
	f(exitFailed, "--tokenizer "+tinyTokenizer+" --chat --kwargs [", `{"messages":[]}`, "cannot use the model's files")
}

// TestTokenizeSaysWhereThePromptEnds: what the gateway can tell of it is printed.
func TestTokenizeSaysWhereThePromptEnds(t *testing.T) {
	t.Parallel()
	var out, errs strings.Builder
	body := `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:"}}]}]}`
	code := runTokenize([]string{"--chat", "--tokenizer", tinyTokenizer}, strings.NewReader(body), &out, &errs)
	if code != exitDone || out.String() != "267 117 115 261 10\n" || !strings.Contains(errs.String(), "goes on differently: multimodal") {
		t.Errorf("code %d, %q, %q", code, out.String(), errs.String())
	}
}

func TestTokenizeIsACommand(t *testing.T) {
	t.Parallel()
	var out, errs strings.Builder
	if code := run(t.Context(), []string{"tokenize", "--help"}, noEnv, &out, &errs); code != exitDone || !strings.HasPrefix(out.String(), "usage: penstock tokenize") {
		t.Errorf("code %d, %q", code, out.String())
	}
	if code := run(t.Context(), []string{"tokenize"}, noEnv, &out, &errs); code != exitUsage {
		t.Error(code)
	}
}

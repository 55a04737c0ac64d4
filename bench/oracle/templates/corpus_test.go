package templates

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"penstock/routing/chattemplate/jinja"
)

// now is what strftime_now tells; oracle.py has the same.
var now = time.Date(2026, time.March, 14, 9, 5, 7, 0, time.UTC)

// template is one entry of the corpus.
type template struct {
	Name   string
	Family string
	Source string
	Tokens json.RawMessage // special tokens, as variables

	text     string
	compiled *jinja.Template
	err      error // of compiling
}

// answer is what Jinja2 made of a template and a case.
type answer struct {
	Template string
	Case     string
	Vars     string // in mutations: the variables as JSON
	Text     *string
	Error    string
}

// cacheDir is the folder that the set-up scripts write below.
func cacheDir() string {
	if dir := os.Getenv("PENSTOCK_CACHE"); dir != "" {
		return dir
	}
	return filepath.Join("..", "..", "..", ".cache")
}

func corpusDir() string { return filepath.Join(cacheDir(), "oracle", "templates") }

// needCorpus skips a test where setup.sh has not been run.
func needCorpus(t testing.TB) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(corpusDir(), "expected.jsonl")); errors.Is(err, fs.ErrNotExist) {
		t.Skip("the chat templates are not installed: run bench/oracle/templates/setup.sh")
	}
}

// loadCorpus reads and compiles the corpus.
func loadCorpus(t testing.TB) map[string]*template {
	t.Helper()
	needCorpus(t)
	var entries []*template
	decode(t, read(t, filepath.Join(corpusDir(), "index.json")), &entries)
	corpus := make(map[string]*template, len(entries))
	for _, e := range entries {
		e.text = string(read(t, filepath.Join(corpusDir(), e.Name+".jinja")))
		e.compiled, e.err = jinja.Compile(e.text)
		corpus[e.Name] = e
	}
	return corpus
}

// loadCases reads the variables of the cases in some folders, as JSON, by name.
func loadCases(t testing.TB, folders ...string) map[string][]byte {
	t.Helper()
	cases := map[string][]byte{}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no cases in %s: %v", folder, err)
		}
		for _, f := range files {
			cases[strings.TrimSuffix(filepath.Base(f), ".json")] = read(t, f)
		}
	}
	return cases
}

// eachAnswer calls do with the answers in a file of JSON lines.
func eachAnswer(t testing.TB, lines *bufio.Reader, do func(*answer)) {
	t.Helper()
	decoder := json.NewDecoder(lines)
	for decoder.More() {
		var a answer
		if err := decoder.Decode(&a); err != nil {
			t.Fatalf("cannot read an answer: %v", err)
		}
		do(&a)
	}
}

// variables is the JSON object that a template is rendered with: the defaults that
// transformers passes, the special tokens, then the case.
func variables(tokens json.RawMessage, vars []byte) []byte {
	joined := []byte(`{"tools":null,"documents":null,"add_generation_prompt":true`)
	for _, object := range [][]byte{tokens, vars} {
		inner := bytes.TrimSpace(object)
		if len(inner) < 2 {
			continue
		}
		if inner = bytes.TrimSpace(inner[1 : len(inner)-1]); len(inner) > 0 {
			joined = append(append(joined, ','), inner...)
		}
	}
	return append(joined, '}')
}

// render parses the variables and renders with them.
func render(env *jinja.Env, t *jinja.Template, vars []byte) ([]byte, error) {
	env.Memory.Reset()
	parsed, err := env.Memory.Parse(vars)
	if err != nil {
		return nil, fmt.Errorf("cannot parse the variables: %w", err)
	}
	return env.Render(nil, t, parsed)
}

func newEnv() *jinja.Env { return &jinja.Env{Now: now} }

// firstDifference shows where two texts part, with what is around it.
func firstDifference(got, want string) string {
	at := 0
	for at < len(got) && at < len(want) && got[at] == want[at] {
		at++
	}
	return fmt.Sprintf("byte %d of %d, wanted %d\n\tgot  …%q\n\twant …%q", at, len(got), len(want), around(got, at), around(want, at))
}

func around(text string, at int) string {
	return text[max(0, at-60):min(len(text), at+60)]
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func decode(t testing.TB, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

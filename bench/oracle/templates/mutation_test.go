package templates

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// defaultMutations per template, so that the test takes seconds; the environment
// variable PENSTOCK_MUTATIONS asks for more, PENSTOCK_SEED for others.
const defaultMutations = 3

// TestMutations renders cases with random changes, which reach branches and errors
// that no sensible request does. Renderings that differ are written to differences.jsonl
// beside the corpus.
func TestMutations(t *testing.T) {
	t.Parallel()
	corpus := loadCorpus(t)
	count, seed := strconv.Itoa(defaultMutations), "1"
	if n := os.Getenv("PENSTOCK_MUTATIONS"); n != "" {
		count = n
	}
	if s := os.Getenv("PENSTOCK_SEED"); s != "" {
		seed = s
	}
	file, err := os.Create(filepath.Join(corpusDir(), "differences.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	env, counts, report, differences := newEnv(), newTally(), newReport(), json.NewEncoder(file)
	askOracle(t, []string{"oracle.py", "mutate", corpusDir(), "cases", count, seed}, func(a *answer) {
		entry := corpus[a.Template]
		if entry == nil {
			t.Fatalf("%s is not in the corpus; run setup.sh", a.Template)
		}
		o, what := compare(env, entry, a, variables(entry.Tokens, []byte(a.Vars)))
		counts.add(entry, o)
		report.add(o, a, what)
		if o == differing || o == cannot || o == lacking || o == doesNotRaise {
			if err := differences.Encode(map[string]any{"answer": a, "what": what}); err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Logf("seed %s\n%s", seed, counts)
	report.log(t, otherError, "other errors")
	report.log(t, doesNotRaise, "do not raise")
	report.fail(t, differing, "differ")
	report.fail(t, cannot, "cannot be rendered")
	report.fail(t, lacking, "lack something")
}

// askOracle runs a script of the oracle and calls do with its answers.
func askOracle(t *testing.T, arguments []string, do func(*answer)) {
	t.Helper()
	python := filepath.Join(cacheDir(), "oracle", "templates-src", "venv", "bin", "python")
	command := exec.CommandContext(t.Context(), python, arguments...)
	command.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	eachAnswer(t, bufio.NewReaderSize(output, 1<<20), do)
	if err := command.Wait(); err != nil {
		t.Errorf("%s: %v", arguments[0], err)
	}
}

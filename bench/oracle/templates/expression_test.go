package templates

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"penstock/routing/chattemplate/jinja"
)

// defaultExpressions is how many random templates are made; the environment variable
// PENSTOCK_EXPRESSIONS asks for more, PENSTOCK_SEED for others.
const defaultExpressions = 2000

// TestExpressions renders small random templates, which reach corners of the language
// that the corpus does not.
func TestExpressions(t *testing.T) {
	t.Parallel()
	needCorpus(t)
	count, seed := strconv.Itoa(defaultExpressions), "1"
	if n := os.Getenv("PENSTOCK_EXPRESSIONS"); n != "" {
		count = n
	}
	if s := os.Getenv("PENSTOCK_SEED"); s != "" {
		seed = s
	}
	env, counts, report := newEnv(), newTally(), newReport()
	refusals := map[string]int{}
	var vars string
	askOracle(t, []string{"expressions.py", count, seed}, func(a *answer) {
		if a.Vars != "" {
			vars = a.Vars
		}
		entry := &template{Name: a.Template, Family: "expressions"}
		entry.compiled, entry.err = jinja.Compile(a.Template)
		o, what := compare(env, entry, a, variables(nil, []byte(vars)))
		switch o {
		case refused:
			refusals[unnumbered(entry.err.Error())]++
		case lacking:
			refusals[unnumbered(what)]++
			what = ""
		default:
		}
		counts.add(entry, o)
		report.add(o, a, what)
	})
	t.Logf("seed %s\n%s", seed, counts)
	for _, what := range sortedKeys(refusals) {
		t.Logf("refused %d times: %s", refusals[what], what)
	}
	report.log(t, otherError, "other errors")
	report.log(t, doesNotRaise, "do not raise")
	report.fail(t, differing, "differ")
	report.fail(t, cannot, "cannot be rendered")
}

// unnumbered is an error without the line that it names.
func unnumbered(text string) string {
	return lineNumber.ReplaceAllString(text, "")
}

var lineNumber = regexp.MustCompile(`line \d+: `)

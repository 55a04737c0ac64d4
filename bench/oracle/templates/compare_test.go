package templates

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"penstock/routing/chattemplate/jinja"
)

// shown is how many of each kind of difference a run prints.
const shown = 25

// outcome of one rendering, ours against Jinja2's.
type outcome int

const (
	exact        outcome = iota // the same text
	refused                     // not supported, said when compiling
	differing                   // another text
	cannot                      // Jinja2 renders it, we end with an error
	lacking                     // the same, with an error that names what is not supported
	raised                      // both raise
	otherError                  // Jinja2 raises, we end with another error
	doesNotRaise                // Jinja2 raises, we render
	outcomes
)

// tally counts outcomes by family.
type tally struct {
	templates map[string]map[string]bool
	counts    map[string]*[outcomes]int
	refusals  map[string]string // template: error
}

func newTally() *tally {
	return &tally{map[string]map[string]bool{}, map[string]*[outcomes]int{}, map[string]string{}}
}

func (y *tally) add(t *template, o outcome) {
	if y.counts[t.Family] == nil {
		y.counts[t.Family], y.templates[t.Family] = &[outcomes]int{}, map[string]bool{}
	}
	y.counts[t.Family][o]++
	y.templates[t.Family][t.Name] = true
	if o == refused {
		y.refusals[t.Name] = t.err.Error()
	}
}

func (y *tally) total(o outcome) int {
	sum := 0
	for _, c := range y.counts {
		sum += c[o]
	}
	return sum
}

// String is the table of families.
func (y *tally) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "family\ttemplates\tcases\texact\trefused\tdiffering\tcannot\tlacking\tboth raise\tother error\tdoes not raise\t")
	row := func(name string, templates int, c *[outcomes]int) {
		sum := 0
		for _, n := range c {
			sum += n
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", name, templates, sum,
			c[exact], c[refused], c[differing], c[cannot], c[lacking], c[raised], c[otherError], c[doesNotRaise])
	}
	var all [outcomes]int
	count := 0
	for _, family := range sortedKeys(y.counts) {
		row(family, len(y.templates[family]), y.counts[family])
		count += len(y.templates[family])
		for o, n := range y.counts[family] {
			all[o] += n
		}
	}
	row("all", count, &all)
	if err := w.Flush(); err != nil {
		return err.Error()
	}
	return b.String()
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// compare renders one case and says how it went, with a description of what is wrong.
func compare(env *jinja.Env, t *template, a *answer, vars []byte) (outcome, string) {
	if t.err != nil {
		switch {
		case errors.Is(t.err, jinja.ErrUnsupported):
			return refused, ""
		case a.Text == nil:
			return otherError, ""
		}
		return cannot, fmt.Sprintf("does not compile: %v", t.err)
	}
	got, err := render(env, t.compiled, vars)
	switch {
	case errors.Is(err, jinja.ErrUnsupported) && a.Text != nil:
		return lacking, err.Error()
	case err != nil && a.Text != nil:
		return cannot, err.Error()
	case errors.Is(err, jinja.ErrRaised):
		return raised, ""
	case err != nil:
		return otherError, fmt.Sprintf("%v, where Jinja2 says %s", err, a.Error)
	case a.Text == nil:
		return doesNotRaise, fmt.Sprintf("rendered, where Jinja2 says %s", a.Error)
	case string(got) != *a.Text:
		return differing, firstDifference(string(got), *a.Text)
	}
	return exact, ""
}

// TestTemplates renders every template with every case as Jinja2 does, or refuses the
// template by the name of what it lacks.
func TestTemplates(t *testing.T) {
	t.Parallel()
	corpus, cases := loadCorpus(t), loadCases(t, "cases", filepath.Join(corpusDir(), "requests"))
	file, err := os.Open(filepath.Join(corpusDir(), "expected.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	env, counts, report, answers := newEnv(), newTally(), newReport(), 0
	eachAnswer(t, bufio.NewReader(file), func(a *answer) {
		answers++
		entry, vars := corpus[a.Template], cases[a.Case]
		if entry == nil || vars == nil {
			t.Fatalf("%s with %s: the answers are of another corpus; run setup.sh", a.Template, a.Case)
		}
		o, what := compare(env, entry, a, variables(entry.Tokens, vars))
		counts.add(entry, o)
		report.add(o, a, what)
	})
	if len(corpus) < 140 || len(cases) < 16 {
		t.Errorf("%d templates with %d cases, want at least 140 with 16", len(corpus), len(cases))
	}
	if want := len(corpus) * len(cases); answers != want {
		t.Errorf("%d answers to %d combinations; run setup.sh", answers, want)
	}
	t.Logf("\n%s", counts)
	counts.logRefusals(t)
	report.log(t, otherError, "other errors")
	report.fail(t, doesNotRaise, "do not raise")
	report.fail(t, differing, "differ")
	report.fail(t, cannot, "cannot be rendered")
	report.fail(t, lacking, "lack something")
}

func (y *tally) logRefusals(t *testing.T) {
	t.Helper()
	for _, name := range sortedKeys(y.refusals) {
		t.Logf("refused: %s: %s", name, y.refusals[name])
	}
}

// report keeps what was wrong, by outcome.
type report struct {
	lines [outcomes][]string
}

func newReport() *report { return &report{} }

func (r *report) add(o outcome, a *answer, what string) {
	if what != "" {
		r.lines[o] = append(r.lines[o], fmt.Sprintf("%s with %s: %s", a.Template, a.Case, what))
	}
}

func (r *report) log(t *testing.T, o outcome, title string) {
	t.Helper()
	if len(r.lines[o]) > 0 {
		t.Logf("%d %s:\n%s", len(r.lines[o]), title, strings.Join(r.lines[o][:min(shown, len(r.lines[o]))], "\n"))
	}
}

func (r *report) fail(t *testing.T, o outcome, title string) {
	t.Helper()
	r.log(t, o, title)
	if len(r.lines[o]) > 0 {
		t.Errorf("%d %s", len(r.lines[o]), title)
	}
}

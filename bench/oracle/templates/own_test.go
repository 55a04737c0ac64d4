package templates

import (
	"bufio"
	"bytes"
	"path/filepath"
	"testing"

	"penstock/routing/chattemplate/jinja"
)

// TestOwnTemplates compares templates written for this test, which imitate what real
// ones do, with what Jinja2 makes of them. It needs nothing installed.
func TestOwnTemplates(t *testing.T) {
	t.Parallel()
	var entries []*template
	decode(t, read(t, filepath.Join("testdata", "index.json")), &entries)
	own := map[string]*template{}
	for _, e := range entries {
		e.compiled, e.err = jinja.Compile(string(read(t, filepath.Join("testdata", e.Name+".jinja"))))
		own[e.Name] = e
	}
	cases, env, counts, report := loadCases(t, "cases"), newEnv(), newTally(), newReport()
	answers := bufio.NewReader(bytes.NewReader(read(t, filepath.Join("testdata", "expected.jsonl"))))
	eachAnswer(t, answers, func(a *answer) {
		entry := own[a.Template]
		if entry == nil || cases[a.Case] == nil {
			t.Fatalf("%s with %s is not here: run oracle.py golden testdata cases", a.Template, a.Case)
		}
		o, what := compare(env, entry, a, variables(entry.Tokens, cases[a.Case]))
		counts.add(entry, o)
		report.add(o, a, what)
	})
	if counts.total(exact) == 0 {
		t.Error("nothing was rendered")
	}
	counts.logRefusals(t)
	report.fail(t, otherError, "other errors")
	report.fail(t, doesNotRaise, "do not raise")
	report.fail(t, differing, "differ")
	report.fail(t, cannot, "cannot be rendered")
	report.fail(t, lacking, "lack something")
	if n := counts.total(refused); n > 0 {
		t.Errorf("%d renderings refused", n)
	}
}

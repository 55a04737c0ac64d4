package jinja

import (
	"encoding/json"
	"errors"
	"os"
	"testing"
)

// goldenCase is what Jinja2 makes of a snippet; testdata/gen.py writes them.
type goldenCase struct {
	Source string  `json:"source"`
	Want   *string `json:"want"`
	Fails  string  `json:"fails"` // syntax or raises
	Why    string  `json:"why"`
}

func readGolden(t testing.TB) (cases []goldenCase, vars []byte) {
	t.Helper()
	text, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	if vars, err = os.ReadFile("testdata/vars.json"); err != nil {
		t.Fatal(err)
	}
	return cases, vars
}

// render compiles and renders a source with the variables in a JSON text.
func render(source string, vars []byte, limits Limits) (string, error) {
	tpl, err := Compile(source)
	if err != nil {
		return "", err
	}
	env := Env{Limits: limits}
	v, err := env.Memory.Parse(vars)
	if err != nil {
		return "", err
	}
	out, err := env.Render(nil, tpl, v)
	return string(out), err
}

func TestRendersAsJinja2Does(t *testing.T) {
	t.Parallel()
	cases, vars := readGolden(t)
	refused := 0
	for _, c := range cases {
		got, err := render(c.Source, vars, Limits{})
		switch {
		case errors.Is(err, ErrUnsupported) || errors.Is(err, ErrLimit):
			refused++
			if c.Want != nil {
				t.Logf("%q: %v", c.Source, err)
			}
		case c.Want != nil && err != nil:
			t.Errorf("%q: %v, want %q", c.Source, err, *c.Want)
		case c.Want != nil && got != *c.Want:
			t.Errorf("%q:\ngot  %q\nwant %q", c.Source, got, *c.Want)
		case c.Fails == "syntax" && !errors.Is(err, ErrSyntax) && !errors.Is(err, ErrRaised):
			t.Errorf("%q: %q, %v, want a syntax error: %s", c.Source, got, err, c.Why)
		case c.Fails == "raises" && !errors.Is(err, ErrRaised):
			t.Errorf("%q: %q, %v, want an error: %s", c.Source, got, err, c.Why)
		}
	}
	t.Logf("%d of %d refused", refused, len(cases))
}

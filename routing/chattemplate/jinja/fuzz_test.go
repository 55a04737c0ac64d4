package jinja

import (
	"errors"
	"testing"
	"unicode/utf8"
)

// FuzzCompile holds that a source compiles to something that renders within its
// limits, or is refused by one of the known errors.
func FuzzCompile(f *testing.F) {
	cases, vars := readGolden(f)
	for _, c := range cases {
		f.Add(c.Source)
	}
	for _, source := range chatTemplates {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if !utf8.ValidString(source) {
			return
		}
		checkBounded(t, source, vars)
	})
}

// FuzzRender holds the same for the values that a client sends.
func FuzzRender(f *testing.F) {
	_, vars := readGolden(f)
	f.Add(vars)
	f.Add(chatVars(3, 100))
	f.Add([]byte(`{"messages":[{"role":1,"content":{"a":[null,1e400,-0.0,"\u0000"]}}],"tools":"x"}`))
	f.Fuzz(func(t *testing.T, vars []byte) {
		if !utf8.Valid(vars) {
			return
		}
		for _, source := range chatTemplates {
			checkBounded(t, source, vars)
		}
		checkBounded(t, `{% macro show(v) %}{% if v is mapping %}{% for k, w in v | dictsort %}{{ k }}{{ show(w) }}{% endfor %}{% elif v is string %}{{ v | trim | upper }}{% elif v is iterable %}{% for w in v %}{{ show(w) }}{% endfor %}{% else %}{{ v + 1 }}{% endif %}{% endmacro %}{{ messages }}{{ messages | tojson(indent=1) }}{{ show(messages) }}`, vars)
	})
}

func checkBounded(t *testing.T, source string, vars []byte) {
	t.Helper()
	limits := Limits{Depth: 100, Steps: 300_000, Output: 1 << 20}
	text, err := render(source, vars, limits)
	if err == nil && (len(text) > limits.Output || !utf8.ValidString(text)) {
		t.Errorf("%q gives %d bytes, valid %v", source, len(text), utf8.ValidString(text))
	}
	if err != nil && !known(err) {
		t.Errorf("%q: %v", source, err)
	}
}

// known reports whether an error is of those that the packages name.
func known(err error) bool {
	for _, sentinel := range append([]error{ErrSyntax, ErrUnsupported, ErrRaised, ErrLimit}, jsonErrors...) {
		if errors.Is(err, sentinel) {
			return true
		}
	}
	return false
}

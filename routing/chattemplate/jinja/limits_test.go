package jinja

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"penstock/routing/chattemplate/value"
)

// small are limits that a test reaches soon.
var small = Limits{Depth: 50, Steps: 200_000, Output: 1 << 20}

func TestHostileTemplatesHitALimit(t *testing.T) {
	t.Parallel()
	f := func(source string) {
		t.Helper()
		_, err := render(source, []byte(`{"x":["a"],"s":"ab"}`), small)
		if !errors.Is(err, ErrLimit) && !errors.Is(err, ErrRaised) {
			t.Errorf("%.60q: %v, want a limit", source, err)
		}
	}
	f(`{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}`)
	f(`{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}{% endmacro %}{{ m() }}`)
	f(`{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}`)
	f(`{% for y in [x] recursive %}{{ loop([x]) }}{% endfor %}`)
	f(`{{ 'a' * 1000000000 }}`)
	f(`{{ [1] * 1000000000 }}`)
	f(`{{ 'a' * 10 ** 30 }}`)
	f(`{{ 2 ** 100000000 }}`)
	f(`{{ 9999999 ** 9999999 }}`)
	f(`{{ range(1000000000) }}`)
	f(`{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}`)
	f(`{% for a in range(99999) %}{{ 'aaaaaaaaaaaaaaaaaaaaaaaaa' }}{% endfor %}`)
	f(`{% set ns = namespace(v=[]) %}{% for a in range(99999) %}{% set ns.v = [ns.v] %}{% endfor %}{{ ns.v }}`)
	f(`{% set ns = namespace(v=[]) %}{% for a in range(2000) %}{% set ns.v = [ns.v] %}{% endfor %}{{ ns.v }}`)
	f(`{% set ns = namespace(v=[]) %}{% for a in range(2000) %}{% set ns.v = [ns.v] %}{% endfor %}{{ ns.v | tojson }}`)
	f(`{% set ns = namespace(v=[]) %}{% for a in range(100) %}{% set ns.v = [ns.v, ns.v] %}{% endfor %}{{ ns.v }}`)
	f(`{% set ns = namespace(v=[], w=[]) %}{% for a in range(100) %}{% set ns.v = [ns.v, ns.v] %}{% set ns.w = [ns.w, ns.w] %}{% endfor %}{{ ns.v == ns.w }}`)
	f(`{% set ns = namespace(v=()) %}{% for a in range(100) %}{% set ns.v = (ns.v, ns.v) %}{% endfor %}{{ {ns.v: 1}[ns.v] }}`)
	f(`{% set ns = namespace(v='ab') %}{% for a in range(100) %}{% set ns.v = ns.v + ns.v %}{% endfor %}`)
	f(`{% set ns = namespace(v='ab') %}{% for a in range(100) %}{% set ns.v = ns.v.replace('a', ns.v) %}{% endfor %}`)
	f(`{% set ns = namespace(v=x) %}{% for a in range(100) %}{% set ns.v = ns.v + ns.v %}{% endfor %}`)
	f(`{% set ns = namespace() %}{% set ns.self = ns %}{{ ns }}`)
	f(`{% set ns = namespace(i=3) %}{% for a in range(100) %}{% set ns.i = ns.i * ns.i %}{% endfor %}`)
	f(`{{ '%999999999d' % 1 }}`)
	f(`{{ '%.999999999f' % 1 }}`)
	f(`{{ '{:999999999}'.format(1) }}`)
	f(`{{ 'a'.center(999999999) }}`)
	f(`{{ 'a'.zfill(999999999) }}`)
	f(`{{ 'a' | indent(999999999) }}`)
	f(`{{ [1] | batch(999999999, 1) | list }}`)
	f(`{{ [1] | slice(999999999) | list }}`)
	f(`{% for a in range(5000) %}{% set b = s.join(range(5000) | map('string')) %}{% endfor %}`)
	f(`{% for a in range(99999) %}{{ loop.cycle(*range(99999)) }}{% endfor %}`)
	f(`{{ x | tojson(indent='` + strings.Repeat(" ", 900_000) + `') }}{{ [[x]] | tojson(indent='` + strings.Repeat(" ", 900_000) + `') }}`)
}

func TestDeepSourcesAreRefused(t *testing.T) {
	t.Parallel()
	f := func(source string) {
		t.Helper()
		if _, err := Compile(source); err == nil || !errors.Is(err, ErrLimit) && !errors.Is(err, ErrSyntax) {
			t.Errorf("%.60q: %v, want a limit", source, err)
		}
	}
	const n = 100_000
	f(`{{ ` + strings.Repeat(`(`, n) + `1` + strings.Repeat(`)`, n) + ` }}`)
	f(`{{ ` + strings.Repeat(`[`, n))
	f(`{{ ` + strings.Repeat(`{1:`, n))
	f(`{{ ` + strings.Repeat(`not `, n) + `1 }}`)
	f(`{{ ` + strings.Repeat(`-`, n) + `1 }}`)
	f(`{{ 1` + strings.Repeat(` - 1`, n) + ` }}`)
	f(`{{ 1` + strings.Repeat(` ** 1`, n) + ` }}`)
	f(`{{ x` + strings.Repeat(`.a`, n) + ` }}`)
	f(`{{ x` + strings.Repeat(`[0]`, n) + ` }}`)
	f(`{{ x` + strings.Repeat(`()`, n) + ` }}`)
	f(`{{ x` + strings.Repeat(`|trim`, n) + ` }}`)
	f(`{{ 1` + strings.Repeat(` if 1`, n) + ` }}`)
	f(`{{ ` + strings.Repeat(`1 if 1 else `, n) + `1 }}`)
	f(strings.Repeat(`{% if 1 %}`, n) + strings.Repeat(`{% endif %}`, n))
	f(strings.Repeat(`{% for x in y %}`, n))
	f(strings.Repeat(`{% macro m() %}`, n))
	f(`{% set ` + strings.Repeat(`(`, n) + `a` + strings.Repeat(`)`, n) + ` = 1 %}`)
	f(strings.Repeat("x", maxSource+1))
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `k%d=1,`, i)
	}
	f(`{{ dict(` + b.String() + `) }}`)
}

func TestWideSourcesCompile(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{{ 'a'` + strings.Repeat(` + 'a'`, 5000) + ` }}{{ 'a'` + strings.Repeat(` ~ 'a'`, 5000) + ` }}`)
	b.WriteString(`{% if ` + strings.Repeat(`1 + `, 100_000) + `1 < 0 %}x{% endif %}`)
	b.WriteString(`{% if 0 %}` + strings.Repeat(`{% elif 0 %}x`, 5000) + `{% endif %}`)
	for i := range 2000 {
		fmt.Fprintf(&b, `{%% set v%d = %d %%}`, i, i)
	}
	got, err := render(b.String(), []byte(`{}`), Limits{})
	if err != nil || got != strings.Repeat("a", 10002) {
		t.Errorf("%.40q, %v", got, err)
	}
}

func TestDeepValuesAreNoDanger(t *testing.T) {
	t.Parallel()
	const n = 800
	vars := []byte(`{"x":` + strings.Repeat(`[`, n) + strings.Repeat(`]`, n) + `,"y":` + strings.Repeat(`[`, n) + strings.Repeat(`]`, n) + `}`)
	for _, source := range []string{`{{ x }}`, `{{ x | tojson }}`, `{{ x == y }}`, `{{ x | string | length }}`, `{{ x < y }}`, `{{ [x] | sort }}`, `{{ '%s' % [x] }}`} {
		if _, err := render(source, vars, Limits{}); err != nil && !errors.Is(err, ErrLimit) && !errors.Is(err, ErrRaised) {
			t.Errorf("%s: %v", source, err)
		}
	}
}

func TestRenderingAllocatesNothingWhenWarm(t *testing.T) {
	vars := chatVars(21, 500)
	for name, source := range chatTemplates {
		tpl, err := Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		var made value.Memory
		v, err := made.Parse(vars)
		if err != nil {
			t.Fatal(err)
		}
		var env Env
		var out []byte
		render := func() {
			env.Memory.Reset()
			if out, err = env.Render(out[:0], tpl, v); err != nil {
				t.Fatal(err)
			}
		}
		render()
		// One for a namespace.
		if n := testing.AllocsPerRun(50, render); n > 1 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestWritingJSONAllocatesNothingWhenWarm(t *testing.T) {
	for _, source := range []string{`{{ x | tojson }}`, `{% set y = x | tojson(ensure_ascii=false) %}`, `{% for c in x.l %}{{ c | tojson }}{{ loop.index }}{% endfor %}`} {
		tpl, err := Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		var made value.Memory
		v, err := made.Parse([]byte(`{"x":{"name":"f","arguments":{"a":[1,2.5,true,null,"b\n\"c"],"d":{}},"l":[1,{"e":12345678901}]}}`))
		if err != nil {
			t.Fatal(err)
		}
		var env Env
		var out []byte
		render := func() {
			env.Memory.Reset()
			if out, err = env.Render(out[:0], tpl, v); err != nil {
				t.Fatal(err)
			}
		}
		render()
		if n := testing.AllocsPerRun(50, render); n > 0 {
			t.Errorf("%s: %v allocations", source, n)
		}
	}
}

// jsonErrors are what the variables of a rendering may be refused for.
var jsonErrors = []error{value.ErrSyntax, value.ErrDepth, value.ErrSurrogate}

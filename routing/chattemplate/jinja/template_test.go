package jinja

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"penstock/routing/chattemplate/value"
)

func TestContentFormatIsFoundAsTheEnginesDo(t *testing.T) {
	t.Parallel()
	f := func(source string, vllm, sglang Format) {
		t.Helper()
		tpl, err := Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		if tpl.ContentFormat() != vllm || tpl.SGLangContentFormat() != sglang {
			t.Errorf("%s: %v and %v", source, tpl.ContentFormat(), tpl.SGLangContentFormat())
		}
	}
	const text, parts = FormatString, FormatParts
	f(`{% for message in messages %}{{ message.content }}{% endfor %}`, text, text)
	f(`{% for message in messages %}{% for c in message.content %}{% endfor %}{% endfor %}`, parts, parts)
	f(`{% for message in messages %}{% for c in message['content'][1:] | list %}{% endfor %}{% endfor %}`, parts, parts)
	f(`{% for x in messages %}{% for c in x.content %}{% endfor %}{% endfor %}`, parts, text)
	f(`{% set all = messages[1:] %}{% for x in all %}{% for c in x.content %}{% endfor %}{% endfor %}`, parts, text)
	f(`{% for msg in other %}{% for c in msg.content %}{% endfor %}{% endfor %}`, text, parts)
	f(`{% for c in content %}{% endfor %}`, parts, text)
	f(`{% for a, c in content %}{% endfor %}`, text, text)
	f(`{% macro m(content) %}{% for c in content %}{% endfor %}{% endmacro %}`, text, text)
	f(`{% macro m(v) %}{% for c in v %}{% endfor %}{% endmacro %}{% for x in messages %}{{ m(x.content) }}{% endfor %}`, parts, text)
	f(`{% macro m(v) %}{% for c in v %}{% endfor %}{% endmacro %}{% for x in messages %}{{ m(v=x['content']) }}{% endfor %}`, parts, text)
	f(`{{ "image" }}`, text, parts)
}

func TestUsesTellsTheVariablesOfTheRequest(t *testing.T) {
	t.Parallel()
	tpl, err := Compile(`{% set own = 1 %}{{ own }}{% macro m(p) %}{{ p }}{{ tools }}{% endmacro %}{% for x in messages %}{{ x }}{% endfor %}`)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"tools": true, "messages": true, "own": false, "p": false, "x": false, "documents": false} {
		if tpl.Uses(name) != want {
			t.Errorf("Uses(%q) = %v", name, !want)
		}
	}
}

func TestWhatIsNotSupportedIsNamed(t *testing.T) {
	t.Parallel()
	f := func(source, name string) {
		t.Helper()
		_, err := render(source, []byte(`{"s":"x"}`), Limits{})
		if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", source, err)
		}
	}
	f(`{{ [1] | random }}`, "random")
	f(`{{ s | nosuch }}`, "nosuch")
	f(`{{ s is nosuch }}`, "nosuch")
	f(`{{ s.encode() }}`, "encode")
	f(`{% include "a" %}`, "include")
	f(`{% import "a" as b %}`, "import")
	f(`{% extends "a" %}`, "extends")
	f(`{% block a %}{% endblock %}`, "block")
	f(`{{ lipsum() }}`, "lipsum")
	f(`{{ strftime_now('%Q') }}`, "%Q")
}

func TestStrftimeNowIsThatOfPython(t *testing.T) {
	t.Parallel()
	env := Env{Now: time.Date(2026, 3, 7, 15, 4, 5, 6000, time.UTC)}
	f := func(format, want string) {
		t.Helper()
		tpl, err := Compile(`{{ strftime_now("` + format + `") }}`)
		if err != nil {
			t.Fatal(err)
		}
		got, err := env.Render(nil, tpl, env.Memory.NewDict(0))
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", format, got, err, want)
		}
	}
	f(`%d %b %Y`, `07 Mar 2026`)
	f(`%A, %B %-d, %y %m`, `Saturday, March 7, 26 03`)
	f(`%H:%M:%S.%f %I %p %j`, `15:04:05.000006 03 PM 066`)
	f(`%Y-%m-%d %a %w %u %U %W %V %G`, `2026-03-07 Sat 6 6 09 09 10 2026`)
	f(`%F %T %D %R %e %% %c|%x|%X%z%Z`, "2026-03-07 15:04:05 03/07/26 15:04  7 % Sat Mar  7 15:04:05 2026|03/07/26|15:04:05")
}

func TestATemplateServesManyAtOnce(t *testing.T) {
	t.Parallel()
	tpl, err := Compile(chatTemplates["chatml"] + `{{ ['a', 'b', ('c',)] }}{{ 'c' in ('a', 'b', 'c') }}`)
	if err != nil {
		t.Fatal(err)
	}
	vars := chatVars(9, 300)
	want, err := render(chatTemplates["chatml"]+`['a', 'b', ('c',)]True`, vars, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var env Env
			for range 20 {
				env.Memory.Reset()
				v, err := env.Memory.Parse(vars)
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := env.Render(nil, tpl, v); err != nil || string(got) != want {
					t.Errorf("%.60q, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestRenderAppends(t *testing.T) {
	t.Parallel()
	tpl, err := Compile(`{% set x %}{{ a }}!{% endset %}{{ x }}`)
	if err != nil {
		t.Fatal(err)
	}
	var env Env
	vars := env.Memory.NewDict(1)
	env.Memory.Set(vars, "a", value.NewString([]byte("b")))
	got, err := env.Render([]byte("kept "), tpl, vars)
	if err != nil || string(got) != "kept b!" {
		t.Errorf("%q, %v", got, err)
	}
	failing, err := Compile(`x{{ raise_exception("no") }}`)
	if err != nil {
		t.Fatal(err)
	}
	if got, err = env.Render([]byte("kept"), failing, vars); !errors.Is(err, ErrRaised) || string(got) != "kept" {
		t.Errorf("%q, %v", got, err)
	}
}

func FuzzLexerKeepsPlainText(f *testing.F) {
	f.Add("plain\ntext\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, "{\r") {
			return
		}
		got, err := render(text, []byte(`{}`), Limits{})
		if err != nil || got != strings.TrimSuffix(text, "\n") {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	})
}

package templates

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"penstock/routing/chattemplate/jinja"
)

// Bounds on what a hostile template or request may take, with the default limits of
// the engine: 64 MiB of output, and memory for that output, for what it is built of,
// and for the garbage that is not yet collected.
const (
	hostileOutput = 64 << 20
	hostileHeap   = 768 << 20
)

// attack is a template, or a request, that tries to crash, hang or bloat, or to get at
// what lies behind the values.
type attack struct {
	name   string
	source string
	vars   string
	raises bool // it must end with an error; else bounded output will do
}

// deep is JSON nested n times.
func deep(open, inner, end string, n int) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
}

func attacks() []attack {
	return []attack{
		{"macro that calls itself", `{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}`, "", true},
		{"two macros that call each other", `{% macro a(x) %}{{ b(x) }}{% endmacro %}{% macro b(x) %}{{ a(x) }}{% endmacro %}{{ a(1) }}`, "", true},
		{"caller that calls", `{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}{% endmacro %}{{ m() }}`, "", true},
		{"recursive loop over itself", `{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}`, "", true},
		{"type lists under a recursive macro", `{% macro k(s) %}{% if s is iterable and s is not string %}{% for t in s %}{{ k(s) }}{% endfor %}{% endif %}{% endmacro %}{{ k(t) }}`, `{"t":["object","null"]}`, true},
		{"exponential macro calls", `{% macro m(n) %}{% if n %}{{ m(n-1) }}{{ m(n-1) }}{% endif %}x{% endmacro %}{{ m(60) }}`, "", true},

		{"string of a billion", `{{ 'a' * 10**9 }}`, "", true},
		{"string of a huge number of times", `{{ 'a' * 10**30 }}`, "", true},
		{"list of a billion", `{% set x = [1] * 10**9 %}{{ x | length }}`, "", true},
		{"list of lists", `{% set x = [[0] * 100000] * 100000 %}{{ x }}`, "", true},
		{"power", `{{ 2**(10**9) }}`, "", true},
		{"power of powers", `{{ 9**(9**(9**9)) }}`, "", true},
		{"squared again and again", `{% set ns = namespace(n=10) %}{% for i in range(60) %}{% set ns.n = ns.n * ns.n %}{% endfor %}{{ ns.n }}`, "", true},
		{"shift by multiplication of big integers", `{% set ns = namespace(n=n) %}{% for i in range(100000) %}{% set ns.n = ns.n * n %}{% endfor %}{{ ns.n }}`, `{"n":` + strings.Repeat("9", 4000) + `}`, true},
		{"float overflow", `{{ 10.0**400 }}`, "", true},
		{"range of a billion", `{% for i in range(10**9) %}{% endfor %}`, "", true},
		{"list of a range of a billion", `{{ range(10**9) | list | length }}`, "", true},
		{"range just within the sandbox", `{% for i in range(100000) %}{% for j in range(100000) %}x{% endfor %}{% endfor %}`, "", true},
		{"nested loops", `{% for a in range(100000) %}{% for b in range(100000) %}{% for c in range(100000) %}{% endfor %}{% endfor %}{% endfor %}`, "", true},
		{"nested loops in filters", `{% for a in range(100000) %}{{ range(100000) | list | length }}{% endfor %}`, "", true},
		{"joined ranges", `{% for a in range(100000) %}{{ range(100000) | join }}{% endfor %}`, "", true},
		{"summed ranges", `{% for a in range(100000) %}{% set x = range(100000) | sum %}{% endfor %}`, "", true},
		{"membership tests", `{% set l = range(100000) | list %}{% for a in l %}{% if 'x' in l %}{% endif %}{% endfor %}`, "", true},
		{"unique of many", `{% set l = range(100000) | list %}{{ l | unique | list | length }}`, "", false},
		{"unique of many lists", `{% set ns = namespace(l=[]) %}{{ range(100000) | batch(1) | map('list') | list | length }}`, "", false},
		{"compared lists", `{% set l = range(100000) | list %}{% set m = range(100000) | list %}{% for a in range(100000) %}{% if l == m %}{% endif %}{% endfor %}`, "", true},

		{"string doubled in a loop", `{% set ns = namespace(s='ab') %}{% for i in range(64) %}{% set ns.s = ns.s + ns.s %}{% endfor %}{{ ns.s | length }}`, "", true},
		{"string doubled with tilde", `{% set ns = namespace(s='ab') %}{% for i in range(64) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}{{ ns.s | length }}`, "", true},
		{"string grown by joining", `{% set ns = namespace(s='ab') %}{% for i in range(64) %}{% set ns.s = [ns.s, ns.s, ns.s] | join(ns.s) %}{% endfor %}{{ ns.s | length }}`, "", true},
		{"string grown by a join method", `{% set ns = namespace(s='ab') %}{% for i in range(64) %}{% set ns.s = ns.s.join(ns.s) %}{% endfor %}{{ ns.s | length }}`, "", true},
		{"string grown by replacing", `{% set ns = namespace(s='aa') %}{% for i in range(64) %}{% set ns.s = ns.s | replace('a', ns.s) %}{% endfor %}{{ ns.s | length }}`, "", true},
		{"string grown by a replace method", `{% set ns = namespace(s='aa') %}{% for i in range(64) %}{% set ns.s = ns.s.replace('', ns.s) %}{% endfor %}{{ ns.s | length }}`, "", true},
		{"string grown by tojson", `{% set ns = namespace(s='"\\') %}{% for i in range(64) %}{% set ns.s = ns.s | tojson %}{% endfor %}{{ ns.s | length }}`, "", true},
		{"string grown by indenting", `{% set s = 'x\n' * 100000 %}{{ s | indent(100000) }}`, "", true},
		{"string grown by escaping", `{% set s = '&' * 10000000 %}{{ (s | forceescape | forceescape | forceescape | forceescape | forceescape) | length }}`, "", true},
		{"string grown in a set block", `{% set ns = namespace(s='ab') %}{% for i in range(64) %}{% set t %}{{ ns.s }}{{ ns.s }}{% endset %}{% set ns.s = t %}{% endfor %}`, "", true},
		{"long strings kept in a list", `{% set ns = namespace(l=[]) %}{% set s = 'a' * 1000000 %}{% for i in range(100000) %}{% set ns.l = ns.l + [s ~ i] %}{% endfor %}`, "", true},
		{"long strings made in a loop", `{% set s = 'a' * 1000000 %}{% for i in range(100000) %}{% set t = s ~ i %}{% endfor %}`, "", true},
		{"long strings changed in a loop", `{% set s = 'aB' * 1000000 %}{% for i in range(100000) %}{% set t = s | upper | lower | trim | title %}{% endfor %}`, "", true},
		{"long strings split in a loop", `{% set s = 'a ' * 1000000 %}{% for i in range(100000) %}{% set t = s.split() %}{% endfor %}`, "", true},
		{"long strings searched in a loop", `{% set s = 'a' * 1000000 %}{% for i in range(100000) %}{% if s ~ 'b' in s %}{% endif %}{% endfor %}`, "", true},
		{"characters of a long string", `{% set s = 'é' * 1000000 %}{% for i in range(100000) %}{% set c = s[-1] %}{% endfor %}`, "", false},
		{"list doubled in a loop", `{% set ns = namespace(l=[1]) %}{% for i in range(64) %}{% set ns.l = ns.l + ns.l %}{% endfor %}{{ ns.l | length }}`, "", true},
		{"list that shares itself printed", `{% set ns = namespace(l=[1, 2]) %}{% for i in range(64) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l }}`, "", true},
		{"list that shares itself as JSON", `{% set ns = namespace(l=[1, 2]) %}{% for i in range(64) %}{% set ns.l = {'a': ns.l, 'b': ns.l} %}{% endfor %}{{ ns.l | tojson }}`, "", true},
		{"list that shares itself compared", `{% set ns = namespace(l=[1], m=[1]) %}{% for i in range(64) %}{% set ns.l = [ns.l, ns.l] %}{% set ns.m = [ns.m, ns.m] %}{% endfor %}{{ ns.l == ns.m }}`, "", true},
		{"list nested in a loop printed", `{% set ns = namespace(l=[]) %}{% for i in range(100000) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l }}`, "", true},
		{"list nested in a loop as JSON", `{% set ns = namespace(l=[]) %}{% for i in range(100000) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l | tojson }}`, "", true},
		{"list nested in a loop as indented JSON", `{% set ns = namespace(l=[]) %}{% for i in range(20000) %}{% set ns.l = [ns.l, 1] %}{% endfor %}{{ ns.l | tojson(indent=100) }}`, "", true},
		{"lists nested in a loop compared", `{% set ns = namespace(l=[], m=[]) %}{% for i in range(100000) %}{% set ns.l = [ns.l] %}{% set ns.m = [ns.m] %}{% endfor %}{{ ns.l == ns.m }}`, "", true},
		{"lists nested in a loop ordered", `{% set ns = namespace(l=[], m=[]) %}{% for i in range(100000) %}{% set ns.l = [ns.l] %}{% set ns.m = [ns.m] %}{% endfor %}{{ ns.l < ns.m }}`, "", true},
		{"lists nested in a loop, summed and sorted", `{% set ns = namespace(l=[]) %}{% for i in range(100000) %}{% set ns.l = [ns.l] %}{% endfor %}{{ [ns.l, ns.l] | sort }}`, "", true},
		{"pretty printed nest", `{% set ns = namespace(l=[]) %}{% for i in range(100000) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l | string }}`, "", true},

		{"namespace in itself", `{% set ns = namespace() %}{% set ns.self = ns %}{{ ns.self.self.self }}`, "", false},
		{"namespace in itself as JSON", `{% set ns = namespace() %}{% set ns.self = ns %}{{ ns | tojson }}`, "", true},
		{"namespace in its own list", `{% set ns = namespace() %}{% set ns.self = [ns] %}{{ ns.self | tojson }}`, "", true},
		{"namespaces compared", `{% set ns = namespace() %}{% set ns.self = [ns] %}{{ ns.self == ns.self }}`, "", false},
		{"huge indent", `{{ [[[1]]] | tojson(indent=10**9) }}`, "", true},
		{"indent beyond 64 bits", `{{ [[[1]]] | tojson(indent=10**30) }}`, "", true},
		{"huge indent of many", `{{ range(10000) | list | tojson(indent=100000) }}`, "", true},
		{"huge indent string", `{{ range(10000) | list | tojson(indent='x' * 100000) }}`, "", true},
		{"huge separators", `{{ range(10000) | list | tojson(separators=(',' * 100000, ':')) }}`, "", true},
		{"huge center", `{{ 'a' | center(10**9) }}`, "", true},
		{"center beyond 64 bits", `{{ 'a' | center(10**30) }}`, "", true},
		{"huge ljust", `{{ 'a'.ljust(10**9) }}`, "", true},
		{"huge zfill", `{{ 'a'.zfill(10**9) }}`, "", true},
		{"huge format width", `{{ '%1000000000d' | format(1) }}`, "", true},
		{"huge format precision", `{{ '%.1000000000f' % 1.0 }}`, "", true},
		{"huge width in braces", `{{ '{:1000000000}'.format(1) }}`, "", true},
		{"huge expandtabs", `{{ '\t'.expandtabs(10**9) }}`, "", true},
		{"huge indent filter", `{{ 'a\nb' | indent(10**9) }}`, "", true},
		{"huge round", `{{ 1.5 | round(10**9) }}`, "", false},
		{"huge batch", `{{ [1] | batch(10**9, 'x') | list | length }}`, "", true},
		{"huge slice", `{{ [1] | slice(10**9) | list | length }}`, "", true},
		{"slices beyond 64 bits", `{{ 'abc'[-10**30:10**30:10**30] }}`, "", false},
		{"index beyond 64 bits", `{{ [1][10**30] }}`, "", false},
		{"huge lipsum", `{{ lipsum(n=10**9) }}`, "", true},
		{"strftime of much", `{% set f = '%c' * 100000 %}{% for i in range(100000) %}{% set x = strftime_now(f) %}{% endfor %}`, "", true},

		{"attribute through format", `{{ '{0.__class__}'.format(1) }}`, "", false},
		{"attribute through format_map", `{{ '{a.__class__}'.format_map({'a': 1}) }}`, "", false},
		{"item through format", `{{ '{0[__class__]}'.format({}) }}`, "", false},
		{"class of a string", `{{ ''.__class__.__mro__ }}`, "", true},
		{"class of a list by name", `{{ []['__class__']['__base__'] }}`, "", true},
		{"class through attr", `{{ (() | attr('__class__')) | attr('__base__') | string | length + raise_exception('end') }}`, "", true},
		{"globals of a global", `{{ cycler.__init__.__globals__.os }}`, "", true},
		{"globals of a macro", `{% macro m() %}{% endmacro %}{{ m.__globals__.x }}`, "", true},
		{"self", `{{ self.__init__.x.y }}`, "", true},
		{"import", `{% import 'x' as y %}`, "", true},
		{"include", `{% include 'x' %}`, "", true},
		{"extends", `{% extends 'x' %}`, "", true},

		{"deep JSON value printed", `{{ v }}`, `{"v":` + deep(`[`, `1`, `]`, 10000) + `}`, true},
		{"deep JSON value as JSON", `{{ v | tojson }}`, `{"v":` + deep(`{"a":`, `1`, `}`, 10000) + `}`, true},
		{"deep JSON value, indented", `{{ v | tojson(indent=1000) }}`, `{"v":` + deep(`{"a":`, `1`, `}`, 10000) + `}`, true},
		{"deep JSON value that is not used", `x`, `{"v":` + deep(`[`, ``, `]`, 1000000) + `}`, false},
		{"wide JSON value", `{% for k in v %}{{ v | length }}{% endfor %}`, `{"v":[` + strings.Repeat("0,", 200000) + `0]}`, false},
		{"many keys looked up", `{% for k in v %}{{ v[k] }}{% endfor %}`, `{"v":{` + manyKeys(100000) + `}}`, false},
		{"many keys that repeat", `{{ v | length }}`, `{"v":{` + strings.Repeat(`"a":1,`, 200000) + `"a":2}}`, false},
		{"integer of many digits", `{{ v + 1 }}`, `{"v":` + strings.Repeat("9", 1000000) + `}`, true},
		{"integer of many digits printed", `{{ v }}`, `{"v":` + strings.Repeat("9", 1000000) + `}`, true},
		{"integer of many digits from a string", `{{ v | int + 1 }}`, `{"v":"` + strings.Repeat("9", 1000000) + `"}`, false},
		{"float of many digits", `{{ v + 1 }}`, `{"v":0.` + strings.Repeat("9", 1000000) + `}`, false},
		{"float of a huge exponent", `{{ v + 1 }}`, `{"v":1e999999999999}`, false},
		{"float as an integer", `{{ v | int }}`, `{"v":1e308}`, false},

		{"deep parentheses", strings.Repeat("(", 100000) + "1" + strings.Repeat(")", 100000), "", false},
		{"deep parentheses in an expression", "{{ " + deep("(", "1", ")", 100000) + " }}", "", true},
		{"deep list", "{{ " + deep("[", "1", "]", 100000) + " }}", "", true},
		{"many nots", "{{ " + strings.Repeat("not ", 100000) + "1 }}", "", true},
		{"many minuses", "{{ " + strings.Repeat("-", 100000) + "1 }}", "", true},
		{"many powers", "{{ 1" + strings.Repeat("**1", 100000) + " }}", "", true},
		{"many pluses", "{{ 1" + strings.Repeat("+1", 100000) + " }}", "", false},
		{"many filters", "{{ 'a'" + strings.Repeat("|trim", 100000) + " }}", "", true},
		{"many attributes", "{{ a" + strings.Repeat(".a", 100000) + " }}", "", true},
		{"many calls", "{{ a" + strings.Repeat("()", 100000) + " }}", "", true},
		{"many ifs", strings.Repeat("{% if 1 %}", 100000) + strings.Repeat("{% endif %}", 100000), "", true},
		{"many elifs", "{% if 0 %}" + strings.Repeat("{% elif 0 %}", 100000) + "{% endif %}", "", false},
		{"many elses in an expression", "{{ " + strings.Repeat("1 if 0 else ", 100000) + "2 }}", "", true},
		{"many loops", strings.Repeat("{% for a in b %}", 100000) + strings.Repeat("{% endfor %}", 100000), "", true},
		{"many open blocks", strings.Repeat("{% if 1 %}", 100000), "", true},
		{"unfinished", "{{ '" + strings.Repeat("a", 1000000), "", true},
		{"comment that never ends", "{# " + strings.Repeat("#", 1000000), "", true},
		{"not UTF-8", "{{ '\xff' }}\xff{{ a.\xff }}", "", true},
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"k%d":%d`, i, i)
	}
	return b.String()
}

// TestHostile wants an error or bounded output, in bounded memory, of everything that
// tries otherwise. A crash or a hang fails it by itself.
func TestHostile(t *testing.T) {
	list := attacks()
	for i := range list {
		t.Run(list[i].name, func(t *testing.T) { list[i].run(t) })
	}
}

func (a *attack) run(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	output, err := a.render()
	runtime.ReadMemStats(&after)
	grown := int64(after.HeapSys) - int64(before.HeapSys)
	t.Logf("%d bytes, heap +%d MiB, %d MiB allocated, error %.200v",
		len(output), grown>>20, (after.TotalAlloc-before.TotalAlloc)>>20, err)
	switch {
	case bytes.Contains(output, []byte("class")):
		t.Errorf("got at a class: %.100q", output)
	case err == nil && a.raises:
		t.Errorf("rendered %d bytes: %.100q", len(output), output)
	case len(output) > hostileOutput:
		t.Errorf("%d bytes of output", len(output))
	case grown > hostileHeap:
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
}

func (a *attack) render() ([]byte, error) {
	compiled, err := jinja.Compile(a.source)
	if err != nil {
		return nil, err
	}
	return render(newEnv(), compiled, variables(nil, []byte(a.vars)))
}

// TestHermesTypeLists renders the real template whose macro recurses without end over
// a schema with a list of types: a request that a client can send.
func TestHermesTypeLists(t *testing.T) {
	t.Parallel()
	corpus := loadCorpus(t)
	hermes := corpus["vllm.tool_chat_template_hermes"]
	if hermes == nil || hermes.err != nil {
		t.Fatalf("the Hermes template is missing or refused: %+v", hermes)
	}
	vars := variables(hermes.Tokens, read(t, filepath.Join("cases", "18-type-lists.json")))
	_, err := render(newEnv(), hermes.compiled, vars)
	if !errors.Is(err, jinja.ErrLimit) && !errors.Is(err, jinja.ErrRaised) {
		t.Errorf("ended with %v, want a limit or what Python raises", err)
	}
}

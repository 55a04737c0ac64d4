"""Makes small random templates and says what Jinja2 makes of them.

usage: expressions.py COUNT SEED

Real chat templates use a small part of the language, each in its own way; this reaches
the corners: operators over mixed types, filters and methods with odd arguments, and
whitespace control. A line has: template (the source), vars (JSON text), text or error.
"""

import json
import random
import re
import sys
import warnings

import oracle

VARIABLES = {
    "s": "Hello, World", "t": "  a b\tc\n\nd ", "u": "Größe ß 😀 e\u0301 ǆ İ", "e": "", "h": "<a href='x'>\"&\"</a>", "p": "a,b,,c",
    "i": 7, "z": 0, "m": -3, "big": 18446744073709551615, "f": 2.5, "g": 1e22, "k": 1e-7, "w": 4.0,
    "y": True, "n": None, "o": False,
    "l": [3, 1, 2], "ls": ["b", "A", "c"], "lx": [1, "a", None, 2.0, [1], {"a": 1}], "le": [], "ll": [[1, 2], [3, 4]],
    "d": {"b": 1, "a": "x"}, "de": {}, "dd": {"items": [1], "a": {"b": {"c": "deep"}}, "k": None, "1": "one"},
    "ms": [
        {"role": "user", "content": "hi", "n": 2}, {"role": "assistant", "content": None, "n": 1},
        {"role": "user", "content": "<b>", "tool": {"name": "f"}},
    ],
}

LITERALS = [
    "0", "1", "2", "-1", "10", "3.0", "0.5", "1e3", "1_000", "2**70", "''", "'a'", "\"it's\"", "'\\n'", "'é'", "','", "' '", "true", "false",
    "none", "True", "None", "[]", "[1, 2]", "['a', 'b']", "{}", "{'a': 1}", "(1, 2)", "()", "(1,)", "missing", "'%s-%s'", "'ab' 'cd'",
    "{'x': [1, {'y': none}]}", "[none, true, 1.0]", "range(3)", "range(1, 10, 3)", "namespace(a=1)", "dict(a=1)", "'A b c'", "'\\u00e9\\x41\\\\'",
]

FILTERS = [
    "abs", "capitalize", "center(9)", "default('D')", "default('D', true)", "d('D')", "dictsort", "dictsort(true)", "dictsort(by='value')",
    "dictsort(reverse=true)", "escape", "e", "first", "float", "float(1.5)", "float('x')", "int", "int(9)", "int(base=16)", "items", "items | list", "join", "join('-')",
    "join(', ', attribute='role')", "last", "length", "count", "list", "lower", "map('upper') | list", "map(attribute='role') | list",
    "map(attribute='content', default='none') | list", "map('default', 'q') | join", "max", "min", "reject('none') | list", "rejectattr('content') | list",
    "select | list", "select('string') | list", "select('defined') | list", "selectattr('role', 'equalto', 'user') | list",
    "selectattr('content') | list", "selectattr('tool', 'defined') | list", "replace('a', 'bb')", "replace('a', 'b', 1)", "reverse", "reverse | list",
    "round", "round(1)", "round(1, 'floor')", "round(0, 'ceil')", "safe", "sort", "sort(reverse=true)", "sort(attribute='role')", "sort(case_sensitive=true)",
    "string", "sum", "sum(attribute='n')", "sum(start=10)", "title", "tojson", "tojson(indent=2)", "tojson(ensure_ascii=true)",
    "tojson(separators=(',', ':'))", "tojson(sort_keys=true)", "tojson(indent=1, separators=('; ', '= '))", "trim", "trim('a')", "truncate(5)", "truncate(7, true, '..')",
    "truncate(8, leeway=0)", "unique | list", "upper", "urlencode", "wordcount", "batch(2) | list", "batch(2, 'x') | list", "slice(2) | list",
    "slice(3, 'x') | list", "groupby('role') | list | length", "indent", "indent(2)", "indent(1, true)", "indent('> ')", "indent(2, blank=true)", "attr('upper')",
    "striptags", "format(1)", "format('x', 2)", "filesizeformat", "forceescape", "xmlattr", "nosuchfilter",
]

METHODS = [
    "upper()", "lower()", "strip()", "lstrip()", "rstrip()", "strip('a')", "rstrip('\\n')", "strip(none)", "split()", "split(',')", "split(' ', 1)", "split(none, 1)", "split('')", "rsplit(',', 1)",
    "splitlines()", "splitlines(true)", "startswith('H')", "startswith(('a', 'H'))", "endswith('d')", "endswith('')", "replace('l', 'L')", "replace('l', 'L', 1)",
    "replace('', '.')", "find('o')", "find('zz')", "rfind('o')", "index('o')", "count('l')", "count('')", "join(['x', 'y'])", "join(l)", "join(ls)", "join(d)", "title()", "capitalize()",
    "swapcase()", "isdigit()", "isalpha()", "isalnum()", "isspace()", "isupper()", "islower()", "isnumeric()", "isdecimal()", "isidentifier()", "istitle()", "isascii()", "zfill(5)", "center(9, '*')", "ljust(9)",
    "rjust(9, '.')", "partition(',')", "rpartition(',')", "removeprefix('He')", "removesuffix('ld')", "expandtabs(4)", "encode()", "format(1, 2)", "format(a=1)",
    "items()", "keys()", "values()", "get('a')", "get('q')", "get('q', 'D')", "items() | list", "keys() | list", "values() | list", "copy()", "pop('a')", "pop()", "update({})", "append(1)",
    "index(1)", "count(1)", "clear()", "setdefault('a', 1)", "nosuch()", "upper", "__class__", "a", "a.b.c", "items", "role", "0",
]

TESTS = [
    "defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "true", "false", "mapping", "sequence", "iterable", "callable",
    "odd", "even", "divisibleby(2)", "divisibleby 3", "equalto(1)", "eq 'a'", "ne 1", "gt 1", "lt 1", "ge 1", "le 1", "in [1, 2, 'a']", "in 'abc'", "lower", "upper", "sameas(none)", "sameas none",
    "escaped", "filter", "test", "greaterthan 1", "lessthan(2)", "nosuchtest", "==(1)",
]

# What mostly works: by the kind of value it is applied to, what can be applied (in
# FILTERS and METHODS) by how it starts, and the names and literals of that kind.
SENSIBLE = {
    "string": (
        ["s", "t", "u", "e", "h", "p", "'A b c'", "'it\\'s'", "'\\n'", "ls[0]", "ms[0].role", "d.a"],
        ("capitalize", "center", "default", "escape", "e", "first", "float", "int", "last", "length", "count", "list", "lower", "replace", "reverse", "safe", "string", "title", "tojson",
         "trim", "truncate", "upper", "urlencode", "wordcount", "batch", "indent", "striptags", "join", "forceescape"),
        ("upper", "lower", "strip", "lstrip", "rstrip", "split", "rsplit", "splitlines", "startswith", "endswith", "replace", "find", "rfind", "count", "join", "title", "capitalize",
         "swapcase", "is", "zfill", "center", "ljust", "rjust", "partition", "rpartition", "remove", "expandtabs", "format", "role", "a"),
    ),
    "number": (
        ["i", "z", "m", "big", "f", "g", "k", "w", "y", "1", "2.0", "10", "l[0]", "2**70", "1e3", "0.1"],
        ("abs", "default", "float", "int", "round", "string", "tojson", "filesizeformat", "e"),
        ("nosuch", "a", "upper"),
    ),
    "list": (
        ["l", "ls", "lx", "le", "ll", "ms", "[1, 2]", "['a', 'b']", "(1, 2)", "range(3)", "[none, true, 1.0]", "ms[1:]", "d.items()", "dd.keys()"],
        ("default", "first", "join", "last", "length", "count", "list", "map", "max", "min", "reject", "select", "reverse", "sort", "string", "sum", "tojson", "unique", "batch", "slice", "groupby"),
        ("index(1)", "count(1)", "copy", "nosuch"),
    ),
    "dict": (
        ["d", "de", "dd", "ms[0]", "ms[-1]", "{'a': 1}", "{'x': [1, {'y': none}]}", "dd.a"],
        ("default", "dictsort", "items", "length", "list", "string", "tojson", "join", "xmlattr"),
        ("items", "keys", "values", "get", "copy", "a", "role", "a.b.c", "nosuch"),
    ),
}

BINARY = ["+", "-", "*", "/", "//", "%", "~", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or", "and", "or", "+"]

SUBSCRIPTS = [
    "[0]", "[-1]", "[1:]", "[:-1]", "[::-1]", "[:2]", "[-2:]", "[1:10:2]", "['a']", "['role']", "[i]", "[n]", "[10]", "['0']", "[5:1:-2]", "[:n]", "[true]", "[1.0]", "[:]", "[::2]",
    "[-100:100]", "['items']", "[''] ", "[0][0]", "[0, 1]", "[-1:0:-1]",
]


STRING = re.compile(r"""'(?:[^'\\]|\\.)*'|"[^"]*\"""")


class Maker:
    def __init__(self, rng):
        self.rng = rng
        self.names = list(VARIABLES)

    def pick(self, options):
        return self.rng.choice(options)

    def atom(self):
        return self.pick(self.names) if self.rng.random() < 0.6 else self.pick(LITERALS)

    def sensible(self, depth):
        """An expression of which most parts fit together."""
        kind = self.pick(list(SENSIBLE))
        atoms, filters, methods = SENSIBLE[kind]
        text = self.pick(atoms)
        for _ in range(self.pick([0, 1, 1, 2]) if depth > 0 else 0):
            what = self.rng.random()
            if what < 0.4:
                text = f"{self.wrap(text)} | {self.pick([f for f in FILTERS if f.startswith(filters)])}"
            elif what < 0.7:
                text = f"{self.wrap(text)}.{self.pick([m for m in METHODS if m.startswith(methods)])}"
            elif what < 0.8 and kind in ("string", "list") and not self.constant(text):
                text = f"{self.wrap(text)}[{self.pick(['0', '-1', '1:', ':-1', '::-1', ':2', '-2:', '::2', '1:9:2', '5:1:-2', '-100:100'])}]"
            elif what < 0.9:
                text = f"{self.wrap(text)} {self.pick(BINARY)} {self.wrap(self.pick(atoms))}"
            else:
                text = f"{self.wrap(text)} is {self.pick(TESTS)}"
        return text

    def expression(self, depth):
        if self.rng.random() < 0.75:
            return self.sensible(depth)
        if depth <= 0:
            return self.atom()
        kind = self.rng.random()
        inner = self.expression(depth - 1)
        if kind < 0.22:
            return f"{self.wrap(inner)} {self.pick(BINARY)} {self.wrap(self.expression(depth - 1))}"
        if kind < 0.25:
            return f"{inner} {self.pick(BINARY)} {self.expression(depth - 2)} {self.pick(BINARY)} {self.atom()}"
        if kind < 0.27:
            return f"{self.pick(['i', 'm', 'f', 'y', '2', '0', 'z', 's'])} ** {self.pick(['2', '3', '-1', '0.5', 'm', 'z', 'n'])}"
        if kind < 0.50:
            return f"{self.wrap(inner)} | {self.pick(FILTERS)}"
        if kind < 0.66:
            return f"{self.wrap(inner)}.{self.pick(METHODS)}"
        if kind < 0.76 and not self.constant(inner):
            return f"{self.wrap(inner)}{self.pick(SUBSCRIPTS)}"
        if kind < 0.86:
            return f"{self.wrap(inner)} is {self.pick(['', '', 'not '])}{self.pick(TESTS)}"
        if kind < 0.90:
            return f"{inner} if {self.expression(depth - 1)}" + self.pick(["", f" else {self.atom()}"])
        if kind < 0.92:
            return f"{self.pick(['not ', '-', '+', 'not not '])}{self.wrap(inner)}"
        if kind < 0.95:
            return f"[{inner}, {self.atom()}]"
        if kind < 0.97:
            return "{" + f"'k': {inner}, {self.pick(['1', 's', 'none', '(1, 2)', '1.0', 'true'])}: {self.atom()}" + "}"
        return f"({inner}, {self.atom()})"

    def constant(self, text):
        """Whether Jinja2 may compute an expression when compiling. Slices are then
        attempted in another way, which yields undefined instead of raising."""
        return not any(word in VARIABLES for word in re.findall(r"\b[a-z]+\b", STRING.sub("", text)))

    def wrap(self, text):
        plain = text.replace("_", "").isalnum() or text in LITERALS and text[0] in "['\"({"
        return text if plain and not text[0].isdigit() else f"({text})"

    def tag(self, text):
        return "{%" + self.pick(["", "", "-", "+"]) + f" {text} " + self.pick(["", "", "-", "+"]) + "%}"

    def output(self, depth):
        return "{{" + self.pick(["", "", "-"]) + f" {self.expression(depth)} " + self.pick(["", "", "-"]) + "}}"

    def space(self):
        return self.pick(["", " ", "\n", "  \n", "\n  ", "x", " x ", "\n\n", "\t", "\r\n", "a\n  ", "{# c #}", "{#- c -#}\n", "\u00a0", "\x0b"])

    def statement(self, depth):
        kind = self.rng.random()
        body = self.body(depth - 1)
        if depth <= 0 or kind < 0.45:
            return self.output(self.pick([0, 1, 1, 2, 2, 3]))
        if kind < 0.58:
            middle = self.pick(["", self.tag("else") + self.body(depth - 1), self.tag(f"elif {self.expression(1)}") + self.body(depth - 1)])
            return self.tag(f"if {self.expression(2)}") + body + middle + self.tag("endif")
        if kind < 0.74:
            return self.loop(body, depth)
        if kind < 0.84:
            return self.tag(f"set {self.pick(['a', 'b', 's', 'i', 'ns.v', 'a, b'])} = {self.expression(2)}") + body + "{{ a }}"
        if kind < 0.87:
            return self.tag("set c") + body + self.tag("endset") + "{{ c" + self.pick(["", " | trim", " ~ 1", " | tojson"]) + " }}"
        if kind < 0.93:
            head = self.tag(f"macro q(a, b={self.atom()})") + body + "{{ a }}{{ b }}{{ varargs }}{{ kwargs }}"
            call = self.pick(["q()", f"q({self.atom()})", f"q(b={self.atom()})", "q(1, 2, 3)", "q(1, x=2)", "q(*l)", "q(**d)", "q(1) | length", "q(a=1, b=q(2))", "q"])
            return head + self.tag("endmacro") + "{{ " + call + " }}"
        if kind < 0.95:
            return self.tag(f"filter {self.pick(['upper', 'trim', 'replace(1, 2)', 'indent(2)'])}") + body + self.tag("endfilter")
        if kind < 0.97:
            return self.tag(f"with a = {self.expression(1)}, b = {self.atom()}") + body + "{{ a }}" + self.tag("endwith")
        if kind < 0.98:
            return self.tag("macro r()") + "<{{ caller(1) }}>" + self.tag("endmacro") + self.tag("call(x) r()") + body + "{{ x }}" + self.tag("endcall")
        return self.tag("raw") + "{{ x }}{% y " + self.tag("endraw")

    def loop(self, body, depth):
        target = self.pick(["x", "x", "x", "x, v", "i", "s"])
        over = self.pick(["l", "ls", "lx", "ms", "d", "d.items()", "dd | items", "ll", "s", "le", "range(3)", "ms[1:]", "u", self.expression(1)])
        condition = self.pick(["", "", "", f" if {self.expression(1)}", " if x"])
        inner = self.pick([
            "{{ x }}", "{{ loop.index }}{{ loop.last }}", "{{ loop.revindex0 }}", "{{ loop.length }}", "{{ loop.previtem }}|{{ loop.nextitem }}",
            "{{ loop.cycle('a', 'b') }}", "{{ loop.changed(x) }}", "{{ x.role }}", "{% if loop.first %}{% continue %}{% endif %}y", "{% if loop.index == 2 %}{% break %}{% endif %}y",
            "{{ v }}", "{% set a = x %}", "{{ loop.depth }}", "{{ loop }}",
        ])
        other = self.pick(["", "", self.tag("else") + "none"])
        return self.tag(f"for {target} in {over}{condition}") + inner + body + other + self.tag("endfor")

    def body(self, depth):
        return "".join(self.space() + (self.statement(depth) if depth >= 0 else "") for _ in range(self.pick([1, 1, 2]))) + self.space()

    def template(self):
        if self.rng.random() < 0.6:
            return "{{ " + self.expression(self.pick([1, 2, 2, 3, 4])) + " }}"
        return self.pick(["", "", "{% set ns = namespace(v=1) %}"]) + self.body(self.pick([0, 1, 2, 3]))


def addresses(text):
    """Whether a text tells where objects are in memory, which nobody can foresee."""
    return " at 0x" in text


def main(count, seed):
    warnings.simplefilter("ignore", SyntaxWarning)
    env = oracle.environment()
    make = Maker(random.Random(seed))
    variables = json.dumps(VARIABLES)
    for number in range(count):
        source = make.template()
        result = oracle.render(oracle.compiled(env, source), {}, variables)
        if result is not None and not addresses(result.get("text", "")):
            line = {"template": source, "case": str(number), "vars": variables if number == 0 else "", **result}
            sys.stdout.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])

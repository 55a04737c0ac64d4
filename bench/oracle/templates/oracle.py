"""Renders chat templates with Jinja2 as Hugging Face transformers sets it up.

usage: oracle.py expect CORPUS CASES             writes CORPUS/expected.jsonl where out of date
       oracle.py golden CORPUS CASES             writes it always
       oracle.py mutate CORPUS CASES COUNT SEED  COUNT mutated cases per template to stdout
       oracle.py render                          JSON lines of {template, vars} from stdin

Each line written has: template, case, vars (JSON text, in mutate), and either text or
error. The set-up follows transformers/utils/chat_template_utils.py of transformers 5;
only the clock stands still.
"""

import datetime
import hashlib
import json
import random
import signal
import sys
from contextlib import contextmanager
from pathlib import Path

import jinja2
import jinja2.ext
import jinja2.nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

# The time that strftime_now tells; compare_test.go has the same.
NOW = datetime.datetime(2026, 3, 14, 9, 5, 7)

# A mutated case that takes longer than this is left out of the comparison.
SECONDS = 10


class Generation(jinja2.ext.Extension):
    """The generation tag marks what the assistant wrote; rendering ignores it."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_plain"), [], [], body).set_lineno(line)

    def _plain(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def strftime_now(layout):
    return NOW.strftime(layout)


def environment():
    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = strftime_now
    return env


class TooSlow(BaseException):
    pass


@contextmanager
def limit():
    def give_up(*_):
        raise TooSlow

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)


def render(template, tokens, text):
    """The rendering with the variables of a JSON text, as {"text"} or {"error"}; None
    when it took too long or is no Unicode text."""
    if isinstance(template, Exception):
        return {"error": f"compile: {type(template).__name__}: {template}"[:300]}
    variables = {"tools": None, "documents": None, "add_generation_prompt": True, **tokens, **json.loads(text)}
    try:
        with limit():
            rendered = template.render(variables)
            rendered.encode()
        return {"text": rendered}
    except TooSlow:
        return None
    except UnicodeEncodeError:
        return None
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:300].encode(errors="replace").decode()}


def compiled(env, source):
    try:
        return env.from_string(source)
    except Exception as error:
        return error


def load(corpus, cases):
    env = environment()
    templates = []
    for entry in json.loads((corpus / "index.json").read_text()):
        source = (corpus / (entry["name"] + ".jinja")).read_bytes().decode()
        templates.append((entry["name"], compiled(env, source), entry["tokens"]))
    return templates, {p.stem: p.read_text() for p in case_files(corpus, cases)}


def case_files(corpus, cases):
    return sorted(cases.glob("*.json")) + sorted((corpus / "requests").glob("*.json"))


def expect(corpus, cases):
    stamp = fingerprint(corpus, cases)
    done = corpus / "expected.stamp"
    if done.exists() and done.read_text() == stamp:
        print("oracle: up to date")
        return
    golden(corpus, cases)
    done.write_text(stamp)


def golden(corpus, cases):
    templates, texts = load(corpus, cases)
    rendered = raised = 0
    part = corpus / "expected.jsonl.part"
    with open(part, "w") as out:
        for name, template, tokens in templates:
            for case, text in texts.items():
                result = render(template, tokens, text)
                if result is None:
                    raise SystemExit(f"oracle: {name} with {case} took too long")
                rendered += "text" in result
                raised += "error" in result
                out.write(json.dumps({"template": name, "case": case, **result}) + "\n")
    part.rename(corpus / "expected.jsonl")
    print(f"oracle: {len(templates)} templates x {len(texts)} cases: {rendered} rendered, {raised} raised")


def fingerprint(corpus, cases):
    digest = hashlib.sha256()
    for path in [Path(__file__), corpus / "index.json", *case_files(corpus, cases)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


# Mutations. Raw stands for a number as written, which json.dumps would not keep.

class Raw(str):
    pass


ATOMS = [
    None, True, False, 0, 1, -1, 7, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 10**30, -(10**30), 1.0, 0.1, -0.0,
    Raw("1e22"), Raw("1E+5"), Raw("1e-7"), Raw("123456789012345678"), Raw("0.10"), Raw("1e16"), Raw("9999999999999999.0"),
    Raw("-0"), Raw("1e400"), Raw("5e-324"), Raw("100000000000000000000000.0"), Raw("0.0001"), Raw("0.00001"),
    "", " ", "\n", "x", "user", "assistant", "system", "tool", "text", "image", "object", "string", "array", "null",
    "True", "None", "0", "-1", "1.5", "<b>&'\"</b>", "</think>", "<think>", "<think>\na\n</think>\n\nb", "a</think>b</think>c",
    "\r\n\t ", "\x85\u2028\x1c\xa0", "ǅ ﬃ ß İ ı ς Σ", "e\u0301\u0327", "\U0001f469\u200d\U0001f467", "\x00\x7f\x1b",
    "{{ x }}{% y %}", "%s %d %%", "{0} {a}", "\\ \\n \\u0041", "a" * 300, "word " * 40, "[1, 2]", '{"a": 1}', "'", '"',
    [], {}, [None], [""], ["a", "b"], [[]], [1, 2.5, "x", None, True], {"a": 1}, {"type": "text"}, {"type": "text", "text": "t"},
    [{"type": "text", "text": "part"}], [{"type": "image"}, {"type": "text", "text": "part\n"}], [{"role": "user"}],
    {"name": "f", "arguments": {"x": 1}}, {"type": ["object", "null"]}, [["k", "v"]], {"": ""}, {"a": {"b": {"c": [{}]}}},
]

KEYS = [
    "items", "keys", "values", "get", "pop", "copy", "update", "role", "content", "type", "name", "function", "arguments",
    "", "0", "a b", "é", "__class__", "true", "index", "count", "tool_calls", "reasoning_content", "text", "description",
    "properties", "enum", "default", "parameters", "id", "required", "length", "loop", "self", "None", "tool_call_id", "thinking",
]

SUFFIXES = ["</think>", "<think>", "\n", "\n\n", " ", "\t", "\r\n", "'", '"', "<", "&", "\\", "é", "😀", "\x85", "\u2028", "\x00"]


def places(node, out, depth=0):
    """All (container, key) below a node, those near the root more often."""
    keys = node.keys() if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in keys:
        out.extend([(node, key)] * max(1, 3 - depth // 2))
        places(node[key], out, depth + 1)


def mutate_once(rng, root):
    spots = []
    places(root, spots)
    if not spots:
        return "none"
    node, key = rng.choice(spots)
    operation = rng.choice(OPERATIONS)
    operation(rng, node, key)
    return operation.__name__


def clone(value):
    if isinstance(value, dict):
        return {k: clone(v) for k, v in value.items()}
    return [clone(v) for v in value] if isinstance(value, list) else value


def replace(rng, node, key):
    node[key] = clone(rng.choice(ATOMS))


def delete(rng, node, key):
    del node[key]


def duplicate(rng, node, key):
    if isinstance(node, list):
        node.insert(rng.randrange(len(node) + 1), clone(node[key]))
    else:
        node[rng.choice(KEYS)] = clone(node[key])


def rename(rng, node, key):
    if isinstance(node, dict):
        new = rng.choice(KEYS)
        entries = [(new if k == key else k, v) for k, v in node.items()]
        node.clear()
        node.update(entries)
    else:
        node[key] = {rng.choice(KEYS): node[key]}


def add(rng, node, key):
    if isinstance(node[key], dict):
        node[key][rng.choice(KEYS)] = clone(rng.choice(ATOMS))
    elif isinstance(node[key], list):
        node[key].insert(rng.randrange(len(node[key]) + 1), clone(rng.choice(ATOMS)))
    else:
        node[key] = [node[key], clone(rng.choice(ATOMS))]


def swap(rng, node, key):
    other = rng.choice(list(node.keys()) if isinstance(node, dict) else range(len(node)))
    node[key], node[other] = node[other], node[key]


def shuffle(rng, node, key):
    if isinstance(node, dict):
        entries = list(node.items())
        rng.shuffle(entries)
        node.clear()
        node.update(entries)
    else:
        rng.shuffle(node)


def nest(rng, node, key):
    value = node[key]
    for _ in range(rng.choice([1, 1, 2, 20])):
        value = [value] if rng.random() < 0.5 else {rng.choice(KEYS): value}
    node[key] = value


def edit(rng, node, key):
    if not isinstance(node[key], str) or isinstance(node[key], Raw):
        node[key] = str(node[key])[:200]
        return
    text, piece = node[key], rng.choice(SUFFIXES)
    at = rng.choice([0, len(text), rng.randrange(len(text) + 1)])
    node[key] = rng.choice([text[:at] + piece + text[at:], text[:at], text[at:], text.upper(), text * 2, text.split()])


OPERATIONS = [replace, replace, replace, delete, delete, duplicate, rename, add, add, swap, shuffle, nest, edit, edit]


def dumps(value):
    if isinstance(value, dict):
        return "{" + ", ".join(json.dumps(k) + ": " + dumps(v) for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(dumps, value)) + "]"
    return str(value) if isinstance(value, Raw) else json.dumps(value)


def mutate(corpus, cases, count, seed):
    templates, texts = load(corpus, cases)
    names = list(texts)
    for name, template, tokens in templates:
        if isinstance(template, Exception):
            continue
        rng = random.Random(f"{seed} {name}")
        for number in range(count):
            case = rng.choice(names)
            root = json.loads(texts[case])
            done = [mutate_once(rng, root) for _ in range(rng.choice([1, 1, 2, 3]))]
            if rng.random() < 0.1:
                root[rng.choice(["bos_token", "eos_token"])] = rng.choice([None, "", "<bos>", 1])
            text = dumps(root)
            result = render(template, tokens, text)
            if result is not None:
                line = {"template": name, "case": f"{case} {number} {'+'.join(done)}", "vars": text, **result}
                sys.stdout.write(json.dumps(line) + "\n")


def render_lines():
    env = environment()
    for line in sys.stdin:
        query = json.loads(line)
        result = render(compiled(env, query["template"]), {}, query["vars"]) or {"error": "too slow, or no Unicode text"}
        sys.stdout.write(json.dumps(result) + "\n")
        sys.stdout.flush()


def main(arguments):
    match arguments:
        case ["expect", corpus, cases]:
            expect(Path(corpus), Path(cases))
        case ["golden", corpus, cases]:
            golden(Path(corpus), Path(cases))
        case ["mutate", corpus, cases, count, seed]:
            mutate(Path(corpus), Path(cases), int(count), seed)
        case ["render"]:
            render_lines()
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])

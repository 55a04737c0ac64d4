"""Writes cases.json: what Jinja2, set up as transformers sets it up, makes of the
snippets in snippets.txt.

Run it with a Python that has jinja2 3.1.6 and transformers 5:
    python testdata/gen.py

Snippets are separated by lines of "----". Every one is rendered with the variables in
vars.json. A case is its source and either its output or the kind of its failure:
"syntax" when it does not compile, "raises" when it fails while it runs.
"""

import json
import pathlib
import sys

import jinja2
from transformers.utils.chat_template_utils import _compile_jinja_template

HERE = pathlib.Path(__file__).parent


def case(source, variables):
    try:
        template = _compile_jinja_template(source)
    except Exception as e:
        return {"source": source, "fails": "syntax", "why": f"{type(e).__name__}: {e}"}
    try:
        text = template.render(**variables)
        text.encode()
        return {"source": source, "want": text}
    except Exception as e:
        return {"source": source, "fails": "raises", "why": f"{type(e).__name__}: {e}"[:200]}


def main():
    assert jinja2.__version__ == "3.1.6"
    sys.setrecursionlimit(1000)
    variables = json.loads((HERE / "vars.json").read_text())
    snippets = (HERE / "snippets.txt").read_bytes().decode().split("\n----\n")
    cases = [case(s, variables) for s in snippets if s]
    # What has an address differs from run to run.
    for c in cases:
        if " at 0x" in c.get("want", ""):
            print("has an address:", c["source"])
    cases = [c for c in cases if " at 0x" not in c.get("want", "")]
    with open(HERE / "cases.json", "w") as out:
        json.dump(cases, out, indent=0, ensure_ascii=False)
        out.write("\n")
    print(len(cases), "cases,", sum("want" in c for c in cases), "with output")


main()

"""Writes golden prompts of SGLang: its own request models and message functions, taken
out of an unpacked wheel, around transformers' templates.

    python gensglang.py WHEEL_FOLDER VERSION

runs in an environment with transformers, pydantic and orjson. What SGLang's server
does between those functions is repeated here, from _process_messages and
_apply_jinja_template of serving_chat.py.
"""

import ast
import copy
import importlib.abc
import importlib.machinery
import importlib.util
import json
import pathlib
import sys
from typing import Any
from unittest.mock import MagicMock

import orjson
from transformers.utils.chat_template_utils import render_jinja_template

import chatcases

HERE = pathlib.Path(__file__).parent
TEMPLATES = {p.stem: p.read_text() for p in sorted((HERE / "templates").glob("*.jinja"))}
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>"}


class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands in for the modules of SGLang that only the engine needs."""

    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in ("sglang", "xgrammar"):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = MagicMock(name=spec.name)
        module.__path__, module.__spec__, module.__name__ = [], spec, spec.name
        return module

    def exec_module(self, module):
        pass


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def functions(path, names):
    """Functions and methods of a file, without running the rest of it."""
    space = {"orjson": orjson, "Any": Any, "ChatCompletionRequest": Any, "copy": copy}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef) and node.name in names:
            node.decorator_list = []
            module = ast.Module(body=[ast.parse("from __future__ import annotations").body[0], node], type_ignores=[])
            exec(compile(module, str(path), "exec"), space)
    return space


def main():
    wheel, version = pathlib.Path(sys.argv[1]), sys.argv[2]
    server = wheel / "sglang/srt/entrypoints/openai"
    sys.meta_path.append(Absent())
    protocol = load(server / "protocol.py")
    content = load(wheel / "sglang/srt/parser/jinja_template_utils.py")
    serving = functions(server / "serving_chat.py", {
        "normalize_tool_content", "parse_tool_call_arguments", "normalize_assistant_tool_call_arguments",
        "_handle_last_assistant_message",
    })

    def render(messages, tools, kwargs, source):
        (text,), _ = render_jinja_template(
            conversations=[messages], tools=tools, documents=kwargs.pop("documents", None), chat_template=source,
            add_generation_prompt=True, **{**SPECIAL, **kwargs})
        return text

    def prompt(body, source):
        request = protocol.ChatCompletionRequest.model_validate(body)
        kwargs = request.chat_template_kwargs
        effort = kwargs.pop("reasoning_effort", None) if kwargs else None
        if effort is not None:
            request.reasoning_effort = effort
        tools = None
        if request.tools and request.tool_choice != "none":
            if isinstance(request.tool_choice, str):
                tools = [t.model_dump() for t in request.tools]
            else:
                tools = [t.model_dump() for t in request.tools if t.function.name == request.tool_choice.function.name] or None
        form = content.detect_jinja_template_content_format(source)
        messages = [m.model_dump() for m in request.messages]
        for m in messages:
            serving["normalize_assistant_tool_call_arguments"](m)
        out = []
        for m in copy.deepcopy(messages):
            if m.get("content") is None:
                m["content"] = ""
            m = content.process_content_for_template_format(m, form, [], [], [], [])
            m["content"] = serving["normalize_tool_content"](m["role"], m.get("content"))
            out.append(m)
        out, prefix = serving["_handle_last_assistant_message"](None, out, request)
        extra = {}
        if request.reasoning_effort is not None:
            extra["reasoning_effort"] = request.reasoning_effort
        extra.update(request.chat_template_kwargs or {})
        try:
            text = render(out, tools, dict(extra), source)
        except Exception:
            text = render(out, [t["function"] for t in tools] if tools else None, dict(extra), source)
        return {"text": text + (prefix or "")}

    dsv32 = load(server / "encoding_dsv32.py")

    def native(body):
        request = protocol.ChatCompletionRequest.model_validate(body)
        messages = [m.model_dump() for m in request.messages]
        for m in messages:
            serving["normalize_assistant_tool_call_arguments"](m)
        for i, m in enumerate(messages):
            if m.get("content") is None:
                m["content"] = ""
            if isinstance(m["content"], list):
                messages[i] = content.process_content_for_template_format(m, "string", [], [], [], [])
        messages, prefix = serving["_handle_last_assistant_message"](None, messages, request)
        if messages[0]["role"] != "system":
            messages.insert(0, {"role": "system", "content": ""})
        if request.tools and request.tool_choice != "none":
            messages[0]["tools"] = [t.model_dump() for t in request.tools]
        thinking = (request.chat_template_kwargs or {}).get("thinking", False)
        text = dsv32.encode_messages(messages, thinking_mode="thinking" if thinking else "chat")
        return {"text": text + (prefix or ""), "add_special": True}

    cases = []
    for make in (chatcases.chat_messages, chatcases.chat_tools, chatcases.chat_fields, chatcases.deepseek_cases("deepseek_v32")):
        for case in make():
            model = case.get("profile", {}).get("model")
            if case["kind"] != "chat" or case.get("profile") and model is None and "tool choice" not in case["name"]:
                continue
            try:
                if model is not None:
                    want = native(json.loads(case["body"]))
                else:
                    want = prompt(json.loads(case["body"]), TEMPLATES[case["template"]])
            except Exception as error:
                want = {"error": f"{type(error).__name__}: {str(error)[:120]}"}
            cases.append({k: v for k, v in case.items() if k != "profile"} | {"profile": {"version": version, "model": model}, "want": want})
    text = "[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases) + "\n]\n"
    (HERE / f"sglang_{version.replace('.', '_')}.json").write_text(text)
    print(len(cases), "cases,", sum("error" in c["want"] for c in cases), "of them refused")


main()

"""Writes example answers made by SGLang's own protocol classes.

    python -m venv v && v/bin/pip install --no-deps sglang==0.5.23
    v/bin/pip install pydantic openai msgspec
    v/bin/python make_sglang_fixtures.py

The package is installed without its dependencies (a GPU stack), so packages on
the way are entered without running their __init__, and what the protocol files
import beside pydantic, openai and msgspec is replaced by empty modules. The
fixtures hold field sets, not behaviour: values are made up here.
"""

import importlib.abc
import importlib.machinery
import importlib.metadata
import json
import pathlib
import sys
import types
from unittest.mock import MagicMock

VERSION = importlib.metadata.version("sglang")
ROOT = next(p for p in map(pathlib.Path, sys.path) if (p / "sglang" / "srt").is_dir())
SHELLS = ["sglang", "sglang.srt", "sglang.srt.entrypoints", "sglang.srt.entrypoints.openai", "sglang.srt.managers"]
EMPTY = ["sglang.utils", "sglang.srt.utils", "torch", "numpy", "zmq", "psutil"]


class Hollow(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return MagicMock(name=name)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name in SHELLS or any(name == e or name.startswith(e + ".") for e in EMPTY):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        shell = spec.name in SHELLS
        module = (types.ModuleType if shell else Hollow)(spec.name)
        module.__path__ = [str(ROOT.joinpath(*spec.name.split(".")))] if shell else []
        return module

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, Finder())

from sglang.srt.entrypoints.openai import protocol as p  # noqa: E402
from sglang.srt.entrypoints.openai.sse_utils import build_sse_content  # noqa: E402
from sglang.srt.entrypoints.openai.usage_processor import UsageProcessor  # noqa: E402

usage = UsageProcessor.calculate_token_usage(
    prompt_tokens=5, completion_tokens=2, cached_tokens=p.PromptTokensDetails(cached_tokens=4)
)
head = dict(id="ID", created=0, model="m")


def sse(**kw):
    return json.loads(build_sse_content("ID", 0, "m", 0, **kw).removeprefix("data: "))


def dump(model):
    return json.loads(model.model_dump_json())


fixtures = {
    "chat": dump(p.ChatCompletionResponse(
        **head, usage=usage, metadata={"weight_version": "default"},
        choices=[p.ChatCompletionResponseChoice(index=0, message=p.ChatMessage(role="assistant", content="x"), finish_reason="stop")],
    )),
    "chat_role": sse(role="assistant", content=""),
    "chat_delta": sse(content="x"),
    "chat_finish": sse(finish_reason="stop"),
    "chat_usage": dump(p.ChatCompletionStreamResponse(**head, choices=[], usage=usage)),
    "completion": dump(p.CompletionResponse(
        **head, usage=usage, metadata={"weight_version": "default"},
        choices=[p.CompletionResponseChoice(index=0, text="x", finish_reason="length")],
    )),
    "completion_delta": dump(p.CompletionStreamResponse(**head, choices=[p.CompletionResponseStreamChoice(index=0, text="x")])),
    "error": dump(p.ErrorResponse(message="x", type="BadRequestError", code=400)),
    "models": dump(p.ModelList(data=[p.ModelCard(id="m", root="m", max_model_len=256)])),
    "tokenize": dump(p.TokenizeResponse(tokens=[1], count=1, max_model_len=256)),
    "detokenize": dump(p.DetokenizeResponse(text="x")),
    "embeddings": dump(p.EmbeddingResponse(model="m", usage=usage, data=[p.EmbeddingObject(embedding=[0.0], index=0)])),
    "score": dump(p.ScoringResponse(scores=[[0.5]], model="m")),
    "rerank": [dump(p.RerankResponse(score=0.5, document="x", index=0))],
}
out = pathlib.Path(__file__).with_name(f"sglang-{VERSION}.json")
out.write_text(json.dumps(fixtures, indent=1, sort_keys=True) + "\n")
print(out.name)

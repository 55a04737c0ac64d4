"""Writes the golden cases of this package: request bodies and the prompts that
vLLM's own code makes of them, without an engine.

    python gen.py MODEL_FOLDER [NAME ...]

runs in an environment with vLLM 0.32.0. MODEL_FOLDER holds config.json and a
tokenizer of any small model. The templates are those of ./templates.
"""

import asyncio
import copy
import functools
import json
import os
import pathlib
import sys

os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
os.environ.setdefault("VLLM_SYSTEM_START_DATE", "2026-12-01")
HERE = pathlib.Path(__file__).parent
TEMPLATES = {p.stem: p.read_text() for p in sorted((HERE / "templates").glob("*.jinja"))}
SPECIAL = {"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": False}, "pad_token": None}

import chatcases  # noqa: E402


@functools.cache
def vllm_config(folder):
    from vllm.config import DeviceConfig, ModelConfig, VllmConfig

    return VllmConfig(
        model_config=ModelConfig(model=folder, dtype="float32"),
        device_config=DeviceConfig(device="cpu"),
    )


def online_renderer(folder, profile, template):
    from vllm.renderers.hf import HfRenderer
    from vllm.renderers.online_renderer import OnlineRenderer
    from vllm.tokenizers.registry import cached_tokenizer_from_config

    config = vllm_config(folder)
    tokenizer = copy.copy(cached_tokenizer_from_config(config.model_config))
    model = profile.get("model")
    if model is not None:
        tokenizer.chat_template = TEMPLATES["chatml"]
    if model == "gpt_oss":
        return harmony_renderer(config, tokenizer, profile)
    if model is not None:
        return deepseek_renderer(config, tokenizer, model, profile)
    for name in ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"):
        value = SPECIAL.get(name)
        tokenizer._special_tokens_map[name] = value["content"] if isinstance(value, dict) else value
    renderer = HfRenderer(config, tokenizer)
    return OnlineRenderer(
        config.model_config,
        renderer,
        request_logger=None,
        chat_template=template,
        chat_template_content_format=profile.get("content_format", "auto"),
        trust_request_chat_template=profile.get("trust", False),
        enable_auto_tools=True,
        tool_parser=None,
        exclude_tools_when_tool_choice_none=profile.get("exclude_tools", False),
        default_chat_template_kwargs=profile.get("kwargs"),
    )


def renderer_of(config, renderer, profile):
    from vllm.renderers.online_renderer import OnlineRenderer

    return OnlineRenderer(
        config.model_config,
        renderer,
        request_logger=None,
        chat_template=None,
        chat_template_content_format="auto",
        enable_auto_tools=True,
        tool_parser=None,
        default_chat_template_kwargs=profile.get("kwargs"),
    )


def harmony_renderer(config, tokenizer, profile):
    from vllm.renderers.hf import HfRenderer

    online = renderer_of(config, HfRenderer(config, tokenizer), profile)
    online.use_harmony = True
    return online


def deepseek_renderer(config, tokenizer, model, profile):
    from vllm.renderers import deepseek_v4, deepseek_v32
    from vllm.tokenizers.deepseek_v4 import get_deepseek_v4_tokenizer
    from vllm.tokenizers.deepseek_v32 import get_deepseek_v32_tokenizer

    if model == "deepseek_v4":
        renderer = deepseek_v4.DeepseekV4Renderer(config, get_deepseek_v4_tokenizer(tokenizer))
    else:
        renderer = deepseek_v32.DeepseekV32Renderer(config, get_deepseek_v32_tokenizer(tokenizer))
    return renderer_of(config, renderer, profile)


def prompt(engine_input, add_special, harmony=False):
    if harmony:
        from vllm.entrypoints.openai.parser.harmony_utils import get_encoding

        ids = engine_input["prompt_token_ids"]
        return {"text": get_encoding().decode(ids), "ids": ids}
    if engine_input.get("prompt") is not None:
        return {"text": engine_input["prompt"], "add_special": add_special}
    return {"ids": engine_input["prompt_token_ids"]}


def failed(error):
    return {"error": f"{type(error).__name__}: {str(error)[:200]}"}


async def chat(renderer, body):
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
    from vllm.entrypoints.serve.engine.protocol import ErrorResponse

    try:
        request = ChatCompletionRequest.model_validate(body)
        request.tool_choice = None if request.tool_choice != "none" else "none"
        result = await renderer.render_chat(request)
    except Exception as error:  # the server answers 400
        return failed(error)
    if isinstance(result, ErrorResponse):
        return {"error": result.error.message[:200]}
    return prompt(result[1][0], request.add_special_tokens, renderer.use_harmony)


async def completion(renderer, body):
    from vllm.entrypoints.openai.completion.protocol import CompletionRequest
    from vllm.entrypoints.serve.engine.protocol import ErrorResponse

    try:
        request = CompletionRequest.model_validate(body)
        result = await renderer.render_completion(request)
    except Exception as error:
        return failed(error)
    if isinstance(result, ErrorResponse):
        return {"error": result.error.message[:200]}
    return prompt(result[0], request.add_special_tokens) | {"prompts": len(result)}


async def responses(renderer, body):
    from vllm.entrypoints.openai.responses.protocol import ResponsesRequest
    from vllm.entrypoints.serve.engine.protocol import ErrorResponse

    try:
        request = ResponsesRequest.model_validate(body)
        result = await renderer.render_responses(request)
    except Exception as error:
        return failed(error)
    if isinstance(result, ErrorResponse):
        return {"error": result.error.message[:200]}
    return prompt(result.engine_input, True, renderer.use_harmony)


class Probe:
    """What AnthropicServingMessages needs of itself to probe its renderer."""

    def __init__(self, renderer):
        from vllm.entrypoints.anthropic.serving import AnthropicServingMessages

        self.serving = AnthropicServingMessages.__new__(AnthropicServingMessages)
        self.serving.online_renderer = renderer
        self.serving.model_config = renderer.model_config
        self.serving._disabled_thinking_effort = None
        self.merge = self.serving._should_merge_inline_system(renderer)

    async def effort(self):
        return await self.serving._get_disabled_thinking_effort()


async def messages(renderer, body):
    from vllm.entrypoints.anthropic.protocol import AnthropicMessagesRequest
    from vllm.entrypoints.serve.engine.protocol import ErrorResponse

    try:
        request = AnthropicMessagesRequest.model_validate(body)
        probe = Probe(renderer)
        chat_request = probe.serving.to_chat_completion_request(
            request, merge_inline_system=probe.merge, disabled_thinking_effort=await probe.effort()
        )
        chat_request.tool_choice = None if chat_request.tool_choice != "none" else "none"
        result = await renderer.render_chat(chat_request)
    except Exception as error:
        return failed(error)
    if isinstance(result, ErrorResponse):
        return {"error": result.error.message[:200]}
    return prompt(result[1][0], chat_request.add_special_tokens, renderer.use_harmony)


KINDS = {"chat": chat, "completion": completion, "responses": responses, "messages": messages}


async def golden(folder, cases):
    out = []
    for case in cases:
        template = case.get("template")
        renderer = online_renderer(folder, case.get("profile", {}), TEMPLATES.get(template))
        body = json.loads(case["body"])
        out.append(case | {"want": await KINDS[case["kind"]](renderer, body)})
    return out


def main():
    folder, only = sys.argv[1], sys.argv[2:]
    for name, cases in chatcases.FILES.items():
        if only and name not in only:
            continue
        out = asyncio.run(golden(folder, cases()))
        text = "[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in out) + "\n]\n"
        (HERE / f"{name}.json").write_text(text)
        errors = sum("error" in c["want"] for c in out)
        print(f"{name}: {len(out)} cases, {errors} of them refused")


main()

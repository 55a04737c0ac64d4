"""The real Python openai SDK against GATEWAY. Environment: see harness.py."""

import asyncio
import contextlib
import json
import socket
import urllib.parse

import openai

from harness import (
    DIRECT, ENGINE, GATEWAY, MODEL, ROUTES, Skip, Suite, equal, exchange, generated, need, post_json, true, wait_running,
)

suite = Suite(f"python-sdk-{ENGINE}")
client = openai.OpenAI(base_url=GATEWAY + "/v1", api_key="none", max_retries=0, timeout=120)

TURNS = [{"role": "user", "content": "Tell me a story about a river."}]
GREEDY = {"model": MODEL, "temperature": 0, "max_tokens": 24}
# llama.cpp decodes the tiny model some twenty times as fast as vLLM.
LONG = {"model": MODEL, "temperature": 0, "max_tokens": 60000 if ENGINE == "llama" else 1900, "messages": TURNS}
TOO_LONG = [{"role": "user", "content": "river " * (70000 if ENGINE == "llama" else 4000)}]

WEATHER = {
    "type": "object",
    "properties": {"unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}},
    "required": ["unit"],
    "additionalProperties": False,
}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "strict": True, "parameters": WEATHER}}]
FORECAST = {
    "type": "object",
    "properties": {"warm": {"type": "boolean"}},
    "required": ["warm"],
    "additionalProperties": False,
}


def raises(kind, call) -> openai.APIStatusError:
    try:
        call()
    except openai.APIStatusError as error:
        true(type(error) is kind, f"raised {type(error).__name__} ({error.status_code}), want {kind.__name__}")
        return error
    raise AssertionError(f"no exception, want {kind.__name__}")


def joined(stream) -> tuple[str, str]:
    """Concatenated content and the last finish reason of a chat stream."""
    text, reason = "", None
    for chunk in stream:
        for choice in chunk.choices:
            text += choice.delta.content or ""
            reason = choice.finish_reason or reason
    return text, reason


@suite.check
def models_are_listed():
    true(MODEL in [model.id for model in client.models.list()], "model missing")


@suite.check
def chat_answers():
    answer = client.chat.completions.create(messages=TURNS, **GREEDY)
    true(answer.choices[0].message.content, "no content")
    equal(answer.choices[0].finish_reason, "length", "finish reason")
    equal(answer.usage.completion_tokens, 24, "completion tokens")
    equal(answer.usage.total_tokens, answer.usage.prompt_tokens + 24, "total tokens")


@suite.check
def chat_stream_equals_the_whole_answer():
    whole = client.chat.completions.create(messages=TURNS, **GREEDY)
    text, reason = joined(client.chat.completions.create(messages=TURNS, stream=True, **GREEDY))
    equal(text, whole.choices[0].message.content, "text")
    equal(reason, "length", "finish reason")


@suite.check
def completion_stream_equals_the_whole_answer():
    whole = client.completions.create(prompt="The gateway reads", **GREEDY)
    stream = client.completions.create(prompt="The gateway reads", stream=True, **GREEDY)
    text = "".join(choice.text for chunk in stream for choice in chunk.choices)
    equal(text, whole.choices[0].text, "text")


@suite.check
def stream_usage_equals_the_whole_usage():
    whole = client.chat.completions.create(messages=TURNS, **GREEDY)
    options = {"include_usage": True}
    chunks = list(client.chat.completions.create(messages=TURNS, stream=True, stream_options=options, **GREEDY))
    equal(chunks[-1].choices, [], "choices of the usage chunk")
    for field in ("prompt_tokens", "completion_tokens", "total_tokens"):
        equal(getattr(chunks[-1].usage, field), getattr(whole.usage, field), field)
    true(all(chunk.usage is None for chunk in chunks[:-1]), "usage before the last chunk")


@suite.check
def usage_does_not_appear_unasked():
    chunks = list(client.chat.completions.create(messages=TURNS, stream=True, **GREEDY))
    true(all(chunk.usage is None for chunk in chunks), "a client that did not ask got usage")


@suite.check
def several_choices_arrive_apart():
    options = {**GREEDY, "max_tokens": 8, "temperature": 1, "n": 2, "seed": 7}
    answer = client.chat.completions.create(messages=TURNS, **options)
    equal([choice.index for choice in answer.choices], [0, 1], "indexes")
    seen = {choice.index for chunk in client.chat.completions.create(messages=TURNS, stream=True, **options)
            for choice in chunk.choices}
    equal(seen, {0, 1}, "streamed indexes")


@suite.check
def stop_string_ends_the_answer():
    whole = client.chat.completions.create(messages=TURNS, **GREEDY).choices[0].message.content
    stop = whole[12:15]
    answer = client.chat.completions.create(messages=TURNS, stop=[stop], **GREEDY)
    equal(answer.choices[0].finish_reason, "stop", "finish reason")
    equal(answer.choices[0].message.content, whole[: whole.index(stop)], "text before the stop string")


@suite.check
def non_latin_text_survives():
    prompt = "Zoë 🙂 数据 – £5\u2028end"
    if ENGINE == "vllm":
        answer = client.completions.create(prompt=prompt, extra_body={"echo": True}, **GREEDY)
        true(answer.choices[0].text.startswith(prompt), f"echo differs: {answer.choices[0].text!r}")
    field = {"vllm": ("prompt", "prompt"), "llama": ("content", "content")}.get(ENGINE)
    if field is None:
        raise Skip("the simulated engine has its own tokenizer")
    ids = post_json(GATEWAY, "/tokenize", {"model": MODEL, field[0]: prompt})["tokens"]
    equal(post_json(GATEWAY, "/detokenize", {"model": MODEL, "tokens": ids})[field[1]], prompt, "round trip")


@suite.check
def tool_call_follows_the_schema():
    need("vllm")  # llama.cpp derives no tool grammar from our template
    only = {"type": "function", "function": {"name": "get_weather"}}
    options = {**GREEDY, "max_tokens": 200, "tools": TOOLS, "tool_choice": only}
    call = client.chat.completions.create(messages=TURNS, **options).choices[0].message.tool_calls[0]
    equal(call.function.name, "get_weather", "function")
    true(json.loads(call.function.arguments)["unit"] in ("celsius", "fahrenheit"), call.function.arguments)
    name, arguments = "", ""
    for chunk in client.chat.completions.create(messages=TURNS, stream=True, **options):
        for choice in chunk.choices:
            for part in choice.delta.tool_calls or []:
                name += part.function.name or ""
                arguments += part.function.arguments or ""
    equal((name, json.loads(arguments)), ("get_weather", json.loads(call.function.arguments)), "streamed call")


@suite.check
def log_probabilities_are_returned():
    need("vllm", "llama")
    options = {**GREEDY, "max_tokens": 5, "logprobs": True, "top_logprobs": 2}
    answer = client.chat.completions.create(messages=TURNS, **options).choices[0]
    equal(len(answer.logprobs.content), 5, "tokens with log probabilities")
    equal("".join(token.token for token in answer.logprobs.content), answer.message.content, "tokens")
    equal(len(answer.logprobs.content[0].top_logprobs), 2, "alternatives")


@suite.check
def structured_output_follows_the_schema():
    need("vllm", "llama")
    shape = {"type": "json_schema", "json_schema": {"name": "forecast", "strict": True, "schema": FORECAST}}
    answer = client.chat.completions.create(messages=TURNS, response_format=shape, **{**GREEDY, "max_tokens": 60})
    true(isinstance(json.loads(answer.choices[0].message.content)["warm"], bool), "schema not followed")


@suite.check
def responses_api_streams_the_whole_answer():
    need("vllm", "llama")
    options = {"model": MODEL, "input": "A river", "temperature": 0, "max_output_tokens": 12}
    whole = client.responses.create(**options)
    events = list(client.responses.create(stream=True, **options))
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    equal(text, whole.output_text, "text")
    equal(events[-1].type, "response.completed", "last event")


@suite.check
def messages_api_streams_the_whole_answer():
    need("vllm", "llama")
    body = {"model": MODEL, "messages": TURNS, "max_tokens": 12, "temperature": 0}
    whole = post_json(GATEWAY, "/v1/messages", body)["content"][-1]["text"]
    status, _, raw = exchange(GATEWAY, "POST", "/v1/messages", {**body, "stream": True})
    equal(status, 200, "status")
    events = [json.loads(line[6:]) for line in raw.decode().splitlines() if line.startswith("data: ")]
    text = "".join(event["delta"].get("text", "") for event in events if event["type"] == "content_block_delta")
    equal(text, whole, "text")
    equal(events[-1]["type"], "message_stop", "last event")


@suite.check
def usage_equals_the_tokenizer():
    need("vllm")
    answer = client.chat.completions.create(messages=TURNS, **GREEDY)
    count = post_json(GATEWAY, "/tokenize", {"model": MODEL, "messages": TURNS})["count"]
    equal(answer.usage.prompt_tokens, count, "prompt tokens of chat")
    anthropic = post_json(GATEWAY, "/v1/messages/count_tokens", {"model": MODEL, "messages": TURNS})
    equal(anthropic["input_tokens"], count, "count_tokens")
    prompt = "What is the capital of the country?"
    answer = client.completions.create(prompt=prompt, **GREEDY)
    equal(answer.usage.prompt_tokens, post_json(GATEWAY, "/tokenize", {"model": MODEL, "prompt": prompt})["count"],
          "prompt tokens of completions")


@suite.check
def engine_extensions_pass_through():
    need("vllm")
    extra = {"return_token_ids": True, "min_tokens": 3}
    choice = client.chat.completions.create(messages=TURNS, extra_body=extra, **GREEDY).choices[0]
    ids = choice.model_extra["token_ids"]
    equal(len(ids), 24, "token ids")
    prompt = post_json(GATEWAY, "/detokenize", {"model": MODEL, "tokens": ids})["prompt"]
    equal(prompt, choice.message.content, "text of the token ids")


@suite.check
def token_prompts_are_accepted():
    need("vllm")
    ids = post_json(GATEWAY, "/tokenize", {"model": MODEL, "prompt": "A river"})["tokens"]
    by_ids = client.completions.create(prompt=ids, **GREEDY).choices[0].text
    equal(by_ids, client.completions.create(prompt="A river", **GREEDY).choices[0].text, "text")


@suite.check
def a_one_mebibyte_body_passes():
    extra = {"unknown_field": "u" * (1 << 20)}
    answer = client.chat.completions.create(messages=TURNS, extra_body=extra, **GREEDY)
    equal(answer.usage.completion_tokens, 24, "completion tokens")


@suite.check
def eight_streams_at_once_keep_apart():
    async def run():
        many = openai.AsyncOpenAI(base_url=GATEWAY + "/v1", api_key="none", max_retries=0, timeout=120)

        async def one(number: int) -> str:
            text = ""
            turns = [{"role": "user", "content": f"Tell me about number {number}."}]
            async for chunk in await many.chat.completions.create(messages=turns, stream=True, **GREEDY):
                for choice in chunk.choices:
                    text += choice.delta.content or ""
            return text

        async with many:
            together = await asyncio.gather(*(one(number) for number in range(8)))
            apart = [await one(number) for number in range(8)]
        return together, apart

    together, apart = asyncio.run(run())
    equal(together, apart, "texts")


@suite.check
def unknown_model_is_not_found():
    if ENGINE == "llama" and not ROUTES:
        raise Skip("llama.cpp answers for any model name")
    error = raises(openai.NotFoundError,
                   lambda: client.chat.completions.create(messages=TURNS, **{**GREEDY, "model": "no-such-model"}))
    true(error.body and error.body.get("message"), f"no error object: {error.body!r}")


@suite.check
def too_long_a_prompt_is_a_bad_request():
    need("vllm", "llama")
    raises(openai.BadRequestError, lambda: client.chat.completions.create(messages=TOO_LONG, **GREEDY))
    raises(openai.BadRequestError, lambda: client.chat.completions.create(messages=TOO_LONG, stream=True, **GREEDY))


@suite.check
def a_bad_parameter_is_a_bad_request():
    need("vllm")
    error = raises(openai.BadRequestError,
                   lambda: client.chat.completions.create(messages=TURNS, **{**GREEDY, "temperature": 9}))
    equal((error.param, str(error.code)), ("temperature", "400"), "param and code")


@suite.check
def missing_messages_are_a_bad_request():
    need("vllm", "llama")
    raises(openai.BadRequestError, lambda: client.post("/chat/completions", body={"model": MODEL}, cast_to=object))


@suite.check
def embeddings_fail_as_they_do_directly():
    need("vllm", "llama")
    direct = openai.OpenAI(base_url=DIRECT[0] + "/v1", api_key="none", max_retries=0)
    kinds = []
    for side in (direct, client):
        try:
            side.embeddings.create(model=MODEL, input="A river")
        except openai.APIStatusError as error:
            kinds.append((type(error).__name__, error.status_code))
    equal(len(kinds), 2, "number of refusals")
    equal(kinds[1], kinds[0], "exception")
    return f"{kinds[0][0]} {kinds[0][1]}"


@suite.check
def leaving_a_stream_stops_the_engine():
    wait_running(lambda count: count == 0, "idle engine")
    before = generated()
    stream = client.chat.completions.create(stream=True, **LONG)
    for _ in zip(stream, range(4)):
        pass
    wait_running(lambda count: count > 0, "request reaches the engine")
    stream.close()
    took = wait_running(lambda count: count == 0, "engine stops after the client left")
    true(generated() - before < LONG["max_tokens"], "the engine generated the whole answer")
    return f"running count back to 0 after {took * 1000:.0f} ms"


@suite.check
def leaving_before_the_first_byte_stops_the_engine():
    wait_running(lambda count: count == 0, "idle engine")
    before = generated()
    where = urllib.parse.urlsplit(GATEWAY)
    body = json.dumps({**LONG, "stream": False}).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {where.netloc}\r\nContent-Type: application/json\r\n"
    with contextlib.closing(socket.create_connection((where.hostname, where.port), timeout=30)) as connection:
        connection.sendall(head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        wait_running(lambda count: count > 0, "request reaches the engine")
    took = wait_running(lambda count: count == 0, "engine stops after the client left")
    true(generated() - before < LONG["max_tokens"], "the engine generated the whole answer")
    return f"running count back to 0 after {took * 1000:.0f} ms"


@suite.check
def the_engine_still_answers_afterwards():
    text, reason = joined(client.chat.completions.create(messages=TURNS, stream=True, **GREEDY))
    true(text and reason == "length", f"{reason}: {text!r}")


if __name__ == "__main__":
    suite.run()

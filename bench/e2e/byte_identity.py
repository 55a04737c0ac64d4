"""Sends each request to an engine directly and through GATEWAY and compares the answers:
status, every header field, body bytes after masking ids and times.

A difference in a header of HEADERS_ALLOWED is reported and tolerated. Levels of a case:
  bytes   status, headers and masked body are equal
  entry   /v1/models: the gateway's own answer, with more models; the entry of MODEL is equal
  error   the gateway itself must refuse (it needs the model's name to route): the status
          is equal and the body is an error object of the same API
  status  not part of any API: only the status is equal

Environment: see harness.py.
"""

import json
import re
import sys

from harness import DIRECT, ENGINE, GATEWAY, MODEL, exchange

ATTEMPTS = 5  # an engine under load may put two tokens into one event; both sides do
HEADERS_ALLOWED = {
    "connection", "keep-alive", "transfer-encoding", "content-length", "date", "server", "x-request-id",
    "cache-control", "x-accel-buffering",
}
MASKS = [
    (rb'"((?:chatcmpl|cmpl|resp|msg|rs|fc|call|modelperm)[-_])[^"]*"', rb'"\1#"'),
    (rb'"(request_id|id|item_id)":"[^"]{8,}"', rb'"\1":"#"'),
    (rb'"(created|created_at|completed_at)":[0-9.]+', rb'"\1":#'),
    (rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", rb"#"),
    # llama.cpp: speeds, and what a slot happened to keep of the last prompt.
    (rb'"timings":\{[^}]*\}', rb'"timings":#'),
]
if ENGINE == "llama":
    MASKS.append((rb'"(cached_tokens|cache_read_input_tokens|input_tokens)":[0-9]+', rb'"\1":#'))

TURNS = [{"role": "user", "content": "Tell me"}]
CHAT = {"model": MODEL, "messages": TURNS, "temperature": 0, "max_tokens": 8}
TEXT = {"model": MODEL, "prompt": "A river", "temperature": 0, "max_tokens": 8}
ANSWER = {"model": MODEL, "input": "A river", "temperature": 0, "max_output_tokens": 8}
MESSAGE = {"model": MODEL, "messages": TURNS, "temperature": 0, "max_tokens": 8}
IDS = {"model": MODEL, "token_ids": [65, 66, 67], "sampling_params": {"temperature": 0, "max_tokens": 8}}
TOOL = {
    "type": "function",
    "function": {"name": "look", "strict": True, "parameters": {
        "type": "object", "properties": {"far": {"type": "boolean"}}, "required": ["far"], "additionalProperties": False,
    }},
}
FORCED = {**CHAT, "max_tokens": 120, "tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "look"}}}
SHAPED = {**CHAT, "max_tokens": 40, "response_format": {"type": "json_schema", "json_schema": {
    "name": "look", "schema": TOOL["function"]["parameters"]}}}
USAGE = {"stream": True, "stream_options": {"include_usage": True}}
TOO_LONG = "river " * (70000 if ENGINE == "llama" else 4000)
UNKNOWN = {**CHAT, "model": "no-such-model"}

# Body text with what a re-encoding would change: key order, spaces, escapes, a number
# beyond 2^53, an unknown field, a duplicate key that does not route.
ODD_SPELLING = (
    '{ "unknown" : {"deep":[1,2.50,1e3,9007199254740993]}, "messages":[{"content":"Zo\\u00eb \\ud83d\\ude42 \\/ é",'
    '"role":"user"}],\n\t"seed":1,"seed":9007199254740993,"max_tokens":8,"temperature":0.0,"model":"%s"}' % MODEL
).encode()

# name, engines, level, method, path, body, headers
BOTH, VLLM = ("vllm", "llama"), ("vllm",)
CASES = [
    ("chat", BOTH, "bytes", "POST", "/v1/chat/completions", CHAT, {}),
    ("chat stream", BOTH, "bytes", "POST", "/v1/chat/completions", {**CHAT, "stream": True}, {}),
    ("chat stream usage", BOTH, "bytes", "POST", "/v1/chat/completions", {**CHAT, **USAGE}, {}),
    ("chat two choices", VLLM, "bytes", "POST", "/v1/chat/completions", {**CHAT, "n": 2}, {}),
    ("chat logprobs", BOTH, "bytes", "POST", "/v1/chat/completions", {**CHAT, "logprobs": True, "top_logprobs": 2}, {}),
    ("chat logprobs stream", VLLM, "bytes", "POST", "/v1/chat/completions",
     {**CHAT, "logprobs": True, "top_logprobs": 2, "stream": True}, {}),
    ("chat tool", VLLM, "bytes", "POST", "/v1/chat/completions", FORCED, {}),
    ("chat tool stream", VLLM, "bytes", "POST", "/v1/chat/completions", {**FORCED, "stream": True}, {}),
    ("chat json schema", BOTH, "bytes", "POST", "/v1/chat/completions", SHAPED, {}),
    ("chat token ids", VLLM, "bytes", "POST", "/v1/chat/completions", {**CHAT, "return_token_ids": True}, {}),
    ("chat odd spelling", BOTH, "bytes", "POST", "/v1/chat/completions", ODD_SPELLING,
     {"content-type": "application/json"}),
    ("chat content-type with charset", BOTH, "bytes", "POST", "/v1/chat/completions", json.dumps(CHAT).encode(),
     {"content-type": "application/json; charset=utf-8"}),
    ("chat accept gzip", BOTH, "bytes", "POST", "/v1/chat/completions", CHAT, {"accept-encoding": "gzip, br"}),
    ("chat with origin", VLLM, "bytes", "POST", "/v1/chat/completions", CHAT, {"origin": "http://app.example"}),
    ("chat batch", VLLM, "bytes", "POST", "/v1/chat/completions/batch", {**CHAT, "messages": [TURNS, TURNS]}, {}),
    ("chat render", VLLM, "bytes", "POST", "/v1/chat/completions/render", CHAT, {}),
    ("completions", BOTH, "bytes", "POST", "/v1/completions", TEXT, {}),
    ("completions stream", BOTH, "bytes", "POST", "/v1/completions", {**TEXT, **USAGE}, {}),
    ("completions echo", VLLM, "bytes", "POST", "/v1/completions", {**TEXT, "echo": True}, {}),
    ("completions two prompts", VLLM, "bytes", "POST", "/v1/completions", {**TEXT, "prompt": ["A", "B"]}, {}),
    ("completions token ids", BOTH, "bytes", "POST", "/v1/completions", {**TEXT, "prompt": [65, 66]}, {}),
    ("responses", BOTH, "bytes", "POST", "/v1/responses", ANSWER, {}),
    ("responses stream", BOTH, "bytes", "POST", "/v1/responses", {**ANSWER, "stream": True}, {}),
    ("responses unknown id", VLLM, "bytes", "GET", "/v1/responses/resp_0123456789", None, {}),
    ("messages", BOTH, "bytes", "POST", "/v1/messages", MESSAGE, {}),
    ("messages stream", BOTH, "bytes", "POST", "/v1/messages", {**MESSAGE, "stream": True}, {}),
    ("count_tokens", BOTH, "bytes", "POST", "/v1/messages/count_tokens", {"model": MODEL, "messages": TURNS}, {}),
    ("generate", VLLM, "bytes", "POST", "/inference/v1/generate", IDS, {}),
    ("generate stream", VLLM, "bytes", "POST", "/inference/v1/generate", {**IDS, "stream": True}, {}),
    ("embeddings", BOTH, "bytes", "POST", "/v1/embeddings", {"model": MODEL, "input": "A"}, {}),
    ("rerank", BOTH, "bytes", "POST", "/v1/rerank", {"model": MODEL, "query": "A", "documents": ["B"]}, {}),
    ("score", VLLM, "bytes", "POST", "/v1/score", {"model": MODEL, "text_1": "A", "text_2": "B"}, {}),
    ("classify", VLLM, "bytes", "POST", "/classify", {"model": MODEL, "input": "A"}, {}),
    ("pooling", VLLM, "bytes", "POST", "/pooling", {"model": MODEL, "input": "A"}, {}),
    ("tokenize", VLLM, "bytes", "POST", "/tokenize", {"model": MODEL, "prompt": "A river"}, {}),
    ("tokenize messages", VLLM, "bytes", "POST", "/tokenize", {"model": MODEL, "messages": TURNS}, {}),
    ("detokenize", VLLM, "bytes", "POST", "/detokenize", {"model": MODEL, "tokens": [300, 301]}, {}),
    ("tokenize", ("llama",), "bytes", "POST", "/tokenize", {"model": MODEL, "content": "A river"}, {}),
    ("detokenize", ("llama",), "bytes", "POST", "/detokenize", {"model": MODEL, "tokens": [300, 301]}, {}),
    ("models", BOTH, "entry", "GET", "/v1/models", None, {}),
    ("version", VLLM, "bytes", "GET", "/version", None, {}),
    ("400 missing field", BOTH, "bytes", "POST", "/v1/chat/completions", {"model": MODEL}, {}),
    ("400 bad parameter", VLLM, "bytes", "POST", "/v1/chat/completions", {**CHAT, "temperature": 9}, {}),
    ("400 bad parameter, stream", VLLM, "bytes", "POST", "/v1/chat/completions",
     {**CHAT, "temperature": 9, "stream": True}, {}),
    ("400 context too long", BOTH, "bytes", "POST", "/v1/completions", {**TEXT, "prompt": TOO_LONG}, {}),
    ("400 context too long, stream", BOTH, "bytes", "POST", "/v1/completions",
     {**TEXT, "prompt": TOO_LONG, "stream": True}, {}),
    ("400 messages, missing field", VLLM, "bytes", "POST", "/v1/messages", {"model": MODEL, "messages": TURNS}, {}),
    ("400 media type", VLLM, "error", "POST", "/v1/chat/completions", json.dumps(CHAT).encode(),
     {"content-type": "text/plain"}),
    ("400 malformed JSON", BOTH, "error", "POST", "/v1/chat/completions", b'{"model":"%s","messages":' % MODEL.encode(),
     {"content-type": "application/json"}),
    ("404 unknown model", VLLM, "error", "POST", "/v1/chat/completions", UNKNOWN, {}),
    ("404 unknown model, stream", VLLM, "error", "POST", "/v1/chat/completions", {**UNKNOWN, "stream": True}, {}),
    ("404 unknown model, messages", VLLM, "error", "POST", "/v1/messages", {**MESSAGE, "model": "no-such-model"}, {}),
    ("404 unknown path", BOTH, "status", "GET", "/no/such/path", None, {}),
    ("405 wrong method", VLLM, "status", "GET", "/v1/chat/completions", None, {}),
]


def masked(body: bytes) -> bytes:
    for pattern, replacement in MASKS:
        body = re.sub(pattern, replacement, body)
    return body


def header_differences(direct: list, through: list) -> list[tuple[str, str, str]]:
    """Name, direct value, gateway value for each field that differs; names compared without case."""
    def grouped(fields):
        values = {}
        for name, value in fields:
            values.setdefault(name.lower(), []).append(value)
        return values

    left, right = grouped(direct), grouped(through)
    return [
        (name, ", ".join(left.get(name, ["(absent)"])), ", ".join(right.get(name, ["(absent)"])))
        for name in sorted(left.keys() | right.keys())
        if left.get(name) != right.get(name)
    ]


def same_error_shape(direct: bytes, through: bytes) -> bool:
    try:
        left, right = json.loads(direct), json.loads(through)
        same = left["error"].keys() - right["error"].keys() <= {"param"} and bool(right["error"]["message"])
        return same and left.get("type") == right.get("type")
    except (ValueError, KeyError, AttributeError, TypeError):
        return False


def model_entry(body: bytes) -> bytes:
    for entry in json.loads(body)["data"]:
        if entry["id"] == MODEL:
            return json.dumps(entry, sort_keys=True).encode()
    return b"(missing)"


def body_problem(level: str, direct: bytes, through: bytes) -> str:
    if level == "bytes":
        left, right = masked(direct), masked(through)
        if left == right:
            return ""
        at = next((i for i, (a, b) in enumerate(zip(left, right)) if a != b), min(len(left), len(right)))
        return f"body differs at byte {at}: direct {left[max(0, at - 30):at + 60]!r}, gateway {right[max(0, at - 30):at + 60]!r}"
    if level == "entry":
        left, right = (masked(model_entry(body).replace(b": ", b":")) for body in (direct, through))
        return "" if left == right else f"entry differs: direct {left!r}, gateway {right!r}"
    if level == "error" and not same_error_shape(direct, through):
        return f"not the same kind of error: direct {direct[:200]!r}, gateway {through[:200]!r}"
    return ""


def compare(case) -> tuple[int, list[str], list[str]]:
    """Direct status, problems and tolerated differences of one case, one attempt."""
    _, _, level, method, path, body, headers = case
    direct = exchange(DIRECT[0], method, path, body, headers)
    through = exchange(GATEWAY, method, path, body, headers)
    if direct[0] != through[0]:
        return direct[0], [f"status: direct {direct[0]}, gateway {through[0]} {through[2][:200]!r}"], []
    problems, tolerated = [], []
    for name, left, right in header_differences(direct[1], through[1]):
        text = f"{name}: {left} -> {right}"
        strict = level == "bytes" and name not in HEADERS_ALLOWED
        (problems if strict else tolerated).append(text)
    problem = body_problem(level, direct[2], through[2])
    if problem:
        problems.append(problem)
    return direct[0], problems, tolerated


def warm_up(cases) -> None:
    """Twice on each replica, so that each reports the same number of cached tokens."""
    for base in DIRECT * 2:
        for _, _, _, method, path, body, headers in cases:
            exchange(base, method, path, body, headers)


def main() -> None:
    cases = [case for case in CASES if ENGINE in case[1]]
    warm_up(cases)
    failed, seen = 0, {}
    for case in cases:
        for attempt in range(1, ATTEMPTS + 1):
            status, problems, tolerated = compare(case)
            if not problems:
                break
        failed += bool(problems)
        again = f" (attempt {attempt})" if attempt > 1 and not problems else ""
        print(f"{'FAIL' if problems else 'ok  '} {case[0]} [{case[2]}] {case[3]} {case[4]} {status}{again}")
        for problem in problems:
            print(f"       {problem}")
        for text in tolerated:
            seen.setdefault(re.sub(r"(-> ps-).*|\d+", lambda m: "-> #" if m[1] else "N", text), []).append(case[0])
    print("\ntolerated differences (direct -> gateway), numbers as N, request ids as #")
    for text, names in sorted(seen.items()):
        print(f"  {len(names):3d} x  {text}   [{', '.join(names[:3])}{', ...' if len(names) > 3 else ''}]")
    print(f"byte-identity-{ENGINE}: {len(cases) - failed} passed, {failed} failed, 0 skipped", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

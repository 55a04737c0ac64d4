"""Counts cut answers that the Python openai SDK takes for whole ones.

Runs chats, streamed and not in turn, against a gateway whose upstream is being killed.
An answer is "complete" when the SDK raised nothing; it is "truncated_as_complete" when
its text then differs from the known one. Prints one JSON object.

  sdk_truncation.py --base URL [--model M] [--runs N] [--parallel P] [--max-tokens T]
                    [--prompt TEXT] [--expect TEXT | --control URL]

The known text is --expect, or what a healthy base (--control, default --base) answers.
"""

import argparse
import asyncio
import collections
import json
import sys

import openai

CONTROL_TRIES = 20


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", required=True)
    parser.add_argument("--control")
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--parallel", type=int, default=8)
    parser.add_argument("--max-tokens", type=int, default=200)
    parser.add_argument("--timeout", type=float, default=60, help="seconds for one answer")
    parser.add_argument("--prompt", default="Tell me a story about a river.")
    parser.add_argument("--expect")
    return parser.parse_args()


def new_client(base: str, timeout: float) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=base.rstrip("/") + "/v1", api_key="none", max_retries=0, timeout=timeout)


async def ask(client: openai.AsyncOpenAI, args: argparse.Namespace, stream: bool) -> tuple[str, str | None]:
    """Text and finish reason of one chat, as the SDK hands them over."""
    request = {
        "model": args.model, "temperature": 0, "max_tokens": args.max_tokens,
        "messages": [{"role": "user", "content": args.prompt}],
    }
    if not stream:
        choice = (await client.chat.completions.create(**request)).choices[0]
        return choice.message.content or "", choice.finish_reason
    text, reason = "", None
    async for chunk in await client.chat.completions.create(stream=True, **request):
        for choice in chunk.choices:
            text += choice.delta.content or ""
            reason = choice.finish_reason or reason
    return text, reason


async def known_text(args: argparse.Namespace) -> str:
    """The text that two answers agree on: one of them alone might itself be cut."""
    if args.expect is not None:
        return args.expect
    votes: collections.Counter = collections.Counter()
    async with new_client(args.control or args.base, args.timeout) as client:
        for attempt in range(CONTROL_TRIES):
            try:
                text, reason = await ask(client, args, stream=attempt % 2 == 1)
            except openai.OpenAIError:
                continue
            if reason in ("stop", "length"):
                votes[text] += 1
                if votes[text] == 2:
                    return text
    raise SystemExit(f"cannot learn the whole text: no two of {CONTROL_TRIES} answers agree")


async def main() -> int:
    args = parse()
    want = await known_text(args)
    numbers, results, kinds = iter(range(args.runs)), collections.Counter(), collections.Counter()
    examples: list[dict] = []

    async def worker(client: openai.AsyncOpenAI) -> None:
        for number in numbers:
            stream = number % 2 == 0
            try:
                text, reason = await ask(client, args, stream)
            except Exception as error:  # whatever the SDK raises tells its user that the answer failed
                results["errors"] += 1
                kinds[type(error).__name__] += 1
                continue
            results["complete"] += 1
            results["without_finish_reason"] += reason is None
            if text != want:
                results["truncated_as_complete"] += 1
                if len(examples) < 3:
                    examples.append({"stream": stream, "finish_reason": reason, "got": len(text), "want": len(want)})

    async with new_client(args.base, args.timeout) as client:
        await asyncio.gather(*(worker(client) for _ in range(args.parallel)))
    report = {"sdk": f"openai-python {openai.__version__}", "runs": args.runs}
    report |= {key: results[key] for key in ("complete", "errors", "truncated_as_complete", "without_finish_reason")}
    print(json.dumps(report | {"error_kinds": dict(kinds), "examples": examples}))
    return 1 if results["truncated_as_complete"] else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))

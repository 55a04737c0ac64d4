"""The few helpers that the Python suites share: checks, base URLs, raw HTTP, metrics.

Environment:
  GATEWAY  base URL under test
  DIRECT   base URLs of the engine's replicas, comma separated (default: GATEWAY)
  ENGINE   vllm, llama or sim (default vllm)
  MODEL    model name (default tiny)
  ROUTES   1 if what answers at GATEWAY routes by model name (default: GATEWAY is not in DIRECT)
"""

import http.client
import json
import os
import sys
import time
import traceback
import urllib.parse

GATEWAY = os.environ["GATEWAY"].rstrip("/")
DIRECT = [url.rstrip("/") for url in os.environ.get("DIRECT", GATEWAY).split(",")]
ENGINE = os.environ.get("ENGINE", "vllm")
MODEL = os.environ.get("MODEL", "tiny")
ROUTES = os.environ.get("ROUTES", "0" if GATEWAY in DIRECT else "1") == "1"

RUNNING = {
    "vllm": ("vllm:num_requests_running", "vllm:num_requests_waiting"),
    "llama": ("llamacpp:requests_processing", "llamacpp:requests_deferred"),
    "sim": ("vllm:num_requests_running", "vllm:num_requests_waiting"),
}
GENERATED = {"llama": "llamacpp:tokens_predicted_total"}

# llama.cpp looks for a gone client only after one second without any result in its
# queue, and a /metrics answer is such a result: polled faster, it never looks.
POLL = 1.5 if ENGINE == "llama" else 0.01


class Skip(Exception):
    """Raised by a check that this engine cannot serve."""


class Suite:
    """Collects checks, runs them in order and prints 'name: N passed, N failed'."""

    def __init__(self, name: str):
        self.name = name
        self.checks = []

    def check(self, function):
        self.checks.append(function)
        return function

    def run(self) -> None:
        passed = failed = skipped = 0
        print(f"# {self.name}: {GATEWAY} ({ENGINE}, {MODEL}; engine at {', '.join(DIRECT)})", flush=True)
        for function in self.checks:
            title = function.__name__.replace("_", " ")
            begun = time.monotonic()
            try:
                note = function()
            except Skip as reason:
                skipped += 1
                print(f"skip {title}: {reason}", flush=True)
            except Exception:
                failed += 1
                print(f"FAIL {title}\n{traceback.format_exc(limit=-3)}", flush=True)
            else:
                passed += 1
                text = f": {note}" if note else ""
                print(f"ok   {title} ({time.monotonic() - begun:.2f} s){text}", flush=True)
        print(f"{self.name}: {passed} passed, {failed} failed, {skipped} skipped", flush=True)
        sys.exit(1 if failed else 0)


def need(*engines: str) -> None:
    if ENGINE not in engines:
        raise Skip(f"not served by {ENGINE}")


def equal(got, want, what: str) -> None:
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


def true(fact, what: str) -> None:
    if not fact:
        raise AssertionError(what)


def connect(base: str, timeout: float = 120) -> tuple[http.client.HTTPConnection, str]:
    parts = urllib.parse.urlsplit(base)
    return http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout), parts.path


def exchange(base: str, method: str, path: str, body=None, headers=None):
    """One request on its own connection: status, header list as received, body bytes."""
    connection, prefix = connect(base)
    fields = dict(headers or {})
    if isinstance(body, (dict, list)):
        body = json.dumps(body).encode()
        fields.setdefault("content-type", "application/json")
    try:
        connection.request(method, prefix + path, body=body, headers=fields)
        response = connection.getresponse()
        return response.status, response.getheaders(), response.read()
    finally:
        connection.close()


def post_json(base: str, path: str, body) -> dict:
    status, _, text = exchange(base, "POST", path, body)
    if status != 200:
        raise AssertionError(f"POST {path}: {status} {text[:300]!r}")
    return json.loads(text)


def metric(name: str) -> float:
    """Sum of a metric over all engine replicas, asked directly."""
    total = 0.0
    for base in DIRECT:
        _, _, text = exchange(base, "GET", "/metrics")
        for line in text.decode().splitlines():
            if line.startswith((name + "{", name + " ")):
                total += float(line.rsplit(" ", 1)[1])
    return total


def running() -> float:
    return sum(metric(name) for name in RUNNING[ENGINE])


def generated() -> float:
    return metric(GENERATED.get(ENGINE, "vllm:generation_tokens_total"))


def wait_running(wanted, what: str, limit: float = 30.0) -> float:
    """Polls until wanted(count of running and waiting requests); returns the seconds it took."""
    begun = time.monotonic()
    count = running()
    while not wanted(count):
        if time.monotonic() - begun > limit:
            raise AssertionError(f"{what}: still {count} requests in the engine after {limit} s")
        time.sleep(POLL if count else 0.01)
        count = running()
    return time.monotonic() - begun

"""Prints the gateway configuration of the end-to-end run.

Usage: gateway_config.py PORT ADMIN_PORT ENGINE=MODEL=URL[,URL...] ...
"""

import json
import sys

KINDS = {"vllm": "vllm", "llama": "openai"}

# Paths of vLLM that the gateway does not know by itself; they go to the default pool.
PASSTHROUGH = ["/version", "/v1/chat/completions/batch", "/v1/chat/completions/render"]


def main(port: str, admin: str, pools: list[str]) -> None:
    lines = [
        "listen:", f'  address: "127.0.0.1:{port}"',
        "admin:", f'  address: "127.0.0.1:{admin}"',
        "routes:", f"  passthrough: {json.dumps(PASSTHROUGH)}",
        "pools:",
    ]
    for number, pool in enumerate(pools):
        name, model, urls = pool.split("=", 2)
        lines += [f"  - name: {name}", f"    engine: {KINDS[name]}", f"    default: {json.dumps(number == 0)}"]
        lines += ["    models:", f"      - id: {model}", "    replicas:"]
        lines += [f"      - url: {url}" for url in urls.split(",")]
    print("\n".join(lines))


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], sys.argv[3:])

"""Writes the fixtures of decode_test.go, with the engines' own event classes.

usage: PYTHON gen.py vllm > vllm.jsonl
       PYTHON gen.py sglang PATH/TO/sglang/srt/disaggregation/kv_events.py > sglang.jsonl
       PYTHON gen.py old > old.jsonl

The first needs vllm (made with 0.32), the others msgspec, sglang's also pyzmq and
pydantic (made with 0.5.18). "old" are the array forms of vLLM up to 0.23, after its
release history. A line has a name, what to expect, and the payload in hexadecimal.
"""

import importlib.util
import json
import sys

import msgspec

GPU = dict(parent_block_hash=None, block_size=4, lora_id=None, medium="GPU")
TOKENS = [1, 200, 70000, 2**31]


def load(kind):
    if kind == "vllm":
        from vllm.distributed import kv_events

        return kv_events
    spec = importlib.util.spec_from_file_location("kv_events", sys.argv[2])
    module = importlib.util.module_from_spec(spec)
    sys.modules["kv_events"] = module
    spec.loader.exec_module(module)
    return module


def vllm(m):
    def stored(**f):
        return m.BlockStored(**{**GPU, "lora_name": None, **f})

    h = 2**64 - 5
    yield "root", [stored(block_hashes=[h], token_ids=TOKENS)]
    yield "child", [stored(block_hashes=[7, 8], parent_block_hash=h, token_ids=TOKENS * 2)]
    yield "digest", [stored(block_hashes=[b"\xab" * 32], parent_block_hash=b"\xcd" * 32, token_ids=TOKENS)]
    yield "adapter", [stored(block_hashes=[1], token_ids=TOKENS, lora_id=3, lora_name="sql", extra_keys=[("sql",)])]
    yield "salt", [stored(block_hashes=[1, 2], token_ids=TOKENS * 2, extra_keys=[("alice",), None])]
    yield "image", [stored(block_hashes=[1, 2], token_ids=TOKENS * 2, extra_keys=[None, (("cat", -3),)])]
    yield "everything", [
        stored(
            block_hashes=[1],
            token_ids=TOKENS,
            extra_keys=[None],
            group_idx=2,
            kv_cache_spec_kind="sliding_window",
            kv_cache_spec_sliding_window=128,
            locality="REMOTE",
            ownership="tier-2",
            session_id="s",
        )
    ]
    yield "removed", [m.BlockRemoved(block_hashes=[h, 1], medium="CPU", group_idx=1)]
    yield "cleared", [m.AllBlocksCleared()]
    yield "several", [
        m.BlockRemoved(block_hashes=[1], medium="STORAGE"),
        stored(block_hashes=[2], token_ids=TOKENS, medium=None),
        m.AllBlocksCleared(),
    ]
    yield "placeholder", [stored(block_hashes=[1], token_ids=[], block_size=0, medium="CPU")]
    yield "nothing", []


def sglang(m):
    s = m.StorageMedium
    yield "root", [m.BlockStored(**{**GPU, "block_hashes": [-5], "token_ids": TOKENS})]
    yield "child", [m.BlockStored(**{**GPU, "block_hashes": [-7, 8], "parent_block_hash": -5, "token_ids": TOKENS * 2})]
    yield "salt", [
        m.BlockStoredWithMetadata(
            **{**GPU, "block_hashes": [1], "token_ids": TOKENS},
            metadata=m.BlockStoredMetadata(cache_salt="alice"),
        )
    ]
    yield "pairs", [m.BlockStored(**{**GPU, "block_hashes": [1], "token_ids": [(t, 9) for t in TOKENS]})]
    for medium in s:
        yield "removed " + medium.name, [m.BlockRemoved(block_hashes=[-5], medium=medium)]
    yield "removed", [m.BlockRemoved(block_hashes=[-5])]
    yield "cleared", [m.AllBlocksCleared()]


def old():
    first = ["BlockStored", [2**64 - 5], None, TOKENS, 4, None]
    yield "first", [first]
    yield "medium", [first + ["CPU"]]
    yield "adapter", [first[:5] + [3, "GPU", "sql"]]
    yield "adapter by number", [first[:5] + [3, "GPU"]]
    yield "extra keys", [first + ["GPU", None, [["alice"]]]]
    yield "image", [first + ["GPU", None, [["cat"]]]]
    yield "group", [first + ["GPU", None, None, 1, "mla_attention", None]]
    yield "removed", [["BlockRemoved", [1, 2]], ["BlockRemoved", [3], "CPU", 2], ["AllBlocksCleared"]]


def plain(event):
    """An event as JSON for the test: fields by name, digests in hexadecimal."""
    if isinstance(event, list):
        names = "type block_hashes parent_block_hash token_ids block_size lora_id medium lora_name extra_keys group_idx kv_cache_spec_kind".split()
        if event[0] == "BlockRemoved":
            names = "type block_hashes medium group_idx".split()
        return dict(zip(names, event))
    fields = {f: getattr(event, f) for f in event.__struct_fields__}
    return {"type": event.__struct_config__.tag, **fields}


def hexed(value):
    if isinstance(value, bytes):
        return "0x" + value.hex()
    return str(value)


kind = sys.argv[1]
module = None if kind == "old" else load(kind)
source = {"vllm": vllm, "sglang": sglang}.get(kind, lambda _: old())
for name, events in source(module):
    if kind == "old":
        payload = msgspec.msgpack.encode([1.5, events])
    elif kind == "vllm":
        payload = msgspec.msgpack.encode(module.KVEventBatch(ts=1.5, events=events, data_parallel_rank=3))
    else:
        payload = msgspec.msgpack.encode(module.KVEventBatch(ts=1.5, events=events, attn_dp_rank=3))
    line = {"name": name, "events": [plain(e) for e in events], "payload": payload.hex()}
    print(json.dumps(line, default=hexed))

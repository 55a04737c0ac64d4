"""Publishes KV events as an engine does, for live_test.go.

usage: publisher.py KIND ENDPOINT REPLAY FIRST COUNT [SOURCE]

KIND is vllm (the class of the installed package), sglang (the class in the file SOURCE)
or plain (pyzmq alone, in SGLang's layout). Batch i stores a block of the four tokens
4i..4i+3, offset by FIRST, after the block before; every third batch removes the block of
the batch before. Prints a line when all are published and goes on serving replays until
standard input ends.
"""

import importlib.util
import sys
import threading
import time

kind, endpoint, replay, first, count = sys.argv[1:6]
first, count = int(first), int(count)


def block(i):
    tokens = [first + 4 * i + k for k in range(4)]
    return hash(("block", first, i)) & (2**63 - 1), tokens


def batches(module):
    parent = None
    for i in range(count):
        name, tokens = block(i)
        if i % 3 == 2:
            gone, _ = block(i - 1)
            yield [module.BlockRemoved(block_hashes=[gone], medium="GPU")]
            parent = None
            continue
        extra = {"lora_name": None} if kind == "vllm" else {}
        yield [
            module.BlockStored(
                block_hashes=[name],
                parent_block_hash=parent,
                token_ids=tokens,
                block_size=4,
                lora_id=None,
                medium="GPU",
                **extra,
            )
        ]
        parent = name


def publish(module):
    options = dict(endpoint=endpoint, replay_endpoint=replay, buffer_steps=20000)
    if kind == "vllm":
        publisher = module.ZmqEventPublisher(data_parallel_rank=0, **options)
    else:
        publisher = module.ZmqEventPublisher(attn_dp_rank=0, **options)
    for events in batches(module):
        publisher.publish(module.KVEventBatch(ts=time.time(), events=events))
    while not publisher._event_queue.empty():
        time.sleep(0.01)
    print("published", flush=True)
    sys.stdin.read()


def plain():
    import msgspec
    import zmq

    class Events:
        def BlockStored(self, **f):
            return ["BlockStored", *f.values()]

        def BlockRemoved(self, **f):
            return ["BlockRemoved", *f.values()]

    context = zmq.Context()
    pub, router = context.socket(zmq.PUB), context.socket(zmq.ROUTER)
    pub.bind(endpoint)
    router.bind(replay)
    buffer = []
    for seq, events in enumerate(batches(Events())):
        buffer.append((seq.to_bytes(8, "big"), msgspec.msgpack.encode([time.time(), events])))
        pub.send_multipart((b"", *buffer[-1]))
    print("published", flush=True)
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    while not ended.is_set():
        if router.poll(100):
            client, _, start = router.recv_multipart()
            for seq, payload in buffer[int.from_bytes(start, "big"):]:
                router.send_multipart((client, b"", seq, payload))
            router.send_multipart((client, b"", (-1).to_bytes(8, "big", signed=True), b""))


if kind == "plain":
    plain()
elif kind == "sglang":
    spec = importlib.util.spec_from_file_location("kv_events", sys.argv[6])
    module = importlib.util.module_from_spec(spec)
    sys.modules["kv_events"] = module
    spec.loader.exec_module(module)
    publish(module)
else:
    from vllm.distributed import kv_events

    publish(kv_events)

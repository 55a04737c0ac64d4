"""Runs llama.cpp's own HTTP server, as the prebuilt package xllamacpp embeds it.

Usage: llama_server.py MODEL.gguf PORT. Stops on SIGTERM.
"""

import signal
import sys

import xllamacpp

SLOTS = 4
SLOT_CONTEXT = 65536


def main(model: str, port: int) -> None:
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {"tiny-gguf"}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_parallel = SLOTS
    params.n_ctx = SLOTS * SLOT_CONTEXT  # llama.cpp divides it by the slots
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.endpoint_metrics = True
    params.use_jinja = True
    params.n_gpu_layers = 0
    server = xllamacpp.Server(params)
    print(f"listening on {server.listening_address}", flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    main(sys.argv[1], int(sys.argv[2]))

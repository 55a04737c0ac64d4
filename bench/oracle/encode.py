"""The Python side of the oracle: encodes texts with the official tokenizers.

encode.py batch MODEL TEXTS OUT    every set of TEXTS, in every mode, by the oracle that rules
encode.py serve MODEL ORACLE MODE  texts from standard input, ids to standard output, until it ends

A text is its length (uint32, little endian) and its bytes; ids are their count and
themselves (uint32). A file of OUT is named SET.ORACLE.MODE.

Modes: plain adds nothing, special adds what the post-processor adds, typed leaves special
tokens in the text as ordinary text (only for sets that have any). What special adds does
not depend on the text, so long texts are encoded in plain mode only.
"""

import array
import json
import os
import pathlib
import struct
import sys

os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["HF_HUB_OFFLINE"] = "1"
CHUNK = 256
TYPED_SETS = ("added", "chat")
LONG = ("sweep", "contexts", "agent")


def read_texts(path: pathlib.Path) -> list[str]:
    data, at, texts = path.read_bytes(), 0, []
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        texts.append(data[at + 4 : at + 4 + size].decode())
        at += 4 + size
    return texts


def ids_bytes(ids) -> bytes:
    return struct.pack("<I", len(ids)) + array.array("I", ids).tobytes()


class Tokenizers:
    """The Rust library itself, reading tokenizer.json."""

    name = "hf"

    def __init__(self, folder: pathlib.Path, about: dict):
        from tokenizers import Tokenizer

        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()

    def encode(self, texts: list[str], mode: str) -> list[list[int]]:
        self.tokenizer.encode_special_tokens = mode == "typed"
        found = self.tokenizer.encode_batch_fast(texts, add_special_tokens=mode == "special")
        return [e.ids for e in found]


class Auto:
    """What an engine calls: transformers, which may rebuild parts of the file."""

    name = "auto"

    def __init__(self, folder: pathlib.Path, about: dict):
        from transformers import AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(str(folder))

    def encode(self, texts: list[str], mode: str) -> list[list[int]]:
        options = {"add_special_tokens": mode == "special", "split_special_tokens": mode == "typed"}
        return self.tokenizer(texts, return_attention_mask=False, **options)["input_ids"]


class Tiktoken:
    name = "tiktoken"

    def __init__(self, folder: pathlib.Path, about: dict):
        import tiktoken
        from tiktoken.load import load_tiktoken_bpe

        ranks = load_tiktoken_bpe(str(folder / about["file"]))
        args = {"pat_str": about["pattern"], "mergeable_ranks": ranks, "special_tokens": about["specials"]}
        self.encoding = tiktoken.Encoding(folder.name, **args)

    def encode(self, texts: list[str], mode: str) -> list[list[int]]:
        allowed = set() if mode == "typed" else "all"
        return self.encoding.encode_batch(texts, num_threads=2, allowed_special=allowed, disallowed_special=())


class Tekken:
    """mistral-common: special tokens in a text are never taken for such."""

    name = "mistral"

    def __init__(self, folder: pathlib.Path, about: dict):
        from mistral_common.tokens.tokenizers.tekken import Tekkenizer

        self.tokenizer = Tekkenizer.from_file(folder / "tekken.json")

    def encode(self, texts: list[str], mode: str) -> list[list[int]]:
        return [self.tokenizer.encode(t, bos=mode == "special", eos=False) for t in texts]


ORACLES = {"huggingface": (Tokenizers, Auto), "tiktoken": (Tiktoken,), "tekken": (Tekken,)}


def modes_of(name: str) -> tuple[str, ...]:
    if name in LONG or name.endswith("0k"):
        return ("plain",)
    return ("plain", "special", "typed") if name in TYPED_SETS else ("plain", "special")


def rules(oracle: str, about: dict) -> bool:
    """transformers is what engines call, where a config.json names the model's type;
    without one the library reads tokenizer.json as it is."""
    return oracle not in ("hf", "auto") or (oracle == "auto") == ("model_type" in about)


def batch(folder: pathlib.Path, texts: pathlib.Path, out: pathlib.Path) -> None:
    about = json.loads((folder / "oracle.json").read_text())
    out.mkdir(parents=True, exist_ok=True)
    sets = {p.stem: read_texts(p) for p in sorted(texts.glob("*.texts"))}
    for make in ORACLES[about["kind"]]:
        if not rules(make.name, about):
            continue
        oracle = make(folder, about)
        for name, found in sets.items():
            for mode in modes_of(name):
                write_ids(out / f"{name}.{oracle.name}.{mode}", oracle, found, mode)


def write_ids(path: pathlib.Path, oracle, texts: list[str], mode: str) -> None:
    with path.open("wb") as f:
        for at in range(0, len(texts), CHUNK):
            f.write(b"".join(ids_bytes(ids) for ids in oracle.encode(texts[at : at + CHUNK], mode)))


def serve(folder: pathlib.Path, name: str, mode: str) -> None:
    about = json.loads((folder / "oracle.json").read_text())
    oracle = next(o for o in ORACLES[about["kind"]] if o.name == name)(folder, about)
    while head := sys.stdin.buffer.read(4):
        (size,) = struct.unpack("<I", head)
        text = sys.stdin.buffer.read(size).decode()
        sys.stdout.buffer.write(ids_bytes(oracle.encode([text], mode)[0]))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    if sys.argv[1] == "batch":
        batch(*(pathlib.Path(a) for a in sys.argv[2:5]))
    else:
        serve(pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4])

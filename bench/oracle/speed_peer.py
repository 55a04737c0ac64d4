"""Times the official tokenizers of one model, one document at a time on one thread.

speed_peer.py MODEL DOCUMENTS: for each kind of text read from standard input, encodes
the warm documents (the first time), then the unseen ones, and answers with a line of
JSON: the seconds of thread CPU that the unseen ones took, by tokenizer.
"""

import json
import pathlib
import sys
import time

from encode import ORACLES, read_texts

# tiktoken has these vocabularies too, as files of ranks.
SAME_RANKS = {"gptoss": "o200k_base", "gpt4o": "o200k_base", "gpt35turbo": "cl100k_base"}


def single(oracle):
    """The plain call for one text, not the one for batches."""
    if oracle.name == "hf":
        return lambda text: oracle.tokenizer.encode(text, add_special_tokens=False)
    if oracle.name == "tiktoken":
        return oracle.encoding.encode_ordinary
    return lambda text: oracle.tokenizer.encode(text, bos=False, eos=False)


def load(folder: pathlib.Path) -> dict:
    about = json.loads((folder / "oracle.json").read_text())
    found = {}
    for make in ORACLES[about["kind"]]:
        if make.name != "auto":
            found[make.name] = single(make(folder, about))
    ranks = folder.parent / SAME_RANKS.get(folder.name, "")
    if folder.name in SAME_RANKS and (ranks / "oracle.json").exists():
        found |= load(ranks)
    return found


def main(folder: pathlib.Path, documents: pathlib.Path) -> None:
    encoders, texts, warmed = load(folder), {}, set()
    for line in sys.stdin:
        kind = line.strip()
        if kind not in texts:
            texts[kind] = [read_texts(documents / f"{kind}.{part}") for part in ("warm", "unseen")]
        warm, unseen = texts[kind]
        seconds = {}
        for name, encode in encoders.items():
            if (name, kind) not in warmed:  # later rounds know the unseen ones too, to their credit
                warmed.add((name, kind))
                for doc in warm:
                    encode(doc)
            start = time.thread_time()
            for doc in unseen:
                encode(doc)
            seconds[name] = time.thread_time() - start
        print(json.dumps(seconds), flush=True)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))

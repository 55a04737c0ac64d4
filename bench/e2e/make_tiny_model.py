"""Writes a tiny Llama model that a real vLLM loads in seconds on a CPU.

The tokenizer is a real byte-level BPE (trained here, no download), the weights are
seeded random numbers. The output rows of everything that is not printable ASCII are
zero, so greedy text is printable, never ends by itself and is the same on every
replica: a cut answer cannot pass for a whole one.

Needs numpy only. Usage: make_tiny_model.py OUTDIR
"""

import collections
import json
import pathlib
import re
import struct
import sys

import numpy as np

VOCAB = 512
HIDDEN = 64
LAYERS = 2
HEADS = 2
KV_HEADS = 2
HEAD_DIM = 32  # smallest size that vLLM's CPU attention accepts
INTERMEDIATE = 128
MAX_POSITIONS = 4096
ROPE_THETA = 10000.0
RMS_EPS = 1e-5
SEED = 1234

EOS = "<|endoftext|>"
TURN_START = "<|im_start|>"
TURN_END = "<|im_end|>"
SPECIALS = [EOS, TURN_START, TURN_END]

# Only merges are learnt from it: what it says does not matter, that it holds the
# common English pairs does.
CORPUS = """
The gateway reads the request, picks a replica of the engine and passes the answer on.
When the client leaves before the answer is complete, the gateway closes the connection
to the engine, and the engine stops the work and frees the blocks of its cache.
A stream is a list of events, each of them a line of data and an empty line, and the
last event says that the stream is done. Without the last event the answer was cut.
The weather in the north is cold and the weather in the south is warm. What is the
capital of the country, and how many people live there? Tell me a story about a river,
a bridge and the person who built the bridge. There are seven numbers in the list: one,
two, three, four, five, six, seven. Use the function with the name of the city.
{"name": "value", "content": "text", "role": "user", "type": "object"}
"""

# ChatML turns; tools are listed in the system turn the way Hermes models expect them.
CHAT_TEMPLATE = (
    "{%- if tools %}{{- '<|im_start|>system\\n' }}"
    "{{- 'You may call these functions:\\n<tools>' }}"
    "{%- for tool in tools %}{{- '\\n' }}{{- tool | tojson }}{%- endfor %}"
    "{{- '\\n</tools>\\nTo call one, write <tool_call>\\n{\"name\": ..., \"arguments\": ...}"
    "\\n</tool_call><|im_end|>\\n' }}{%- endif %}"
    "{%- for message in messages %}"
    "{{- '<|im_start|>' + message.role + '\\n' }}"
    "{%- if message.content is string %}{{- message.content }}"
    "{%- elif message.content %}{%- for part in message.content %}"
    "{%- if part.text is defined %}{{- part.text }}{%- endif %}{%- endfor %}{%- endif %}"
    "{%- for call in message.tool_calls or [] %}"
    "{{- '\\n<tool_call>\\n{\"name\": \"' + call.function.name + '\", \"arguments\": ' }}"
    "{{- call.function.arguments | tojson }}{{- '}\\n</tool_call>' }}"
    "{%- endfor %}"
    "{{- '<|im_end|>\\n' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)


def byte_alphabet() -> list[str]:
    """The printable stand-in of each byte value, as byte-level BPE files spell it."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    alphabet, spare = [""] * 256, 256
    for value in range(256):
        if value in plain:
            alphabet[value] = chr(value)
        else:
            alphabet[value] = chr(spare)
            spare += 1
    return alphabet


def learn_merges(text: str, count: int) -> list[tuple[str, str]]:
    """Plain BPE training; ties go to the smallest pair, so the result is reproducible."""
    alphabet = byte_alphabet()
    words = collections.Counter(re.findall(r" ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+", text))
    spelled = {word: [alphabet[b] for b in word.encode()] for word in words}
    merges: list[tuple[str, str]] = []
    while len(merges) < count:
        pairs: collections.Counter = collections.Counter()
        for word, times in words.items():
            parts = spelled[word]
            for pair in zip(parts, parts[1:]):
                pairs[pair] += times
        if not pairs:
            raise ValueError(f"cannot learn {count} merges: the corpus holds only {len(merges)}")
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        for word, parts in spelled.items():
            spelled[word] = apply_merge(parts, best)
    return merges


def apply_merge(parts: list[str], pair: tuple[str, str]) -> list[str]:
    merged, at = [], 0
    while at < len(parts):
        if at + 1 < len(parts) and (parts[at], parts[at + 1]) == pair:
            merged.append(parts[at] + parts[at + 1])
            at += 2
        else:
            merged.append(parts[at])
            at += 1
    return merged


def build_vocab() -> tuple[list[str], list[tuple[str, str]]]:
    """Tokens in id order (special, bytes, merges) and the merges in rank order."""
    alphabet = byte_alphabet()
    merges = learn_merges(CORPUS, VOCAB - len(SPECIALS) - len(alphabet))
    tokens = SPECIALS + alphabet + [left + right for left, right in merges]
    if len(set(tokens)) != VOCAB:
        raise ValueError(f"cannot build the vocabulary: {len(set(tokens))} distinct tokens, want {VOCAB}")
    return tokens, merges


def printable(token: str) -> bool:
    if token in SPECIALS:
        return False
    value = {stand_in: byte for byte, stand_in in enumerate(byte_alphabet())}
    return all(32 <= value[char] < 127 for char in token)


def build_weights(tokens: list[str]) -> dict[str, np.ndarray]:
    """All tensors, named as Hugging Face Llama checkpoints name them."""
    rng = np.random.default_rng(SEED)

    def matrix(rows: int, columns: int, scale: float) -> np.ndarray:
        return (rng.standard_normal((rows, columns)) * scale).astype(np.float32)

    ones = np.ones(HIDDEN, dtype=np.float32)
    inner = HIDDEN**-0.5
    weights = {"model.embed_tokens.weight": matrix(VOCAB, HIDDEN, 1.0), "model.norm.weight": ones}
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}."
        weights[prefix + "input_layernorm.weight"] = ones
        weights[prefix + "post_attention_layernorm.weight"] = ones
        weights[prefix + "self_attn.q_proj.weight"] = matrix(HEADS * HEAD_DIM, HIDDEN, 2 * inner)
        weights[prefix + "self_attn.k_proj.weight"] = matrix(KV_HEADS * HEAD_DIM, HIDDEN, 2 * inner)
        weights[prefix + "self_attn.v_proj.weight"] = matrix(KV_HEADS * HEAD_DIM, HIDDEN, 2 * inner)
        weights[prefix + "self_attn.o_proj.weight"] = matrix(HIDDEN, HEADS * HEAD_DIM, 2 * inner)
        weights[prefix + "mlp.gate_proj.weight"] = matrix(INTERMEDIATE, HIDDEN, 2 * inner)
        weights[prefix + "mlp.up_proj.weight"] = matrix(INTERMEDIATE, HIDDEN, 2 * inner)
        weights[prefix + "mlp.down_proj.weight"] = matrix(HIDDEN, INTERMEDIATE, 2 * INTERMEDIATE**-0.5)
    head = matrix(VOCAB, HIDDEN, 0.35)
    head[[not printable(token) for token in tokens]] = 0.0
    weights["lm_head.weight"] = head
    return weights


def write_safetensors(path: pathlib.Path, weights: dict[str, np.ndarray]) -> None:
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, tensor in weights.items():
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [offset, offset + tensor.nbytes]}
        offset += tensor.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in weights.values():
            file.write(tensor.astype("<f4").tobytes())


def tokenizer_json(tokens: list[str], merges: list[tuple[str, str]]) -> dict:
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": i, "content": text, "single_word": False, "lstrip": False, "rstrip": False,
             "normalized": False, "special": True}
            for i, text in enumerate(SPECIALS)
        ],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
            "vocab": {token: i for i, token in enumerate(tokens)},
            "merges": [list(pair) for pair in merges],
        },
    }


def model_config() -> dict:
    return {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
        "hidden_size": HIDDEN, "intermediate_size": INTERMEDIATE, "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "head_dim": HEAD_DIM,
        "vocab_size": VOCAB, "max_position_embeddings": MAX_POSITIONS, "rms_norm_eps": RMS_EPS,
        "rope_theta": ROPE_THETA, "attention_bias": False, "mlp_bias": False,
        "tie_word_embeddings": False, "torch_dtype": "float32",
        "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0,
    }


def main(out: str) -> None:
    folder = pathlib.Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    tokens, merges = build_vocab()
    files = {
        "config.json": model_config(),
        "generation_config.json": {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0},
        "tokenizer.json": tokenizer_json(tokens, merges),
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": MAX_POSITIONS,
            "bos_token": EOS, "eos_token": EOS, "pad_token": EOS,
            "clean_up_tokenization_spaces": False, "chat_template": CHAT_TEMPLATE,
        },
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, indent=1) + "\n")
    write_safetensors(folder / "model.safetensors", build_weights(tokens))
    print(f"wrote {folder}: {LAYERS} layers, {VOCAB} tokens, {len(merges)} merges")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])

"""Writes a tiny model around a real tokenizer, for vLLM with dummy weights.

The answers are noise; the prompts are real: the tokenizer and the chat template are the
package's own, so that what the engine makes of a request can be compared with what the
gateway does. Usage: make_keyed_model.py TOKENIZER_FOLDER OUTDIR
"""

import json
import pathlib
import shutil
import sys

MAX_POSITIONS = 32768

# The type decides which class loads the tokenizer, so each has its own.
TYPES = {
    "qwen3": {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"]},
    "deepseek_v3": {
        "model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"],
        "num_key_value_heads": 2, "q_lora_rank": 32, "kv_lora_rank": 32, "qk_nope_head_dim": 32,
        "qk_rope_head_dim": 32, "v_head_dim": 64, "head_dim": 64,
        "first_k_dense_replace": 1,  # of one layer: no experts
    },
    "gptoss": {
        "model_type": "gpt_oss", "architectures": ["GptOssForCausalLM"], "layer_types": ["full_attention"],
        "num_local_experts": 2, "num_experts_per_tok": 1, "intermediate_size": 64, "attention_bias": True,
        "torch_dtype": "bfloat16",
    },
}


def vocabulary_size(tokenizer: dict) -> int:
    ids = [*tokenizer["model"]["vocab"].values(), *(token["id"] for token in tokenizer["added_tokens"])]
    return max(ids) + 1


def model_config(name: str, vocabulary: int) -> dict:
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
        "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 1,
        "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32,
        "vocab_size": vocabulary, "max_position_embeddings": MAX_POSITIONS, "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0, "attention_bias": False, "mlp_bias": False,
        "tie_word_embeddings": True, "torch_dtype": "float32",
    }
    return config | TYPES.get(name, {})


def main(source: str, out: str) -> None:
    folder = pathlib.Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        if (pathlib.Path(source) / name).exists():
            shutil.copy(pathlib.Path(source) / name, folder / name)
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    config = model_config(pathlib.Path(source).name, vocabulary_size(tokenizer))
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    print(f"wrote {folder}: {config['vocab_size']} tokens")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])

"""Writes the tiny model of make_tiny_model.py as GGUF, for llama.cpp.

Same vocabulary, chat template and numbers. The query and key rows are not permuted to
llama.cpp's rotary layout, so the texts differ from vLLM's; nothing here compares them.

Needs gguf and numpy. Usage: make_tiny_gguf.py OUTFILE
"""

import sys

import gguf

import make_tiny_model as tiny

# llama.cpp decodes this model at about 10,000 tokens a second; only a long context
# leaves time to walk away from a running request.
CONTEXT = 65536

NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def gguf_name(name: str) -> str:
    stem = name.removesuffix(".weight")
    if stem.startswith("model.layers."):
        layer, part = stem.removeprefix("model.layers.").split(".", 1)
        return f"blk.{layer}.{NAMES[part]}.weight"
    return f"{NAMES[stem]}.weight"


def main(out: str) -> None:
    tokens, merges = tiny.build_vocab()
    writer = gguf.GGUFWriter(out, "llama")
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(tiny.HIDDEN)
    writer.add_block_count(tiny.LAYERS)
    writer.add_feed_forward_length(tiny.INTERMEDIATE)
    writer.add_head_count(tiny.HEADS)
    writer.add_head_count_kv(tiny.KV_HEADS)
    writer.add_rope_dimension_count(tiny.HEAD_DIM)
    writer.add_rope_freq_base(tiny.ROPE_THETA)
    writer.add_layer_norm_rms_eps(tiny.RMS_EPS)
    writer.add_vocab_size(tiny.VOCAB)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(
        [gguf.TokenType.CONTROL if token in tiny.SPECIALS else gguf.TokenType.NORMAL for token in tokens]
    )
    writer.add_token_merges([f"{left} {right}" for left, right in merges])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    writer.add_pad_token_id(0)
    writer.add_add_bos_token(False)
    writer.add_chat_template(tiny.CHAT_TEMPLATE)
    for name, tensor in tiny.build_weights(tokens).items():
        writer.add_tensor(gguf_name(name), tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    print(f"wrote {out}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])

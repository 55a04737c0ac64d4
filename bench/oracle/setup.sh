#!/usr/bin/env bash
# Installs the official tokenizers, the vocabularies and the texts that `make oracle`
# compares with, pinned, under ${PENSTOCK_CACHE:-<repository>/.cache}/oracle; then
# builds the texts and asks the official tokenizers for their ids, once per model.
# Idempotent: what is there is left alone. Needs Python 3.12, Node >= 20, Go and about
# 4 GB of disk. `setup.sh --install` stops before the texts and ids.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${PENSTOCK_CACHE:-$(cd "$here/../.." && pwd)/.cache}/oracle
uv_version=0.13.9
export PYTHONDONTWRITEBYTECODE=1

say() { printf 'setup: %s\n' "$*"; }

# 3.12 and no other: the texts take their reference prose and their Python code from
# the interpreter's own library. A version manager's shim may exist for one that is
# not active, so the first that really runs is taken.
find_python() {
  local candidate
  for candidate in python3.12 "$HOME"/.pyenv/versions/3.12*/bin/python3 python3; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 12))' 2>/dev/null; then
      printf '%s\n' "$candidate"
      return
    fi
  done
  say "cannot find Python 3.12" >&2
  return 1
}

# The requirements are a full freeze, so nothing is resolved.
install_python() {
  local venv=$cache/python stamp
  stamp=$(sha256sum "$here/requirements.txt" | cut -d' ' -f1)
  if [[ -f $venv/.stamp && $(cat "$venv/.stamp") == "$stamp" ]]; then
    say "python: up to date"
    return
  fi
  say "python: installing $(grep -c '==' "$here/requirements.txt") packages"
  rm -rf "$venv"
  "$(find_python)" -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet "uv==$uv_version"
  "$venv/bin/uv" pip install --quiet --no-cache --no-deps --python "$venv/bin/python" -r "$here/requirements.txt"
  printf '%s\n' "$stamp" >"$venv/.stamp"
}

# The last release with the character classes of Unicode 14; it needs nothing else here.
install_unicode14() {
  local venv=$cache/unicode14 wanted=tokenizers==0.21.1
  [[ ! -f $venv/.stamp || $(cat "$venv/.stamp") != "$wanted" ]] || return 0
  say "unicode14: installing $wanted"
  rm -rf "$venv"
  "$(find_python)" -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --no-deps "$wanted"
  printf '%s\n' "$wanted" >"$venv/.stamp"
}

install_node() {
  local node=$cache/node
  if cmp -s "$here/package.json" "$node/package.json" && [[ -d $node/node_modules/tokenizers ]]; then
    say "node: up to date"
    return
  fi
  say "node: installing the official tokenizers"
  mkdir -p "$node"
  cp "$here/package.json" "$node/package.json"
  npm install --prefix "$node" --silent --no-audit --no-fund --no-package-lock --ignore-scripts
}

# download KIND NAME VERSION: the archive, into the current folder. A source archive of
# Python runs its build script for its metadata, without isolation: nothing else comes.
download() {
  case $1 in
  npm) npm pack --silent "$2@$3" >/dev/null ;;
  wheel) "$cache/python/bin/python" -m pip download --quiet --no-deps --only-binary :all: "$2==$3" ;;
  sdist) "$cache/python/bin/python" -m pip download --quiet --no-deps --no-binary :all: --no-build-isolation "$2==$3" ;;
  *) say "sources.lock: unknown registry $1" >&2; return 1 ;;
  esac
}

unpack() {
  case $1 in
  *.whl) "$cache/python/bin/python" -m zipfile -e "$1" "$2" ;;
  *) mkdir -p "$2" && tar xzf "$1" -C "$2" --strip-components=1 ;;
  esac
}

# fetch KIND NAME VERSION SHA256: unpacked into sources/NAME, checked before.
fetch() {
  local name=${2//\//-} work archive
  local target=$cache/sources/${name#@}
  if [[ -f $target/.stamp && $(cat "$target/.stamp") == "$4" ]]; then
    return
  fi
  say "source: $2 $3"
  work=$(mktemp -d "$cache/fetch.XXXXXX")
  (cd "$work" && download "$1" "$2" "$3")
  archive=$(find "$work" -type f)
  if ! printf '%s  %s\n' "$4" "$archive" | sha256sum --check --status; then
    say "cannot trust $2 $3: its SHA-256 is $(sha256sum "$archive" | cut -d' ' -f1)" >&2
    return 1
  fi
  rm -rf "$target"
  mkdir -p "$target"
  unpack "$archive" "$target"
  # The packages carry each vocabulary several times, as code too; only this is read.
  find "$target" -name 'main.*js*' -delete
  rm -rf "$work"
  printf '%s\n' "$4" >"$target/.stamp"
}

fetch_sources() {
  local kind name version sum
  rm -rf "$cache"/fetch.* # of a run that was broken off
  mkdir -p "$cache/sources"
  while read -r kind name version sum; do
    [[ -z $kind || $kind == \#* ]] || fetch "$kind" "$name" "$version" "$sum"
  done <"$here/sources.lock"
  say "sources: $(grep -cE '^(npm|wheel|sdist) ' "$here/sources.lock") packages"
}

# The prose and the code of Python's own library, as texts.
copy_library() {
  local target=$cache/sources/python-library
  [[ ! -f $target/.stamp ]] || return 0
  "$cache/python/bin/python" - "$target" <<'PYTHON'
import pathlib, shutil, sys, sysconfig
from pydoc_data.topics import topics
target, library = pathlib.Path(sys.argv[1]), pathlib.Path(sysconfig.get_path("stdlib"))
target.mkdir(parents=True, exist_ok=True)
(target / "topics.txt").write_text("\n".join(topics[name] for name in sorted(topics)))
for name in "argparse ast datetime difflib inspect locale mailbox pickle smtplib socket ssl tarfile typing".split():
    shutil.copy(library / f"{'_pydatetime' if name == 'datetime' else name}.py", target / f"{name}.py")
(target / ".stamp").touch()
PYTHON
}

mkdir -p "$cache"
say "into $cache"
install_python
install_unicode14
install_node
fetch_sources
copy_library
"$cache/python/bin/python" "$here/build_models.py" "$cache"
if [[ ${1:-} != --install ]]; then
  (cd "$here" && go run ./prepare --cache "$cache")
fi
say "done, $(du -sh "$cache" | cut -f1)"

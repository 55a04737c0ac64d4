#!/usr/bin/env bash
# Compares the gateway's tokens with a real vLLM's, for real tokenizers: ids with those of
# /tokenize and of the render endpoint, counts with usage.prompt_tokens, on requests of a
# text trace reshaped as chats with tools. Prints 'N passed, M failed'. See README.md.
#
#   KEYING_MODELS        "qwen3 llama3_1 deepseek_v3 gptoss" (default), or some of them
#   KEYING_REQUESTS      requests of each (default 200)
#   PENSTOCK_AGENT_TEXT  the trace (default <repository>/../shared/traces/agent_text.jsonl.zst)
#   PENSTOCK             gateway binary (default <repository>/bin/penstock)
set -euo pipefail

# shellcheck source=bench/e2e/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
models=${KEYING_MODELS:-qwen3 llama3_1 deepseek_v3 gptoss}
requests=${KEYING_REQUESTS:-200}
trace=${PENSTOCK_AGENT_TEXT:-$root/../shared/traces/agent_text.jsonl.zst}
tokenizers=$(dirname "$cache")/oracle

if [[ ! -d $tokenizers/models ]]; then
  say "cannot find tokenizers: run bench/oracle/setup.sh"
  exit 1
fi
if [[ ! -f $trace ]]; then
  say "cannot find $trace: set PENSTOCK_AGENT_TEXT"
  exit 1
fi

gateway_config() { # PORT ADMIN_PORT ENGINE_PORT MODEL
  cat <<YAML
listen: {address: "127.0.0.1:$1"}
admin: {address: "127.0.0.1:$2"}
pools:
  - name: $4
    engine: vllm
    models: [{id: $4}]
    tokenizer: {path: $cache/keyed-$4, block_size: 32}
    replicas: [{url: "http://127.0.0.1:$3"}]
YAML
}

# keyed MODEL: one model, from the start of its engine to its end.
keyed() {
  local -a ports engine=() compare=()
  if [[ $1 == gptoss ]]; then
    # vLLM's /tokenize puts these chats through the template, its answers through Harmony.
    engine=(--dtype bfloat16 --tool-call-parser openai) compare=(--tokenize=false)
  fi
  read -r -a ports <<<"$(free_ports 3)"
  "$python" "$here/make_keyed_model.py" "$tokenizers/models/$1" "$cache/keyed-$1"
  vllm "keyed-$1" "${ports[2]}" "$cache/keyed-$1" --served-model-name "$1" --load-format dummy --max-model-len 32768 --max-num-seqs 4 \
    "${engine[@]}"
  wait_ready "keyed-$1" "http://127.0.0.1:${ports[2]}/health" "${pids[-1]}" || return
  gateway_config "${ports[@]}" "$1" >"$cache/keyed-$1.yaml"
  start "keyed-$1-gateway" "$binary" serve --config "$cache/keyed-$1.yaml"
  wait_ready "keyed-$1-gateway" "http://127.0.0.1:${ports[0]}/v1/models" "${pids[-1]}" || return
  "$cache/keying" --engine "http://127.0.0.1:${ports[2]}" --gateway "http://127.0.0.1:${ports[0]}" --model "$1" \
    --folder "$cache/keyed-$1" --trace "$trace" --requests "$requests" "${compare[@]}" || say "$1 ended with status $?"
  curl --silent "http://127.0.0.1:${ports[1]}/metrics" | grep -E '^penstock_(keying|tokenizer)' | grep -v _bucket || true
}

need_binary
(cd "$root" && go build -o "$cache/keying" ./bench/e2e/keying)
for model in $models; do
  keyed "$model" || say "$model was not compared"
  stop_all
  pids=()
done 2>&1 | tee "$logs/keying.log"
read -r passed failed < <(awk -v wanted="$(wc -w <<<"$models")" '
  /^keying-[a-z0-9_]+: [0-9]+ passed, [0-9]+ failed/ { seen++; passed += $2; failed += $4 }
  END { print passed + 0, failed + wanted - seen }' "$logs/keying.log")
say "logs in $logs"
printf '%d passed, %d failed\n' "$passed" "$failed"
exit $((failed > 0))

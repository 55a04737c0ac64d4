#!/usr/bin/env bash
# Starts real engines and the gateway, drives them with the real SDKs, compares answers
# byte by byte, prints 'N passed, N failed' and stops what it started. See README.md.
#
#   E2E_GATEWAY   penstock (default), relay (the TCP relay, checks the suites) or none
#   E2E_ENGINES   "vllm llama" (default), or one of them
#   E2E_REPLICAS  vLLM replicas (default 2)
#   E2E_SUITES    "python node bytes" (default), or some of them
#   PENSTOCK      gateway binary (default <repository>/bin/penstock)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${PENSTOCK_CACHE:-$root/.cache}/e2e
logs=$cache/logs
gateway=${E2E_GATEWAY:-penstock}
engines=${E2E_ENGINES:-vllm llama}
replicas=${E2E_REPLICAS:-2}
suites=${E2E_SUITES:-python node bytes}
binary=${PENSTOCK:-$root/bin/penstock}
python=$cache/tools/bin/python
ready_seconds=600 # two replicas that load at once on two busy cores took 200
export PYTHONDONTWRITEBYTECODE=1 OPENAI_MODULES=$cache/node

declare -a pids=()
declare -A direct=() front=() model=([vllm]=tiny [llama]=tiny-gguf)

say() { printf 'e2e: %s\n' "$*"; }

# start NAME COMMAND...: in its own process group, so that vLLM's children go with it.
start() {
  local name=$1
  shift
  setsid "$@" >"$logs/$name.log" 2>&1 &
  pids+=($!)
}

stop_all() {
  local pid
  for pid in "${pids[@]}"; do kill -TERM -- "-$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do
    for _ in $(seq 100); do
      kill -0 -- "-$pid" 2>/dev/null || break
      sleep 0.1
    done
    kill -KILL -- "-$pid" 2>/dev/null || true
  done
}
trap stop_all EXIT

free_ports() {
  "$python" -c '
import socket, sys
held = [socket.socket() for _ in range(int(sys.argv[1]))]
for s in held: s.bind(("127.0.0.1", 0))
print(*(s.getsockname()[1] for s in held))' "$1"
}

# wait_ready NAME URL PID: polls until URL answers 200.
wait_ready() {
  local begun=$SECONDS
  until curl --silent --fail --max-time 5 --output /dev/null "$2"; do
    if ! kill -0 "$3" 2>/dev/null; then
      say "$1 ended before it was ready:"
      tail -20 "$logs/$1.log"
      return 1
    fi
    if ((SECONDS - begun > ready_seconds)); then
      say "$1 is not ready after $ready_seconds s"
      return 1
    fi
    sleep 0.5
  done
  say "$1 ready $((SECONDS - begun)) s after the wait began"
}

start_vllm() { # NAME PORT
  # Compiled modules are kept there: without them a start takes half as long again.
  start "$1" env -u PYTHONDONTWRITEBYTECODE VLLM_CPU_KVCACHE_SPACE=1 VLLM_CPU_OMP_THREADS_BIND=nobind OMP_NUM_THREADS=1 \
    HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1 PYTHONHASHSEED=0 CUDA_VISIBLE_DEVICES= \
    "$cache/vllm/bin/vllm" serve "$cache/tiny" --served-model-name tiny --host 127.0.0.1 --port "$2" \
    --dtype float32 --max-model-len 2048 --block-size 32 --max-num-seqs 8 --enforce-eager \
    --enable-prompt-tokens-details --enable-scale-out \
    --enable-auto-tool-choice --tool-call-parser hermes \
    --structured-outputs-config '{"backend":"xgrammar","disable_any_whitespace":true}'
}

start_engines() {
  local name port i
  local -a ports waits=()
  read -r -a ports <<<"$(free_ports $((replicas + 1)))"
  if [[ " $engines " == *" vllm "* ]]; then
    for ((i = 0; i < replicas; i++)); do
      port=${ports[i]}
      start_vllm "vllm-$i" "$port"
      waits+=("vllm-$i $port ${pids[-1]}")
      direct[vllm]+=${direct[vllm]:+,}http://127.0.0.1:$port
    done
  fi
  if [[ " $engines " == *" llama "* ]]; then
    port=${ports[replicas]}
    start llama "$python" "$here/llama_server.py" "$cache/tiny.gguf" "$port"
    waits+=("llama $port ${pids[-1]}")
    direct[llama]=http://127.0.0.1:$port
  fi
  local entry
  for entry in "${waits[@]}"; do
    read -r name port i <<<"$entry"
    wait_ready "$name" "http://127.0.0.1:$port/health" "$i"
  done
}

# start_front: fills front[ENGINE] with the base URL that the suites test.
start_front() {
  local engine
  local -a ports pools=()
  read -r -a ports <<<"$(free_ports 2)"
  case $gateway in
  none)
    for engine in $engines; do front[$engine]=${direct[$engine]%%,*}; done
    ;;
  relay)
    for engine in $engines; do
      start "relay-$engine" "$python" "$here/passthrough.py" "${ports[0]}" "${direct[$engine]##*:}"
      front[$engine]=http://127.0.0.1:${ports[0]}
      wait_ready "relay-$engine" "${front[$engine]}/health" "${pids[-1]}"
      ports=("${ports[@]:1}")
    done
    ;;
  penstock)
    for engine in $engines; do
      pools+=("$engine=${model[$engine]}=${direct[$engine]}")
      front[$engine]=http://127.0.0.1:${ports[0]}
    done
    "$python" "$here/gateway_config.py" "${ports[@]}" "${pools[@]}" >"$cache/gateway.yaml"
    start gateway "$binary" serve --config "$cache/gateway.yaml"
    wait_ready gateway "http://127.0.0.1:${ports[0]}/v1/models" "${pids[-1]}"
    ;;
  *)
    say "cannot use E2E_GATEWAY=$gateway: want penstock, relay or none"
    return 1
    ;;
  esac
}

run_suites() {
  local engine suite
  # llama.cpp answers for any model name, so with it as the default pool none is unknown.
  ROUTES=$([[ $gateway == penstock && " $engines " == *" vllm "* ]] && echo 1 || echo 0)
  export ROUTES
  for engine in $engines; do
    export GATEWAY=${front[$engine]} DIRECT=${direct[$engine]} ENGINE=$engine MODEL=${model[$engine]}
    for suite in $suites; do
      case $suite in
      python) "$python" "$here/sdk_suite.py" ;;
      node) node "$here/sdk_suite.mjs" ;;
      bytes) "$python" "$here/byte_identity.py" ;;
      *) say "cannot run suite $suite: want python, node or bytes" && false ;;
      esac || say "suite $suite of $engine ended with status $?"
    done
  done 2>&1 | tee "$logs/suites.log"
}

mkdir -p "$logs"
if [[ $gateway == penstock && ! -x $binary ]]; then
  say "cannot run $binary: build it first"
  exit 1
fi
start_engines
start_front
run_suites
# A suite that died before its summary counts as one failure.
wanted=$(($(wc -w <<<"$engines") * $(wc -w <<<"$suites")))
read -r passed failed < <(awk -v wanted="$wanted" '
  /^[a-z-]+: [0-9]+ passed, [0-9]+ failed/ { seen++; passed += $2; failed += $4 }
  END { print passed + 0, failed + wanted - seen }' "$logs/suites.log")
say "logs in $logs"
printf '%d passed, %d failed\n' "$passed" "$failed"
exit $((failed > 0))

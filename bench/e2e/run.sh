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

# shellcheck source=bench/e2e/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
gateway=${E2E_GATEWAY:-penstock}
engines=${E2E_ENGINES:-vllm llama}
replicas=${E2E_REPLICAS:-2}
suites=${E2E_SUITES:-python node bytes}
export OPENAI_MODULES=$cache/node

declare -A direct=() front=() model=([vllm]=tiny [llama]=tiny-gguf)

start_vllm() { # NAME PORT
  vllm "$1" "$2" "$cache/tiny" --served-model-name tiny --max-model-len 2048 --max-num-seqs 8 \
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

[[ $gateway != penstock ]] || need_binary
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

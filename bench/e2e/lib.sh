# Shared by the scripts of this folder, which source it: places, and starting and
# stopping what they test.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${PENSTOCK_CACHE:-$root/.cache}/e2e
logs=$cache/logs
binary=${PENSTOCK:-$root/bin/penstock}
python=$cache/tools/bin/python
ready_seconds=600 # two replicas that load at once on two busy cores took 200
export PYTHONDONTWRITEBYTECODE=1

declare -a pids=()

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

# vllm NAME PORT FOLDER ARGUMENT...: a replica of the model in FOLDER on one CPU thread.
vllm() {
  local name=$1 port=$2 folder=$3
  shift 3
  # Compiled modules are kept there: without them a start takes half as long again.
  start "$name" env -u PYTHONDONTWRITEBYTECODE VLLM_CPU_KVCACHE_SPACE=1 VLLM_CPU_OMP_THREADS_BIND=nobind OMP_NUM_THREADS=1 \
    HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1 PYTHONHASHSEED=0 CUDA_VISIBLE_DEVICES= VLLM_MLA_DISABLE=1 \
    "$cache/vllm/bin/vllm" serve "$folder" --host 127.0.0.1 --port "$port" --dtype float32 --block-size 32 \
    --enforce-eager --enable-prompt-tokens-details --enable-scale-out --enable-auto-tool-choice --tool-call-parser hermes "$@"
}

need_binary() {
  if [[ ! -x $binary ]]; then
    say "cannot run $binary: build it first"
    exit 1
  fi
}

mkdir -p "$logs"

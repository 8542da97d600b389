#!/usr/bin/env bash
# bench/peers/compare.sh [dbos|restate|all] [--quick]
#
# Runs other engines on W1 to W5 of `rhythm bench` and writes their results to bench/peers.json, which `make
# bench` shows beside ours. Then it measures ours with the same sizes and prints both as one table. Rows of
# engines that were not measured are kept. An engine that cannot run here is named with the reason; the exit
# code is an error only if none could run. Everything it needs is installed in target/peers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

usage() {
  echo "usage: bench/peers/compare.sh [dbos|restate|all] [--quick]" >&2
  exit 2
}

engines=(dbos restate)
sizes=()
for argument in "$@"; do
  case $argument in
    dbos | restate) engines=("$argument") ;;
    all) engines=(dbos restate) ;;
    --quick) sizes=(--quick) ;;
    *) usage ;;
  esac
done
command -v python3 >/dev/null || { echo "peers: python3 not found" >&2; exit 1; }

mkdir -p target/peers
work=$(mktemp -d target/peers/compare.XXXXXX)
group= # process group of the engine being measured

clear_up() {
  trap '' HUP INT TERM
  if [[ -n $group ]]; then
    kill -TERM -- "-$group" 2>/dev/null || true
    for _ in {1..150}; do
      kill -0 -- "-$group" 2>/dev/null || break
      sleep 0.1
    done
    kill -KILL -- "-$group" 2>/dev/null || true
  fi
  rm -rf "$work"
}
trap clear_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# measure ENGINE: keeps its rows even when it fails half way. Shows its messages and keeps them for the
# reason.
measure() {
  try "$1" 2>&1 >"$work/$1.rows" </dev/null | tee "$work/$1.log" >&2
}

# try ENGINE: runs it with each setting that might be best; the better row of each workload is kept.
try() {
  case $1 in
    restate)
      bench/peers/restate.sh "${sizes[@]}" --at-once 200 && bench/peers/restate.sh "${sizes[@]}" --at-once 1000
      ;;
    dbos)
      bench/peers/dbos.sh "${sizes[@]}" --threads 8 && bench/peers/dbos.sh "${sizes[@]}" --threads 32
      ;;
  esac
}

failed=()
for engine in "${engines[@]}"; do
  set -m # a process group of its own, so that all its processes can be ended
  measure "$engine" &
  set +m
  group=$!
  if ! wait "$group"; then
    reason=$(tail -n 1 "$work/$engine.log")
    failed+=("$engine: ${reason#"$engine: "}")
  fi
  group=
done

for reason in "${failed[@]}"; do
  echo "peers: not measured, or not all of it: $reason" >&2
done
if ! grep -qs . "$work"/*.rows; then
  echo "peers: nothing was measured" >&2
  exit 1
fi
python3 bench/peers/merge_rows.py bench/peers.json "$work"/*.rows
echo "peers: wrote bench/peers.json" >&2

# Ours runs last, when the machine is quiet again.
bench/peers/ours.sh "${sizes[@]}"

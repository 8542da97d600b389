#!/usr/bin/env bash
# make.sh RHYTHM WORLD: fills an empty world with runs of every kind that wait, are held, failed or paused.
# `stored.rs` opens the result and lets every run end. Run it once per release, with the binary of that
# release.
set -euo pipefail
rhythm=$1
export RHYTHM_WORLD=$2 USER=maker
workflows=$(cd "$(dirname "${BASH_SOURCE[0]}")/workflows" && pwd)
cd "$(mktemp -d)"

"$rhythm" workflows register "$workflows"
"$rhythm" worker --quiet --allow-shell >worker.log 2>&1 &
worker=$!
trap 'kill $worker 2>/dev/null || true' EXIT

start() { "$rhythm" start "$@" --label case=waiting --quiet 2>/dev/null || "$rhythm" start "$@" --tag case=waiting --quiet; }
until_shown() { # RUN TEXT: waits until `runs show` has the text
  for _ in $(seq 200); do
    if "$rhythm" -o json runs show "$1" | grep -q "$2"; then return; fi
    sleep 0.05
  done
  echo "run $1 never showed $2" >&2
  "$rhythm" explain "$1" >&2
  exit 1
}

seq -s, 1 20000 | sed 's/^/{"list":[/; s/$/]}/' >list.json
start gather --key gather --input @list.json
start outer --key outer
start held --key held
start broken --key broken
start undo --key undo
start rounds --key rounds --input '{"items": [1, 2, 3, 4]}'
start timed --key timed
start claim --key claim --input '{"amount": 900}'
start crowd --key crowd --input '{"items": [{"n": 1}, {"n": 2}, {"n": 3}, {"n": 4}, {"n": 5}]}'
start hold --key hold --input '{"a": 1}'
start cycle --key cycle
"$rhythm" start rounds --key paused --input '{"items": [7]}' --quiet
sleep 3

run_of() { "$rhythm" -o json runs list --workflow "$1" | python3 -c 'import json,sys; print(json.load(sys.stdin)["rows"][-1]["id"])'; }
until_shown "$(run_of broken)" '"failed"'
until_shown "$(run_of held)" dead_letter
until_shown "$(run_of hold)" dead_letter
"$rhythm" runs cancel "$(run_of undo)" --reason "for the record"
rounds=$(run_of rounds)
"$rhythm" runs signal "$rounds" turn --payload 10
"$rhythm" runs signal "$(run_of cycle)" state --payload '{"state": "busy"}'
# The parallel node runs three of its five children at once: when two answer, the fourth and the fifth start.
children=$("$rhythm" -o json runs list --parent "$(run_of crowd)" | python3 -c 'import json,sys; print(*[r["id"] for r in json.load(sys.stdin)["rows"]][-2:])')
for child in $children; do "$rhythm" runs signal "$child" inner --payload '"early"'; done
"$rhythm" runs pause "$("$rhythm" -o json runs list --workflow rounds | python3 -c 'import json,sys; print(json.load(sys.stdin)["rows"][0]["id"])')"
sleep 2
kill "$worker"
wait "$worker" || true
trap - EXIT
# These signals stay in the inbox until a test opens the world.
"$rhythm" runs signal "$rounds" turn --payload 100
"$rhythm" runs list

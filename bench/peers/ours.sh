#!/usr/bin/env bash
# bench/peers/ours.sh [--quick]: W1 to W5 of `rhythm bench` with the peers' sizes, on a private, durable
# PostgreSQL. Prints one table with the rows of bench/peers.json below ours.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

sizes=full
[[ ${1:-} != --quick ]] || sizes=quick

# Prints a line for each workload: its name, then its sizes as options of the same names.
workloads() {
  python3 - bench/peers/sizes.json "$sizes" <<'PYTHON'
import json, sys

path, sizes = sys.argv[1:]
for workload, size in json.load(open(path))[sizes].items():
    print(workload, *(f"--{name}={count}" for name, count in size.items()))
PYTHON
}

# Every workload prints a table; keeps the head of the first one only.
one_table() {
  awk '!headed || /^\| W/ { print } /^\|---/ { headed = 1 }'
}

cargo build --release --locked -p rhythm-cli
workloads | while read -ra arguments; do
  # shellcheck disable=SC2016 # expanded where the server is known
  env -u RHYTHM_PG_FAST scripts/with-postgres.sh sh -c 'exec target/release/rhythm bench "$@" --world "$RHYTHM_TEST_POSTGRES"' \
    - "${arguments[@]}" --markdown --peers bench/peers.json </dev/null
done | one_table

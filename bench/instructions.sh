#!/usr/bin/env bash
# Counts the instructions of the hot operations with valgrind. The counts are the same in every run, even on a
# busy machine. Each case runs with N and with 2N repetitions; the difference excludes the start of the
# program. --write stores the counts as the baseline; without it, a case more than 5 % above the baseline is
# an error.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

baseline=bench/instructions.tsv
times=500

count() { # case repetitions
  local total
  total=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$1" "$2" 2>&1 |
    awk '/Collected/ { print $4 }')
  [[ $total ]] || { echo "valgrind counted nothing for: $1" >&2; exit 1; }
  echo "$total"
}

scripts/setup.sh rust valgrind
cargo build --release --locked -p rhythm-bench --example instructions
program=target/release/examples/instructions

figures=$(mktemp)
trap 'rm -f "$figures"' EXIT
"$program" | while IFS= read -r name; do
  once=$(count "$name" "$times")
  twice=$(count "$name" $((2 * times)))
  printf '%s\t%d\n' "$name" $(((twice - once) / times))
done | tee "$figures"

if [[ ${1:-} == --write ]]; then
  cp "$figures" "$baseline"
  exit
fi
[[ -f $baseline ]] || { echo "there is nothing to compare with yet: bench/instructions.sh --write" >&2; exit 1; }
awk -F '\t' 'NR == FNR { known[$1] = $2; next }
  !($1 in known) { printf "%s: not in the figures to compare with\n", $1; worse = 1; next }
  $2 > known[$1] * 1.05 { printf "%s: %d instructions, %d were known\n", $1, $2, known[$1]; worse = 1 }
  END { exit worse }' "$baseline" "$figures" >&2

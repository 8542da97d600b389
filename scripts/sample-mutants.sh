#!/usr/bin/env bash
# Tries a random sample of the faults that cargo-mutants can make in the engine and the flow and graph
# languages:
#
#   scripts/sample-mutants.sh COUNT [SEED]      SEED repeats the sample that was printed with it
#
# Works in a copy of the sources with its own build folder, both kept in target/sample, so that the next
# sample builds only the changes. Fails when fewer than 85 % of the faults that compile are caught.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

least=85
count=${1:?say how many faults to try, as in scripts/sample-mutants.sh 60}
seed=${2:-$((RANDOM * 32768 + RANDOM + 1))}
home=${CARGO_TARGET_DIR:-$PWD/target}/sample
tree=$home/tree
scripts/setup.sh rust mutants

# Unchanged files keep their time, so that builds stay incremental. Files that git no longer lists are
# removed.
mkdir -p "$tree" "$home/faults"
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
  [[ -f $file ]] || continue
  printf '%s\0' "$file"
  cmp -s "$file" "$tree/$file" || { mkdir -p "$(dirname "$tree/$file")" && cp "$file" "$tree/$file"; }
done | LC_ALL=C sort -z >"$home/files"
(cd "$tree" && find . -type f -printf '%P\0') | LC_ALL=C sort -z | LC_ALL=C comm -z -23 - "$home/files" |
  (cd "$tree" && xargs -0 -r rm -f)

# cargo-mutants only makes the faults, because its own name filter excludes none of those that omit a field.
# The conformance suite is excluded: it is test code, though compiled as a library.
cargo mutants --no-shuffle --colors never -d "$tree" --list --diff \
  -f 'crates/engine/src/**' -e 'crates/conformance/src/**' -e 'crates/conformance/src/lib.rs' \
  -f 'crates/flow/src/**' -f 'crates/flow/src/lib.rs' \
  -f 'crates/graph/src/**' -f 'crates/graph/src/lib.rs' >"$home/all"

# Each fault gets a random number from the seed; those with the lowest numbers are tried. The same seed gives
# the same sample of the same sources.
grep -E '^crates/[^ ]+\.rs:[0-9]+:[0-9]+: ' "$home/all" >"$home/names"
awk -v seed="$seed" 'BEGIN { lot = seed % 2147483646 + 1 } { for (i = 0; i < 3; i++) lot = (lot * 16807) % 2147483647; print lot "\t" NR }' "$home/names" |
  sort -n | awk -v count="$count" 'NR <= count { print $2 }' | sort -n >"$home/chosen"
rm -f "$home"/faults/*
awk -v folder="$home/faults" '
  NR == FNR { chosen[$1]; next }
  /^crates\/[^ ]+\.rs:[0-9]+:[0-9]+: / { nth++; sub(/:[0-9]+:[0-9]+: .*/, ""); path = $0; next }
  !(nth in chosen) { next }
  /^\+\+\+ / { print "+++ " path > (folder "/" nth); next }
  { print > (folder "/" nth) }' "$home/chosen" "$home/all"
echo "seed $seed: $(wc -l <"$home/chosen") of $(wc -l <"$home/names") faults"

# Runs only the tests of the crate with the fault, until the first failure. There are few random programs,
# because they would take most of the time. Optimising takes longer than it saves.
tests() {
  (cd "$tree" && CARGO_TARGET_DIR=$home/build RUST_BACKTRACE=0 RHYTHM_RANDOM_PROGRAMS=${RHYTHM_RANDOM_PROGRAMS:-100} \
    timeout "${TIMEOUT:-900}" cargo nextest run --locked --color never --fail-fast \
    --config profile.dev.package.rhythm-core.opt-level=0 \
    --config profile.dev.package.rhythm-engine.opt-level=0 "$@") >"$home/cargo.log" 2>&1 </dev/null
}

for package in $(sed 's,^crates/\([a-z]*\)/.*,rhythm-\1,' <(while read -r nth; do sed -n "${nth}p" "$home/names"; done <"$home/chosen") | sort -u); do
  TIMEOUT=3600 tests -p "$package" || { echo "without a fault the tests of $package must pass: $home/cargo.log" >&2 && exit 1; }
done

caught=0 missed=0 unbuilt=0
while read -r nth <&3; do
  name=$(sed -n "${nth}p" "$home/names")
  file=${name%%:*}
  package=rhythm-$(cut -d / -f 2 <<<"$file")
  # The parent of the copy is the repository, and git must not use its index.
  (cd "$tree" && GIT_CEILING_DIRECTORIES=$home git apply -p0 "$home/faults/$nth")
  if ! TIMEOUT=3600 tests -p "$package" --no-run; then
    unbuilt=$((unbuilt + 1)) verdict="does not compile"
  elif tests -p "$package"; then
    missed=$((missed + 1)) verdict=MISSED
  else
    # A test that hangs has noticed the fault too.
    caught=$((caught + 1)) verdict=caught
  fi
  cp "$file" "$tree/$file"
  echo "$verdict: $name"
done 3<"$home/chosen"

tried=$((caught + missed))
[[ $tried -gt 0 ]] || { echo "none of these faults compiles: try another seed" >&2 && exit 1; }
echo "seed $seed: $caught of $tried caught ($((100 * caught / tried)) %), $unbuilt did not compile"
[[ $((100 * caught)) -ge $((least * tried)) ]]

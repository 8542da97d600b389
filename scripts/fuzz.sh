#!/usr/bin/env bash
# Feeds mutated programs to the .flow language for some minutes, guided by coverage: scripts/fuzz.sh 60
# Findings are kept in fuzz/found. Move one worth keeping to fuzz/corpus, which the tests replay.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../fuzz"

minutes=${1:-5}
# libFuzzer needs coverage of branches. This needs neither a nightly compiler nor cargo-fuzz.
coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
coverage="$coverage -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
host=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS="$coverage -Cdebug-assertions -Coverflow-checks -Ccodegen-units=1" \
  cargo build --release --jobs "${FUZZ_BUILD_JOBS:-2}" --target "$host" --target-dir ../target/fuzz

mkdir -p ../target/fuzz/corpus found
exec "../target/fuzz/$host/release/flow" ../target/fuzz/corpus corpus \
  -dict=flow.dict -max_len=6000 -len_control=20 -timeout=30 -rss_limit_mb=3000 -artifact_prefix=found/ \
  -max_total_time=$((minutes * 60)) -print_final_stats=1 "${@:2}"

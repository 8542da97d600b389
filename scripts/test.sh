#!/usr/bin/env bash
# All checks that must pass before a commit. Arguments go to nextest: scripts/test.sh a_stale_claim
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export STARTED=$EPOCHSECONDS
phase() { printf '== %4d s  %s\n' $((EPOCHSECONDS - STARTED)) "$1"; }

database_tests() {
  set -euo pipefail
  phase "tests"
  cargo nextest run --workspace --locked --no-fail-fast "$@"
  phase "documentation tests"
  cargo test --doc --workspace --locked
}
export -f phase database_tests

phase "tools"
scripts/setup.sh rust postgres strace
phase "formatting"
cargo fmt --all --check
phase "clippy"
cargo clippy --workspace --all-targets --locked -- -D warnings
phase "private PostgreSQL"
RHYTHM_PG_FAST=1 scripts/with-postgres.sh bash -c 'database_tests "$@"' tests "$@"
phase "all good"

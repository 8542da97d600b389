#!/usr/bin/env bash
# The main job on one screen: builds, then shows a workflow that survives the death of its worker.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh rust
echo "Building (the first time takes a few minutes) ..."
cargo build --quiet --locked -p rhythm --example survive_a_crash
target="${CARGO_TARGET_DIR:-target}"
exec "$target/debug/examples/survive_a_crash"

#!/usr/bin/env bash
# The main job on one screen: builds, then shows an order whose workers are killed and which goes on all the same.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh rust
echo "Building (the first time takes a few minutes) ..."
cargo build --quiet --locked -p rhythm --example order
target="${CARGO_TARGET_DIR:-target}"
exec "$target/debug/examples/order"

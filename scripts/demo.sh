#!/usr/bin/env bash
# The demo: builds, then shows an order whose workers are killed and which completes all the same.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh rust
echo "Building (the first time takes a few minutes) ..."
cargo build --quiet --locked -p rhythm -p rhythm-cli --example order --bin rhythm
target="${CARGO_TARGET_DIR:-$PWD/target}"
"$target/debug/examples/order"

cat <<END

The command line was built too. To go on:

  export PATH="$target/debug:\$PATH"
  rhythm test examples        plays the other examples, with scripted answers
  rhythm --help               lists the commands

"Try it" in README.md has a first workflow of your own.
END

#!/usr/bin/env bash
# bench/peers/dbos.sh [--quick] [--threads N]: W1 to W5 on DBOS, with a private, durable PostgreSQL. Prints
# rows on standard output, one JSON object a line. Installed packages stay in target/peers for the next time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

fail() {
  echo "dbos: $*" >&2
  exit 1
}

venv=target/peers/dbos
wanted=bench/peers/requirements.txt

command -v python3 >/dev/null || fail "python3 not found"
if ! cmp -s "$wanted" "$venv/installed.txt"; then
  echo "dbos: installing" >&2
  rm -rf "$venv"
  mkdir -p "$(dirname "$venv")"
  {
    python3 -m venv "$venv" &&
      "$venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$wanted"
  } >"$venv.log" 2>&1 || fail "cannot be installed: $(tail -n 1 "$venv.log")"
  cp "$wanted" "$venv/installed.txt"
fi

# The cluster is durable unless RHYTHM_PG_FAST=1 is set. An hour is the time limit for a run that hangs.
exec env -u RHYTHM_PG_FAST scripts/with-postgres.sh \
  timeout --foreground 3600 "$venv/bin/python" bench/peers/dbos_bench.py "$@"

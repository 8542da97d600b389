#!/usr/bin/env bash
# bench/peers/restate.sh [--quick] [--at-once N]: W1 to W5 on Restate, with a server of its own. Prints rows
# on standard output, one JSON object a line. Installed packages stay in target/peers for the next time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

fail() {
  echo "restate: $*" >&2
  exit 1
}

sources=bench/peers
installed=$PWD/target/peers/restate
server=
bench=
run=

clear_up() {
  [[ -z $bench ]] || kill "$bench" 2>/dev/null || true
  if [[ -n $server ]]; then
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  [[ -z $run ]] || rm -rf "$run"
  bench='' server='' run=''
}
trap clear_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

install_packages() {
  cmp -s "$sources/package.json" "$installed/installed.json" && return
  echo "restate: installing" >&2
  rm -rf "$installed"
  mkdir -p "$installed"
  cp "$sources/package.json" "$installed/"
  # No install scripts: the only one reports the installation to a third party.
  (cd "$installed" && npm install --ignore-scripts --no-audit --no-fund --no-package-lock --loglevel=error) \
    >"$installed.log" 2>&1 || fail "cannot be installed: $(grep -m 1 -v '^npm error code' "$installed.log")"
  cp "$sources/package.json" "$installed/installed.json"
}

# listens PORT: succeeds when a process listens on the port.
listens() {
  (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# Starts a server with its default settings, which are durable. The one that syncs the log is set again, so
# that the environment cannot turn it off. The data is on this disk: /tmp may be memory that never syncs.
start_server() {
  run=$(mktemp -d "$PWD/target/peers/restate-run.XXXXXX") || return
  # Outgoing connections use ports from 32768 up.
  local first=$((20000 + RANDOM % 12000))
  ingress_port=$first admin_port=$((first + 1)) node_port=$((first + 2))
  ! listens "$ingress_port" && ! listens "$admin_port" && ! listens "$node_port" || return 1
  RESTATE_BASE_DIR=$run/data \
    RESTATE_LISTEN_MODE=tcp RESTATE_BIND_IP=127.0.0.1 RESTATE_BIND_PORT=$node_port \
    RESTATE_INGRESS__BIND_PORT=$ingress_port RESTATE_ADMIN__BIND_PORT=$admin_port \
    RESTATE_LOG_SERVER__ROCKSDB_DISABLE_WAL_FSYNC=false \
    RESTATE_DISABLE_TELEMETRY=true RESTATE_LOG_FILTER=warn RESTATE_SHUTDOWN_TIMEOUT=10s \
    "$installed/node_modules/.bin/restate-server" --no-logo >"$run/log" 2>&1 &
  server=$!
  for _ in {1..300}; do
    kill -0 "$server" 2>/dev/null || return 1
    ! listens "$admin_port" || return 0
    sleep 0.2
  done
  return 1
}

for tool in node npm; do
  command -v "$tool" >/dev/null || fail "$tool not found"
done
install_packages
# Node finds packages beside the importing file.
cp "$sources"/restate_*.mjs "$sources/sizes.json" "$installed/"

for attempt in 1 2 3; do
  ! start_server || break
  if [[ $attempt -eq 3 ]]; then
    [[ ! -e $run/log ]] || tail -n 5 "$run/log" >&2
    fail "the server does not start"
  fi
  clear_up
done

# An hour is the time limit for a run that hangs. The default log level would print a line for every start and
# end.
RESTATE_LOGGING=ERROR timeout --foreground 3600 node "$installed/restate_bench.mjs" \
  "http://127.0.0.1:$ingress_port" "http://127.0.0.1:$admin_port" "$@" &
bench=$!
wait "$bench" || fail "ended with $?"
bench=

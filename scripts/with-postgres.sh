#!/usr/bin/env bash
# scripts/with-postgres.sh COMMAND...
#
# Runs COMMAND beside a private PostgreSQL cluster and removes the cluster afterwards, even after SIGKILL.
# RHYTHM_TEST_POSTGRES holds the url of its superuser. The exit code is the command's. The cluster is durable,
# as benchmarks need it; RHYTHM_PG_FAST=1 trades that for speed. COMMAND gets no terminal input, because it
# runs in a process group of its own.
set -euo pipefail

[[ $# -gt 0 ]] || { echo "usage: scripts/with-postgres.sh COMMAND..." >&2; exit 2; }

bin=$("$(dirname "${BASH_SOURCE[0]}")/setup.sh" postgres-bin)
# A file system in memory is never durable, whatever the server's settings.
place=${TMPDIR:-/tmp}
if [[ ${RHYTHM_PG_FAST:-} != 1 && $(stat -f -c %T "$place" 2>/dev/null) == @(tmpfs|ramfs) ]]; then place=/var/tmp; fi
home=$(mktemp -d "$place/rhythm-pg.XXXXXX")
server=$home/server # data, socket and log: everything the server's user may touch
child=

# PostgreSQL refuses to run as root. The watcher waits until descriptor 9 is closed, so only this script may
# hold it.
as_server() (
  cd /
  export LC_ALL=C
  if [[ $EUID -eq 0 ]]; then
    exec setpriv --reuid=postgres --regid=postgres --clear-groups -- "$@" 9>&-
  fi
  exec "$@" 9>&-
)

# The only way a cluster ends: waits until this script has closed the pipe or died, then stops and removes it.
watcher() {
  trap '' INT TERM HUP
  trap - EXIT
  set +e
  cat
  local group
  group=$(cat "$home/command")
  [[ -z $group ]] || kill -TERM -- "-$group"
  as_server "$bin/pg_ctl" -D "$server/data" -m immediate stop
  [[ -z $group ]] || kill -KILL -- "-$group"
  rm -rf "$home"
}

mkfifo "$home/alive"
set -m # a process group of its own, so that signals to this script's group do not reach it
watcher <"$home/alive" >/dev/null 2>&1 &
set +m
watcher_pid=$!
exec 9>"$home/alive"
trap 'exec 9>&-; wait "$watcher_pid" || true' EXIT

# on_signal NAME NUMBER: passes the signal on to the command once it runs.
# shellcheck disable=SC2317 # called by the traps
on_signal() {
  signalled=1
  [[ -n $child ]] || exit $((128 + $2))
  kill "-$1" -- "-$child" 2>/dev/null || true
}
trap 'on_signal HUP 1' HUP
trap 'on_signal INT 2' INT
trap 'on_signal TERM 15' TERM

create_cluster() {
  mkdir -m 700 "$server"
  (umask 077 && printf '%s\n' "$password" >"$server/password")
  if [[ $EUID -eq 0 ]]; then
    id postgres >/dev/null 2>&1 || useradd --system --user-group --no-create-home postgres
    chmod 711 "$home"
    chown -R postgres:postgres "$server"
  fi
  as_server "$bin/initdb" -D "$server/data" --username=rhythm --pwfile="$server/password" --auth=scram-sha-256 \
    --encoding=UTF8 --locale=C --no-sync --no-instructions >"$home/initdb.log" 2>&1 || {
    cat "$home/initdb.log" >&2
    return 1
  }
  cat >>"$server/data/postgresql.conf" <<CONF
listen_addresses = '127.0.0.1'
unix_socket_directories = '$server'
max_connections = 300
shared_buffers = 256MB
max_locks_per_transaction = 256
max_wal_size = 2GB
CONF
  if [[ ${RHYTHM_PG_FAST:-} == 1 ]]; then
    printf '%s = off\n' fsync synchronous_commit full_page_writes >>"$server/data/postgresql.conf"
  fi
}

# Only a real bind shows that a port is free, so the server tries random ones. Outgoing connections use ports
# from 32768 up.
start_server() {
  for _ in 1 2 3 4 5; do
    port=$((20000 + RANDOM % 12000))
    rm -f "$server/log"
    if as_server "$bin/pg_ctl" -D "$server/data" -l "$server/log" -o "-p $port" -w start >/dev/null 2>&1; then
      return
    fi
    grep -q "Address already in use" "$server/log" || break
  done
  echo "with-postgres: the server did not start:" >&2
  tail -n 20 "$server/log" >&2
  return 1
}

password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
create_cluster
start_server
export RHYTHM_TEST_POSTGRES="postgres://rhythm:$password@127.0.0.1:$port/postgres"

[[ ! -t 0 ]] || exec </dev/null
set -m
"$@" 9>&- &
set +m
child=$!
echo "$child" >"$home/command"

# A signal interrupts `wait` before the command has ended, so wait again.
while signalled=; status=0; wait "$child" || status=$?; [[ -n $signalled ]]; do :; done
exit "$status"

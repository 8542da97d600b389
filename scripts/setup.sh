#!/usr/bin/env bash
# Makes sure that the tools are installed; prints nothing when they are. A missing tool is installed where
# possible (by apt as root, or by cargo), otherwise named.
#
#   scripts/setup.sh rust             cargo, a C compiler, cargo-nextest
#   scripts/setup.sh postgres         the PostgreSQL server programs
#   scripts/setup.sh postgres-bin     the same, and prints the folder they are in
#   scripts/setup.sh strace           the tracer that injects faults into system calls
#   scripts/setup.sh valgrind         the tool that counts instructions
#   scripts/setup.sh mutants          cargo-mutants, which makes faults
set -euo pipefail

fail() {
  echo "setup: $*" >&2
  exit 1
}

# apt_install WHAT PACKAGE...
apt_install() {
  local what=$1
  shift
  if [[ $EUID -ne 0 ]] || ! command -v apt-get >/dev/null; then
    fail "$what not found; install it (on Debian or Ubuntu: apt-get install $*)"
  fi
  echo "setup: installing $*" >&2
  {
    apt-get -q -o DPkg::Lock::Timeout=300 update
    DEBIAN_FRONTEND=noninteractive \
      apt-get -q -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@"
  } >&2
}

need_rust() {
  command -v cargo >/dev/null || fail "cargo not found; install Rust with rustup (version: rust-toolchain.toml)"
  command -v cc >/dev/null || apt_install "a C compiler (cc)" gcc libc6-dev
  # Cargo also finds subcommands in its own folder, even if that is not on PATH.
  if ! command -v cargo-nextest >/dev/null && [[ ! -x ${CARGO_HOME:-$HOME/.cargo}/bin/cargo-nextest ]]; then
    echo "setup: building cargo-nextest, this takes some minutes" >&2
    cargo install cargo-nextest --locked >&2
  fi
}

# Prints the first folder that has all three programs: the one on PATH, then the newest installed version.
postgres_bin() {
  local folder folders on_path=
  ! command -v initdb >/dev/null || on_path=$(dirname "$(readlink -f "$(command -v initdb)")")
  mapfile -t folders < <(printf '%s\n' /usr/lib/postgresql/*/bin /usr/pgsql-*/bin | sort -rV)
  for folder in "$on_path" "${folders[@]}"; do
    if [[ -n $folder && -x $folder/initdb && -x $folder/pg_ctl && -x $folder/postgres ]]; then
      echo "$folder"
      return
    fi
  done
}

install_postgres() {
  # Debian's package would create and start a cluster of its own. This drop-in prevents that during the
  # installation.
  local drop_in=/etc/postgresql-common/createcluster.d/rhythm-setup.conf
  if [[ $EUID -eq 0 ]] && command -v apt-get >/dev/null; then
    # shellcheck disable=SC2064 # the path is local, so it is expanded now
    trap "rm -f $drop_in" EXIT
    mkdir -p "$(dirname "$drop_in")"
    echo "create_main_cluster = false" >"$drop_in"
  fi
  apt_install "a PostgreSQL server (initdb, pg_ctl, postgres)" postgresql
}

need_postgres() {
  [[ -n $(postgres_bin) ]] || install_postgres
  [[ -n $(postgres_bin) ]] || fail "PostgreSQL was installed, but initdb, pg_ctl and postgres are not where we look"
}

need_strace() {
  command -v strace >/dev/null || apt_install "strace" strace
}

need_valgrind() {
  command -v valgrind >/dev/null || apt_install "valgrind" valgrind
}

need_mutants() {
  if ! command -v cargo-mutants >/dev/null && [[ ! -x ${CARGO_HOME:-$HOME/.cargo}/bin/cargo-mutants ]]; then
    echo "setup: building cargo-mutants, this takes some minutes" >&2
    cargo install cargo-mutants --locked >&2
  fi
}

[[ $# -gt 0 ]] || fail "say what is needed: rust, postgres, postgres-bin, strace, valgrind, mutants"
for need in "$@"; do
  case $need in
    rust) need_rust ;;
    postgres) need_postgres ;;
    postgres-bin) need_postgres && postgres_bin ;;
    strace) need_strace ;;
    valgrind) need_valgrind ;;
    mutants) need_mutants ;;
    *) fail "do not know '$need': rust, postgres, postgres-bin, strace, valgrind or mutants" ;;
  esac
done

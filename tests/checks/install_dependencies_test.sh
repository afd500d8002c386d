#!/usr/bin/env bash
# scripts/install-dependencies on systems made of a few fake commands: it must install what is missing and no more, ask
# nothing, and say what to do where it can do nothing.
set -euo pipefail
script=$(cd "$(dirname "$0")/../.." && pwd)/scripts/install-dependencies
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

command_saying() { # command_saying NAME SCRIPT
  printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}

# A system with the plain tools and nothing of ours: FAKE_INSTALLED lists its packages, calls are kept in WORK/calls.
fresh_system() {
  rm -rf "$work/bin" "$work/calls"
  mkdir "$work/bin"
  touch "$work/calls"
  local tool
  for tool in bash cat dirname env head printf sed sort; do ln -s "$(command -v $tool)" "$work/bin/$tool"; done
  command_saying id 'echo 0'
  command_saying uname 'echo Linux'
  command_saying cmake 'echo cmake version 3.31.6'
}

debian() { # with the packages given
  fresh_system
  command_saying apt-get "echo apt-get \"\$@\" \$DEBIAN_FRONTEND >>$work/calls; [ -z \"\$FAKE_APT_FAILS\" ] || [ \"\$4\" = update ]"
  command_saying dpkg-query "case \" $* \" in *\" \$3 \"*) printf installed ;; *) exit 1 ;; esac"
}

all_packages='g++ ninja-build pkg-config libopenblas-pthread-dev libxtensor-dev libxtensor-blas-dev libxsimd-dev libfmt-dev
  nlohmann-json3-dev libpng-dev libcli11-dev'
with_commands() { local name; for name in "$@"; do command_saying "$name" ''; done; }

# expect STATUS TEXT ARGUMENTS: the script ends with STATUS, and TEXT is in what it says or in the commands it gave.
expect() {
  local status=0 wanted=$1 text=$2 output
  shift 2
  output=$(PATH=$work/bin bash "$script" "$@" </dev/null 2>&1) || status=$?
  output+=$'\n'$(cat "$work/calls")
  { [ $status -eq "$wanted" ] && grep -qF -- "$text" <<<"$output"; } ||
    { echo "FAILED: $*: wanted $wanted and '$text', got $status: $output"; failures=$((failures + 1)); }
}
expect_no_call() { [ ! -s "$work/calls" ] || { echo "FAILED: called $(cat "$work/calls")"; failures=$((failures + 1)); }; }

# shellcheck disable=SC2086 # a list of packages
debian $all_packages
with_commands c++ ninja pkg-config
expect 0 'everything is there'
expect_no_call
expect 0 'install -y --no-install-recommends libgtest-dev libgmock-dev noninteractive' test
expect 0 'libgmock-dev chromium doxygen' ci

debian libopenblas-dev
expect 0 'update'
expect 0 'recommends g++ ninja-build pkg-config libxtensor-dev libxtensor-blas-dev libxsimd-dev libfmt-dev nlohmann-json3-dev libpng-dev libcli11-dev'
FAKE_APT_FAILS=yes expect 1 'apt-get could not install: g++'

debian libopenblas-dev
command_saying id 'echo 1000'
expect 1 'As root: apt-get install g++'
expect_no_call
command_saying sudo "echo sudo \"\$1\" >>$work/calls; shift; exec \"\$@\""
expect 0 'sudo -n'

# shellcheck disable=SC2086
debian $all_packages
with_commands c++ ninja pkg-config
command_saying cmake 'echo cmake version 3.22.1'
expect 3 'CMake 3.25 or newer is needed, this is 3.22.1'

fresh_system
command_saying uname 'echo Darwin'
command_saying brew '[ "$3" = openblas ]'
expect 3 'brew install cmake ninja pkg-config xtensor xtensor-blas'
command_saying brew ''
expect 0 'everything is there' test

fresh_system
expect 3 'neither apt-get nor macOS'
REGARD_DEPENDENCIES_INSTALLED=1 expect 0 'taking your word'
expect 2 'no such level' nonsense
expect 2 'one argument at most' build test
expect 0 'Exit codes' --help

[ $failures -eq 0 ] || exit 1
echo "every system got what it lacked"

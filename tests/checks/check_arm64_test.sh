#!/usr/bin/env bash
# scripts/check-arm64 says what is missing, what does not compile, and that a test failed. With a compiler and an emulator
# that do what they are told.
set -uo pipefail
script=$(cd "$(dirname "$0")/../.." && pwd)/scripts/check-arm64
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

# expect CODE TEXT COMMAND...: the exit code, and a text among what it prints.
expect() {
  local code=$1 text=$2 printed status
  shift 2
  printed=$("$@" 2>&1)
  status=$?
  [ "$status" -eq "$code" ] || { echo "$*: exit code $status, expected $code; printed \"$printed\""; failed=1; }
  [[ $printed == *"$text"* ]] || { echo "$*: printed \"$printed\", which lacks \"$text\""; failed=1; }
}

mkdir -p "$folder/bin" "$folder/include/xsimd" "$folder/googletest"
for program in bash sh env dirname basename mkdir ln sed chmod rm; do ln -s "$(command -v "$program")" "$folder/bin/$program"; done
export PATH=$folder/bin XSIMD_INCLUDE=$folder/include GOOGLETEST=$folder/googletest

expect 77 "there is no aarch64-linux-gnu-g++, nothing was checked" "$script" "$folder/build"
printf '#!/bin/sh\nfor each; do [ "$each" != "$REFUSED" ] || exit 1; done\n' >"$folder/bin/aarch64-linux-gnu-g++"
chmod +x "$folder/bin/aarch64-linux-gnu-g++"
expect 77 "there is no qemu-aarch64, nothing was checked" "$script" "$folder/build"
printf '#!/bin/sh\nexit ${TESTS_EXIT:-0}\n' >"$folder/bin/qemu-aarch64"
chmod +x "$folder/bin/qemu-aarch64"
expect 0 "" "$script" "$folder/build"
expect 1 "src/kernels/vector/softmax.cpp does not compile" env REFUSED=src/kernels/vector/softmax.cpp "$script" "$folder/build"
expect 1 "" env TESTS_EXIT=3 "$script" "$folder/build"
expect 77 "there is no $folder/none/xsimd" env XSIMD_INCLUDE="$folder/none" "$script" "$folder/build"
expect 0 "Exit codes: 0 all is well" "$script" --help
exit $failed

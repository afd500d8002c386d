#!/usr/bin/env bash
# scripts/check-instruction-sets must pass an object whose functions are its own, and name one that others may share.
#   check_instruction_sets_test.sh COMPILER
set -euo pipefail
check=$(cd "$(dirname "$0")/../.." && pwd)/scripts/check-instruction-sets
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

compile() {
  printf '%s\n' "$2" >"$work/$1.cpp"
  "${compiler[@]}" -O0 -c "$work/$1.cpp" -o "$work/$1.o"
}
compiler=("$@")

compile own 'namespace { template <class T> T twice(T x) { return x + x; } } namespace avx2 { int f(int x) { return twice(x); } }'
compile shared 'template <class T> T thrice(T x) { return x + x + x; } namespace avx2 { int g(int x) { return thrice(x); } }'
"$check" "$work/own.o" >/dev/null || { echo "FAILED: refuses an object whose functions are its own"; exit 1; }
if output=$("$check" "$work/own.o" "$work/shared.o" 2>&1); then
  echo "FAILED: passes an object with a template's instance"
  exit 1
fi
grep -q 'shared.o.*thrice<int>' <<<"$output" || { echo "FAILED: does not name the function: $output"; exit 1; }
echo "check_instruction_sets_test: passed"

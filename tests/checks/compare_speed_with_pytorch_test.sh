#!/usr/bin/env bash
# What scripts/compare-speed-with-pytorch says where there is no PyTorch, or nothing that makes sense.
set -uo pipefail
script=$(cd "$(dirname "$0")/../.." && pwd)/scripts/compare-speed-with-pytorch
failed=0

# expect CODE TEXT COMMAND...: the exit code, and a text among what it prints.
expect() {
  local code=$1 text=$2 printed status
  shift 2
  printed=$("$@" 2>&1)
  status=$?
  [ "$status" -eq "$code" ] || { echo "$*: exit code $status, expected $code"; failed=1; }
  [[ $printed == *"$text"* ]] || { echo "$*: printed \"$printed\", which lacks \"$text\""; failed=1; }
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '#!/bin/sh\nexit 1\n' >"$folder/python" && chmod +x "$folder/python"

expect 77 "has no PyTorch" "$script" --python "$folder/python"
expect 77 "has no PyTorch" env PYTHON="$folder/python" "$script"
expect 77 "there is no program $folder/none" "$script" --python "$folder/none"
expect 2 "--only needs a value" "$script" --only
expect 2 "--blas-core needs a value" "$script" --quick --blas-core
expect 2 "no such option: --fast" "$script" --fast
expect 0 "Exit codes: 0 done" "$script" --help
exit $failed

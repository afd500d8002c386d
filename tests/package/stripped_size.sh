#!/usr/bin/env bash
# usage: stripped_size.sh LIBRARY MIB
# Prints how large the library is without its symbols, and fails when that is more than so many MiB.
set -euo pipefail
library=$1 limit=$2
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
strip -o "$stripped" "$library"
awk -v name="$(basename "$library")" -v bytes="$(wc -c <"$stripped")" -v limit="$limit" 'BEGIN {
  printf "%s, stripped: %.2f MiB", name, bytes / 1048576
  if (bytes > limit * 1048576) { printf "; %s MiB is the most\n", limit; exit 1 }
  printf " (limit %s)\n", limit
}'

#!/usr/bin/env bash
# usage: headers_need.sh COMPILER INCLUDE_FOLDER FILE
# Asks the preprocessor for everything that FILE includes; xtensor, xsimd, BLAS or any other library among it fails.
set -euo pipefail
compiler=$1 include=$2 file=$3

foreign() { # the headers that $2 needs, other than $1's own, the standard library's and the system's C ones
  "$compiler" -std=c++17 -I "$1" -M "$2" | tr -s ' \\' '\n' |
    grep -E '(xtensor|xtl|xsimd|xflens|cblas|openblas|fmt|nlohmann|png)[^/]*(/|\.h)' | grep -vF "$1/" || true
}

# The question itself works: it sees the headers of a file that does need them.
sample_folder=$(mktemp -d)
sample=$sample_folder/sample.cpp
trap 'rm -rf "$sample_folder"' EXIT
echo '#include <fmt/format.h>' >"$sample"
[ -n "$(foreign "$include" "$sample")" ] || { echo "headers_need: does not see what a file includes"; exit 1; }

found=$(foreign "$include" "$file")
[ -z "$found" ] || { printf 'the public headers need more than the standard library:\n%s\n' "$found"; exit 1; }

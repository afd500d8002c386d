#!/usr/bin/env bash
# scripts/build-docs must build pages from comments as the headers have them, and name each that is wrong.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v doxygen >/dev/null || { echo "skipped: no doxygen"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export REGARD_DOCUMENTS_ROOT=$work/tree
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }

mkdir -p "$work"/tree/{docs,examples,include/regard}
cp "$root"/docs/{Doxyfile,header.awk,reference.dox} "$work/tree/docs"
cp "$root/examples/first_look.cpp" "$work/tree/examples"
cp "$root"/include/regard/{version,error}.hpp "$work/tree/include/regard"

write_header() { # write_header NAME COMMENT DECLARATION, the comment without its slashes
  printf '// What it is for.\n#pragma once\n\nnamespace REGARD_API regard {\n\n%b%b\n\n}  // namespace regard\n' \
    "${2:+/// $2\n}" "$3" >"$work/tree/include/regard/$1"
}

expect_wrong() { # expect_wrong TEXT: the header ops.hpp as it is now is refused, with this text
  local output status=0
  output=$("$root/scripts/build-docs" "$work/pages" 2>&1) || status=$?
  { [ $status -eq 1 ] && grep -qF -- "$1" <<<"$output"; } || fail "wanted '$1': status $status, $output"
}

write_header ops.hpp 'Smith et al. 1999: two of them, x·W and x. Then more.' \
  '[[nodiscard]] int one(int x);\n[[nodiscard]] int two(int x);\nint three(\n  int x);'
"$root/scripts/build-docs" "$work/pages" >"$work/output" 2>&1 || fail "should be right: $(cat "$work/output")"
page=$work/pages/group__ops.html
grep -q 'version 0\|0\.[0-9]*\.[0-9]' "$work/pages/index.html" || fail "no version"
[ "$(grep -c 'Then more' "$page")" -ge 3 ] || fail "one comment describes all functions below it"
grep -q '\[\[nodiscard' "$page" && fail "attributes are shown"

write_header ops.hpp '' 'int one(int x);'
expect_wrong 'include/regard/ops.hpp:6: warning: Member one(int x) (function) of namespace regard is not documented'
write_header ops.hpp '' 'struct One {\n  int x;\n};'
expect_wrong 'include/regard/ops.hpp:6: warning: Compound regard::One is not documented'
write_header ops.hpp '' 'struct OneOptions {\n  int x;\n};'
"$root/scripts/build-docs" "$work/pages" >"$work/output" 2>&1 || fail "settings need no comment: $(cat "$work/output")"
write_header ops.hpp 'As \\unknown_command says.' 'int one(int x);'
expect_wrong 'Found unknown command'
write_header ops.hpp '\\param y is not there.' 'int one(int x);'
expect_wrong "argument 'y' of command @param is not found"
write_header ops.hpp 'A <vector> of them.' 'int one(int x);'
expect_wrong 'Unsupported xml/html tag <vector>'
write_header ops.hpp 'One.' 'int one(int x);'
sed -i 1d "$work/tree/include/regard/ops.hpp"
expect_wrong 'ops.hpp:1: warning: a header begins with a comment'
write_header ops.hpp 'One.' 'int one(int x);'
write_header new.hpp 'Two.' 'int two(int x);'
expect_wrong 'new.hpp:1: warning: no group in docs/reference.dox names new.hpp'

[ $failures -eq 0 ] || { echo "$failures expectations failed"; exit 1; }
echo "every fault was named"

#!/usr/bin/env bash
# scripts/check-readme must cut out what is to be compiled, and name each block that is no longer true.
set -euo pipefail
check=$(cd "$(dirname "$0")/../.." && pwd)/scripts/check-readme
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export REGARD_DOCUMENTS_ROOT=$work/tree
failures=0
mkdir -p "$work"/tree/{examples,docs} "$work/bin"
printf '// Prints.\nint main() {\n  return 0;\n}\n' >"$work/tree/examples/one.cpp"
printf '#!/bin/sh\necho one $1; echo two; echo "took 3.2 s"; echo four\n' >"$work/bin/one"
printf '#!/bin/sh\necho broken >&2; exit 3\n' >"$work/bin/broken"
chmod +x "$work"/bin/*

fail() { echo "FAILED: $*"; failures=$((failures + 1)); }

document() { printf '%b' "$1" >"$work/tree/README.md"; } # document TEXT, with ~~~ written as the fence
fence() { printf '%s' "$1" | sed 's/~~~/```/g'; }

expect_true() {
  document "$(fence "$1")"
  local output
  output=$("$check" compare "$work/bin" 2>&1) || fail "should be true: $1: $output"
}

expect_untrue() { # expect_untrue TEXT MESSAGE
  document "$(fence "$1")"
  local output status=0
  output=$("$check" compare "$work/bin" 2>&1) || status=$?
  { [ $status -ne 0 ] && grep -qF -- "$2" <<<"$output"; } || fail "wanted '$2' for: $1: status $status, $output"
}

whole='<!-- example: examples/one.cpp -->\n~~~cpp\n// Prints.\nint main() {\n  return 0;\n}\n~~~\n'
expect_true "$whole"
expect_untrue "${whole/return 0/return 1}" 'README.md:3: differs from examples/one.cpp'
expect_untrue "${whole/one.cpp/two.cpp}" 'there is no examples/two.cpp'
expect_true '<!-- excerpt: examples/one.cpp -->\n~~~cpp\nint main() {\n  return 0;\n~~~\n'
expect_untrue '<!-- excerpt: examples/one.cpp -->\n~~~cpp\nint main() {\n}\n~~~\n' 'does not stand in'

expect_true '<!-- output: one a -->\n~~~text\none a\ntwo\ntook 3.2 s\nfour\n~~~\n'
expect_true '<!-- output: one a -->\n~~~text\none a\ntwo\ntook … s\nfour\n~~~\n'
expect_true '<!-- output: one a -->\n~~~text\none a\n...\nfour\n~~~\n'
expect_untrue '<!-- output: one a -->\n~~~text\none a\n...\nfive\n~~~\n' 'not what one a prints'
expect_untrue '<!-- output: one a -->\n~~~text\none a\ntwo\ntook … ms\nfour\n~~~\n' 'not what one a prints'
expect_untrue '<!-- output: one b -->\n~~~text\none a\n...\n~~~\n' 'not what one b prints'
expect_untrue '<!-- output: one a -->\n~~~text\none a\ntwo\n~~~\n' 'not what one a prints'
expect_untrue '<!-- output: broken -->\n~~~text\n~~~\n' 'ended with 3'
expect_untrue '  ~~~cpp\n  int x;\n  ~~~\n' 'must start at the margin'
expect_untrue '~~~c++\nint x;\n~~~\n' 'write ```cpp'
expect_untrue '~~~cpp\nint x;\n' 'not closed'

document "$(fence "text\n~~~cpp\n#include <vector>\nint x = 1;\n~~~\nmore\n<!-- continues -->\n~~~cpp\n++x;\n~~~\n\
<!-- declarations -->\n~~~cpp\nint f();\n~~~\n~~~cpp\nint main() {\n}\n~~~\n~~~sh\nrm x\n~~~\n$whole")"
"$check" extract "$work/out"
[ "$(ls "$work/out")" = "$(printf 'README_md_1.cpp\nREADME_md_2.cpp\nREADME_md_3.cpp')" ] || fail "files: $(ls "$work/out")"
expected='#include <regard/regard.hpp>
#include <vector>
using namespace regard;
void snippet() {
#line 3 "README.md"

int x = 1;
#line 9 "README.md"
++x;
}'
[ "$(cat "$work/out/README_md_1.cpp")" = "$expected" ] || fail "statements: $(cat "$work/out/README_md_1.cpp")"
grep -q '^int f();' "$work/out/README_md_2.cpp" && ! grep -q snippet "$work/out/README_md_2.cpp" || fail declarations
[ "$(cat "$work/out/README_md_3.cpp")" = "$(printf '#line 16 "README.md"\nint main() {\n}')" ] || fail "program: $(cat "$work/out/README_md_3.cpp")"

# In a header only comments are looked at; the header is included, and the names its examples go by.
mkdir -p "$work/tree/include/regard/study"
printf '%b' "$(fence '// Of\n//\n// ~~~cpp\n// int x = 1;\n//\n// ++x;\n// ~~~\n#pragma once\n"~~~cpp"\n\
  /// <!-- declarations -->\n  /// ~~~cpp\n  /// int f();\n  /// ~~~\n')" >"$work/tree/include/regard/study/one.hpp"
"$check" extract "$work/out_of_header"
[ "$(cd "$work/out_of_header" && echo include*)" = 'include_regard_study_one_hpp_1.cpp include_regard_study_one_hpp_2.cpp' ] ||
  fail "files: $(ls "$work/out_of_header")"
expected='#include <regard/regard.hpp>
#include <regard/study/one.hpp>
#include "header_examples.hpp"
using namespace example;
using namespace regard::study;
using namespace regard;
void snippet() {
#line 4 "include/regard/study/one.hpp"
int x = 1;

++x;
}'
[ "$(cat "$work/out_of_header/include_regard_study_one_hpp_1.cpp")" = "$expected" ] ||
  fail "in a header: $(cat "$work/out_of_header/include_regard_study_one_hpp_1.cpp")"
grep -q '^int f();' "$work/out_of_header/include_regard_study_one_hpp_2.cpp" || fail "declarations in a header"
printf '%b' "$(fence '// ~~~cpp\n// int x = 1;\n#pragma once\n')" >"$work/tree/include/regard/study/one.hpp"
output=$("$check" extract "$work/out_of_header" 2>&1) && fail "a block that a header does not close: $output"
grep -qF 'one.hpp:2: the block is not closed' <<<"$output" || fail "a block that a header does not close: $output"
rm -r "$work/tree/include"

touch -t 202001010000 "$work/out/README_md_1.cpp"
document "$(fence "text\n~~~cpp\n#include <vector>\nint x = 1;\n~~~\nmore\n<!-- continues -->\n~~~cpp\n++x;\n~~~\n")"
"$check" extract "$work/out"
[ "$(ls "$work/out")" = README_md_1.cpp ] || fail "left over: $(ls "$work/out")"
[ "$(date -r "$work/out/README_md_1.cpp" +%Y)" = 2020 ] || fail "written again though nothing changed"

# What code prints is shown in one piece or several, and the code becomes a program.
document "$(fence "~~~cpp\nstd::cout << 1;\n~~~\n<!-- prints -->\n~~~text\none \n~~~\n<!-- continues -->\n~~~cpp\nint x;\n~~~\n\
<!-- prints -->\n~~~text\ntwo\ntook … s\nfour\n~~~\n~~~cpp\nint y;\n~~~\n")"
"$check" extract "$work/out"
[ "$(cd "$work/out" && find . -name '*.cpp' | sort)" = "$(printf './README_md_2.cpp\n./programs/README_md_1.cpp')" ] ||
  fail "files: $(find "$work/out")"
expected='#include <regard/regard.hpp>
#include <iostream>
using namespace regard;
void snippet() {
#line 2 "README.md"
std::cout << 1;
#line 10 "README.md"
int x;
}
int main() {
  snippet();
}'
[ "$(cat "$work/out/programs/README_md_1.cpp")" = "$expected" ] || fail "program: $(cat "$work/out/programs/README_md_1.cpp")"
mkdir "$work/bin/snippets"
cp "$work/bin/one" "$work/bin/snippets/README_md_1"
shows='~~~cpp\nint x;\n~~~\n<!-- prints -->\n~~~text\none\ntwo\n...\nfour\n~~~\n'
expect_true "$shows"
expect_untrue "${shows/four/five}" 'README.md:6: this is not what the code above prints'
expect_untrue "<!-- prints -->${shows#*<!-- prints -->}" 'no C++ block before it'
cp "$work/bin/broken" "$work/bin/snippets/README_md_1"
expect_untrue "$shows" 'the code above ended with 3'

[ $failures -eq 0 ] || { echo "$failures expectations failed"; exit 1; }
echo "every untrue block was named"

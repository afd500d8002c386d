#!/usr/bin/env bash
# scripts/check-layering must pass a tree that is right, and name each thing that is wrong in one that is not.
set -euo pipefail
check=$(cd "$(dirname "$0")/../.." && pwd)/scripts/check-layering
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fresh_tree() {
  rm -rf "$work/tree"
  mkdir -p "$work"/tree/{include/regard/nn,include/regard/detail/xtensor,src/kernels,src/autograd,src/ops,examples,tests,cmake}
  cd "$work/tree"
  printf '#pragma once\n#include <vector>\nnamespace REGARD_API regard {\n}\n' >include/regard/tensor.hpp
  printf '#pragma once\n#include <regard/tensor.hpp>\nnamespace REGARD_API regard {\nnamespace nn {\n}\n}\n' >include/regard/nn/linear.hpp
  printf '#pragma once\n#include <xtensor/xarray.hpp>\n' >include/regard/detail/xtensor/array.hpp
  printf '#include <regard/detail/xtensor/array.hpp>\n#include <cblas.h>\nconst auto a = xt::adapt(p, n);\n' >src/kernels/pad.cpp
  printf '#include "kernels/pad.hpp"\n#include "autograd/apply.hpp"\n// xt::sum( is not called\n' >src/ops/pad.cpp
  printf '#include <regard/nn/linear.hpp>\n#include "grammar.hpp"\n' >examples/one.cpp
  printf '#pragma once\n#include <regard/tensor.hpp>\n#include <regard/nn/linear.hpp>\n' >include/regard/regard.hpp
  printf '# never -ffast-math\n' >cmake/Options.cmake
  cd - >/dev/null
}

expect_pass() {
  local output
  output=$("$check" "$work/tree" 2>&1) || { echo "FAILED: $1: $output"; failures=$((failures + 1)); }
}

# expect_breach FILE TEXT MESSAGE: with TEXT in FILE the check fails, and says MESSAGE about that file.
expect_breach() {
  fresh_tree
  mkdir -p "$(dirname "$work/tree/$1")"
  printf "$2" >"$work/tree/$1"
  local output status=0
  output=$("$check" "$work/tree" 2>&1) || status=$?
  if [ $status -ne 1 ] || ! grep -qF -- "$3" <<<"$output" || ! grep -q "^$1:[0-9]" <<<"$output"; then
    echo "FAILED: $1 with '$2': status $status, wanted '$3', got: $output"
    failures=$((failures + 1))
  fi
}

fresh_tree
expect_pass "a tree that is right"

expect_breach src/kernels/bad.cpp '#include "autograd/node.hpp"\n' 'kernels must not include autograd'
expect_breach src/kernels/bad.cpp '#include <regard/tensor.hpp>\n' 'kernels must not include tensor'
expect_breach src/kernels/bad.cpp '#include <xtensor/xview.hpp>\n' 'directly'
expect_breach src/autograd/bad.cpp '#include <regard/ops.hpp>\n' 'autograd must not include ops'
expect_breach src/ops/bad.cpp '#include <regard/nn/linear.hpp>\n' 'ops must not include nn'
expect_breach src/ops/bad.cpp '#include <regard/detail/xtensor/array.hpp>\n' 'ops must not include shim'
expect_breach src/ops/bad.cpp '#include <xsimd/xsimd.hpp>\n' 'ops must not include xsimd'
expect_breach src/ops/bad.cpp '#include <cblas.h>\n' 'ops must not include blas'
expect_breach src/nn/bad.cpp '#include "kernels/pad.hpp"\n' 'nn must not include kernels'
expect_breach src/nn/bad.cpp '#include <regard/study/film.hpp>\n' 'nn must not include study'
expect_breach src/io/bad.cpp '#include "nn/linear.hpp"\n' 'io must not include nn'
expect_breach src/new_folder/bad.cpp '#include "nn/linear.hpp"\n' 'belongs to no layer'
expect_breach include/regard/surprise.hpp '#pragma once\n' 'belongs to no layer'
expect_breach include/regard/tensor.hpp '#pragma once\n#include <regard/detail/xtensor/array.hpp>\n' 'tensor must not include shim'
expect_breach examples/bad.cpp '#include "ops/pad.hpp"\n' 'examples must not include src/ops'
expect_breach examples/bad.cpp '#include <regard/detail/xtensor/array.hpp>\n' 'examples must not include shim'
expect_breach tests/bad_test.cpp 'const std::regex r("x");\n' 'compile time'

expect_breach src/ops/bad.cpp 'y = xt::sum(x);\n' 'out of bounds'
expect_breach src/ops/bad.cpp 'y = x - xt::amax<double>(x, {1});\n' 'out of bounds'
expect_breach src/kernels/bad.cpp 'const auto y = xt::exp(x);\n' 'auto keeps'
expect_breach src/kernels/bad.cpp 'auto y =\n    1 + xt::exp(x);\n' 'auto keeps'
expect_breach src/kernels/bad.cpp 'auto&& y = xt::eval(x);\n' 'auto keeps'
expect_breach src/kernels/bad.cpp '#pragma GCC optimize("Ofast")\n' 'fast-math'
expect_breach cmake/Bad.cmake 'add_compile_options(-ffast-math)\n' 'fast-math'
expect_breach src/ops/bad.cpp '// TODO: later\n' 'unfinished'
expect_breach src/ops/bad.cpp "$(printf 'int x;\\n%.0s' {1..601})" 'lines long'
expect_breach src/ops/bad.hpp 'int x;\n' 'pragma once'
expect_breach include/regard/ops.hpp '#pragma once\nnamespace regard {\n}\n' 'REGARD_API'
expect_breach include/regard/ops.hpp '#pragma once\n' 'missing in <regard/regard.hpp>'
expect_breach include/regard/nn/dropout.hpp '#pragma once\nnamespace regard::nn {\n}\n' 'REGARD_API'
expect_breach include/regard/ops.hpp '#pragma once\nnamespace regard REGARD_API {\n}\n' 'REGARD_API'

fresh_tree
printf 'int x;\n%.0s' {1..500} >"$work/lines"
for i in {1..12}; do cp "$work/lines" "$work/tree/src/ops/part$i.cpp"; done
output=$("$check" "$work/tree" 2>&1) && status=0 || status=$?
if [ $status -ne 1 ] || ! grep -q 'the core has 60[0-9][0-9] lines of code' <<<"$output"; then
  echo "FAILED: a core over the limit: status $status, $output"
  failures=$((failures + 1))
fi

[ $failures -eq 0 ] || { echo "$failures expectations failed"; exit 1; }
echo "every breach was named"

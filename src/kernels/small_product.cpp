#include "kernels/small_product.hpp"

#include <cstring>

#include <regard/instruction_set.hpp>

#include "kernels/blas.hpp"

namespace regard::kernels {
namespace {

/// What OpenBLAS multiplies with. Since 0.3.17 its AVX-512 kernels have fast ways of their own for small
/// products.
enum class Blas { avx512, others };

Blas kind_of(const char* blas_kernels) {
  for (const char* name : {"SkylakeX", "Cooperlake", "SapphireRapids"})
    if (std::strcmp(blas_kernels, name) == 0) return Blas::avx512;
  return Blas::others;
}

constexpr Size all = Size{1} << 20;  // what was measured

// clang-format off
// From benchmarks/products.cpp, with OpenBLAS 0.3.21 on one thread; `others` beside its kernels for Haswell.
constexpr struct {
  const char* set;
  Blas blas;
  SmallProductLimits limits;
} measured[] = {
    //                            plain  turned turned_twice vector
    {"baseline", Blas::others, {640, 640, 640, 64}}, {"baseline", Blas::avx512, {64, 64, 64, 64}},
    {"avx2", Blas::others, {all, all, all, 1024}},   {"avx2", Blas::avx512, {64, 64, 64, 64}},
    {"avx512", Blas::others, {all, all, all, 1024}}, {"avx512", Blas::avx512, {8000, 1152, 200, 64}},
};

}  // namespace

const SmallProductLimits& small_product_limits(const char* instruction_set, const char* blas_kernels) {
  const Blas blas = kind_of(blas_kernels);
  for (const auto& row : measured)
    if (row.blas == blas && std::strcmp(row.set, instruction_set) == 0) return row.limits;
  return measured[0].limits;
}

const SmallProductLimits& small_product_limits() {
  static const SmallProductLimits limits =
      small_product_limits(instruction_set().c_str(), blas_kernels().c_str());
  return limits;
}

}  // namespace regard::kernels

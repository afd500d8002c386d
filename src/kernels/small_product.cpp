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

constexpr Size many = Size{1} << 20, all = Size{1} << 21;  // the latter: what was measured

// clang-format off
// From benchmarks/products.cpp, with OpenBLAS 0.3.21 on one thread; `others` beside its kernels for Haswell and
// Zen. Sets that nobody has measured, such as NEON, have the first row's.
constexpr struct {
  const char* set;
  Blas blas;
  SmallProductLimits limits;
} measured[] = {
    //                             plain turned turned_twice thin room
    {"baseline", Blas::others, {640, 640, 640, 512, 2048}},   {"baseline", Blas::avx512, {64, 640, 64, 64, 2048}},
    {"avx2", Blas::others, {many, many, many, 16384, 10240}}, {"avx2", Blas::avx512, {512, 1152, 512, 64, 2048}},
    {"avx512", Blas::others, {all, all, all, 16384, 2048}},   {"avx512", Blas::avx512, {all, all, 65536, 512, 2048}},
};
// clang-format on

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

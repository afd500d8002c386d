// Which matrix products are small enough for a loop of our own.
#pragma once

#include "kernels/vector/table.hpp"

namespace regard::kernels {

/// The most multiplications, m·n·k, with which our own product is never slower than a bare call of OpenBLAS.
struct SmallProductLimits {
  Size plain;         ///< B's columns lie side by side
  Size turned;        ///< B's do not, A's do
  Size turned_twice;  ///< neither do
  Size vector;        ///< C is a row or a column
};

/// Of an instruction set beside the BLAS kernels of a name (openblas_get_corename()).
const SmallProductLimits& small_product_limits(const char* instruction_set, const char* blas_kernels);

/// Of the set and the BLAS in use.
const SmallProductLimits& small_product_limits();

/// Is our own loop the one to take?
template <class T>
bool is_small(const SmallProduct<T>& at) {
  if (at.n > small_product_room || at.k * at.n > small_product_room) return false;
  const SmallProductLimits& limits = small_product_limits();
  const Size limit = at.m == 1 || at.n == 1 ? limits.vector
                     : at.b_column == 1     ? limits.plain
                     : at.a_column == 1     ? limits.turned
                                            : limits.turned_twice;
  return at.m <= limit && at.m * at.n * at.k <= limit;
}

}  // namespace regard::kernels

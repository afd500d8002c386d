// Which matrix products are small enough for a loop of our own.
#pragma once

#include "kernels/vector/table.hpp"

namespace regard::kernels {

/// The most multiplications, m·n·k, with which our own product is never slower than a bare call of OpenBLAS.
struct SmallProductLimits {
  Size plain;         ///< B's columns lie side by side
  Size turned;        ///< B's do not, A's do
  Size turned_twice;  ///< neither do
  Size thin;          ///< C has fewer than 4 rows or 8 columns
  Size room;          ///< elements of B where its columns do not lie side by side; small_product_room at most
};

/// Of an instruction set beside the BLAS kernels of a name (openblas_get_corename()).
const SmallProductLimits& small_product_limits(const char* instruction_set, const char* blas_kernels);

/// Of the set and the BLAS in use.
const SmallProductLimits& small_product_limits();

/// Is our own loop the one to take?
template <class T>
bool is_small(const SmallProduct<T>& at) {
  const SmallProductLimits& limits = small_product_limits();
  const Size limit = at.m < 4 || at.n < 8 ? limits.thin
                     : at.b_column == 1   ? limits.plain
                     : at.a_column == 1   ? limits.turned
                                          : limits.turned_twice;
  const auto fits = [](Size a, Size b, Size most) { return a <= most && b <= most && a * b <= most; };
  return fits(at.m, at.n, limit) && fits(at.m * at.n, at.k, limit) &&
         (at.b_column == 1 || fits(at.n, at.k, limits.room));
}

}  // namespace regard::kernels

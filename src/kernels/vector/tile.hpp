// A tile of a product of matrices: its sums stay in registers while one loop runs over what is contracted.
// Every element is one sum in the order of k, whatever the tile, so it depends on its own row and column
// alone.
#pragma once

#include "kernels/vector/batch.hpp"

namespace regard::kernels::REGARD_VARIANT {
namespace {

/// Element (i, p) of A lies at a + i·a_row + p·a_column; rows of B are dense, b_row apart. The sums go over p
/// < k.
template <class T>
struct TileOperands {
  Size k;
  T alpha;
  const T* a;
  Size a_row, a_column;
  const T* b;
  Size b_row;
};

/// put(row, offset, count, alpha·Σ_p a(row, p)·b(p, offset ...)) for each vector V of the tile. `count` lanes
/// of the last one of a row exist in B.
template <class V, int rows, int vectors, class T, class Count, class Put>
REGARD_INLINE void tile(const TileOperands<T>& at, Count count, Put put) {
  using Vector = typename V::Vector;
  const Size k = at.k, a_row = at.a_row, a_column = at.a_column, b_row = at.b_row;
  const T *a = at.a, *b = at.b;
  Vector sums[rows][vectors];
  REGARD_UNROLLED for (int row = 0; row < rows; ++row) {
    REGARD_UNROLLED for (int v = 0; v < vectors; ++v) sums[row][v] = V::all(T{0});
  }
  for (Size p = 0; p < k; ++p, a += a_column, b += b_row) {
    Vector right[vectors];
    REGARD_UNROLLED for (int v = 0; v + 1 < vectors; ++v) right[v] = V::load(b + v * V::width, All{});
    right[vectors - 1] = V::load(b + (vectors - 1) * V::width, count);
    REGARD_UNROLLED for (int row = 0; row < rows; ++row) {
      const Vector left = V::all(a[row * a_row]);
      REGARD_UNROLLED for (int v = 0; v < vectors; ++v) sums[row][v] =
          V::multiply_add(left, right[v], sums[row][v]);
    }
  }
  if (at.alpha != T{1}) {
    const Vector alpha = V::all(at.alpha);
    REGARD_UNROLLED for (int row = 0; row < rows; ++row) {
      REGARD_UNROLLED for (int v = 0; v < vectors; ++v) sums[row][v] = V::multiply(alpha, sums[row][v]);
    }
  }
  REGARD_UNROLLED for (int row = 0; row < rows; ++row) {
    REGARD_UNROLLED for (int v = 0; v + 1 < vectors; ++v) put(row, v * V::width, All{}, sums[row][v]);
    put(row, (vectors - 1) * V::width, count, sums[row][vectors - 1]);
  }
}

}  // namespace
}  // namespace regard::kernels::REGARD_VARIANT

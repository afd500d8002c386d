// Small products of matrices: tiles of C stay in registers while k runs. Every element is one sum in the
// order of k, whatever the tile, so it depends on its own row and column alone.
#include "kernels/vector/batch.hpp"
#include "kernels/vector/variant.hpp"

namespace regard::kernels::REGARD_VARIANT {
namespace {

/// B's numbers as dense rows, a multiple of the width apart.
template <class T>
struct DenseRows {
  const T* first;
  Size step;
};

/// rows x (vectors·width) elements of C from column j on; `count` lanes of the last vector exist.
template <int rows, int vectors, class T, class Count>
REGARD_INLINE void tile(const SmallProduct<T>& at, const DenseRows<T>& b, Size i, Size j, Count count) {
  Batch<T> sums[rows][vectors];
  for (auto& row : sums)
    for (Batch<T>& sum : row) sum = Batch<T>(T{0});
  const T* a = at.a + i * at.a_row;
  const T* from = b.first + j;
  for (Size p = 0; p < at.k; ++p, a += at.a_column, from += b.step) {
    Batch<T> right[vectors];
    for (int v = 0; v + 1 < vectors; ++v) right[v] = load(from + v * width<T>);
    right[vectors - 1] = load(from + (vectors - 1) * width<T>, count);
    for (int row = 0; row < rows; ++row) {
      const Batch<T> left(a[row * at.a_row]);
      for (int v = 0; v < vectors; ++v) sums[row][v] = multiply_add(left, right[v], sums[row][v]);
    }
  }
  const Batch<T> alpha(at.alpha);
  for (int row = 0; row < rows; ++row) {
    T* const to = at.c + (i + row) * at.n + j;
    for (int v = 0; v + 1 < vectors; ++v) store(to + v * width<T>, alpha * sums[row][v]);
    store(to + (vectors - 1) * width<T>, count, Batch<T>(alpha * sums[row][vectors - 1]));
  }
}

/// All rows of one strip of columns.
template <int vectors, class T, class Count>
REGARD_INLINE void strip(const SmallProduct<T>& at, const DenseRows<T>& b, Size j, Count count) {
  constexpr int rows = vectors == 1 ? 8 : width<T> * static_cast<Size>(sizeof(T)) == 64 ? 8 : 6;
  Size i = 0;
  for (; i + rows <= at.m; i += rows) tile<rows, vectors>(at, b, i, j, count);
  for (; i + 4 <= at.m; i += 4) tile<4, vectors>(at, b, i, j, count);
  for (; i + 2 <= at.m; i += 2) tile<2, vectors>(at, b, i, j, count);
  if (i < at.m) tile<1, vectors>(at, b, i, j, count);
}

template <class T>
REGARD_INLINE void multiply(const SmallProduct<T>& at, const DenseRows<T>& b) {
  Size j = 0;
  for (; j + 2 * width<T> <= at.n; j += 2 * width<T>) strip<2>(at, b, j, All{});
  if (j + width<T> < at.n) return strip<2>(at, b, j, at.n - j - width<T>);
  if (j + width<T> == at.n) return strip<1>(at, b, j, All{});
  if (j < at.n) strip<1>(at, b, j, at.n - j);
}

/// Columns j ... j + columns - 1 of B, whose numbers lie anywhere, as rows.
template <int columns, class T>
REGARD_INLINE void turn(const SmallProduct<T>& at, Size j, T* rows) {
  const T* from = at.b + j * at.b_column;
  for (Size p = 0; p < at.k; ++p, from += at.b_row)
    for (int c = 0; c < columns; ++c) rows[p * at.n + j + c] = from[c * at.b_column];
}

template <class T>
void small_product(const SmallProduct<T>& at) {
  if (at.b_column == 1) return multiply(at, DenseRows<T>{at.b, at.b_row});
  // Turned into rows first: vectors lie along C's rows.
  T rows[small_product_room];
  Size j = 0;
  for (; j + 8 <= at.n; j += 8) turn<8>(at, j, rows);
  for (; j + 4 <= at.n; j += 4) turn<4>(at, j, rows);
  for (; j < at.n; ++j) turn<1>(at, j, rows);
  multiply(at, DenseRows<T>{rows, at.n});
}

}  // namespace

void set_product(Table& table) {
  table.f32.small_product = small_product<float>;
  table.f64.small_product = small_product<double>;
}

}  // namespace regard::kernels::REGARD_VARIANT

// Small products of matrices, tile by tile.
#include "kernels/vector/tile.hpp"
#include "kernels/vector/transpose.hpp"
#include "kernels/vector/variant.hpp"

namespace regard::kernels::REGARD_VARIANT {
namespace {

/// One of the products: B as dense rows, a multiple of the width apart.
template <class T>
struct Matrices {
  const T *a, *b;
  Size b_row;
  T* c;
};

/// rows x (vectors·width) elements of C from (i, j) on; `count` lanes of the last vector exist.
template <class V, int rows, int vectors, class T, class Count>
REGARD_INLINE void put_tile(const SmallProduct<T>& at, const Matrices<T>& of, Size i, Size j, Count count) {
  T* const c = of.c + i * at.n + j;
  const Size n = at.n;
  const TileOperands<T> operands{at.k,     at.alpha, of.a + i * at.a_row, at.a_row, at.a_column,
                                 of.b + j, of.b_row};
  const auto put = [ =, adds = at.adds ](Size row, Size offset, auto lanes, const typename V::Vector& sum)
      __attribute__((always_inline)) {
    T* const to = c + row * n + offset;
    V::store(to, lanes, adds ? V::multiply_add(V::all(T{1}), sum, V::load(to, lanes)) : sum);
  };
  tile<V, rows, vectors>(operands, count, put);
}

/// The last rows, `rows` at most.
template <class V, int rows, int vectors, class T, class Count>
REGARD_INLINE void last_tile(const SmallProduct<T>& at, const Matrices<T>& of, Size i, Size j, Count count) {
  if constexpr (rows > 0) {
    if (at.m - i == rows) return put_tile<V, rows, vectors>(at, of, i, j, count);
    last_tile<V, rows - 1, vectors>(at, of, i, j, count);
  }
}

/// All rows of one strip of columns: as many at once as there are registers for, and as keep two multipliers
/// busy. A function of its own: many tiles in one are too much for a compiler.
template <class V, int vectors, class T, class Count>
__attribute__((noinline)) void strip(const SmallProduct<T>& at, const Matrices<T>& of, Size j, Count count) {
  constexpr bool widest = sizeof(typename V::Vector) == 64;
  constexpr int rows = widest ? 8 : vectors == 1 ? 12 : 6, few = rows == 12 ? 8 : rows;
  Size i = 0;
  // So many only where enough are left for the next tile, or none.
  for (; at.m - i == rows || at.m - i >= rows + few; i += rows)
    put_tile<V, rows, vectors>(at, of, i, j, count);
  for (; i + few <= at.m; i += few) put_tile<V, few, vectors>(at, of, i, j, count);
  last_tile<V, few - 1, vectors>(at, of, i, j, count);
}

/// The last columns, not more than a vector's, from j on.
template <class T>
REGARD_INLINE void last_strip(const SmallProduct<T>& at, const Matrices<T>& of, Size j) {
  const Size columns = at.n - j;
#if defined(__AVX512VL__)
  if (columns == Half<T>::width) return strip<Half<T>, 1>(at, of, j, All{});
  if (columns < Half<T>::width) return strip<Half<T>, 1>(at, of, j, columns);
#endif
  columns == width<T> ? strip<Wide<T>, 1>(at, of, j, All{}) : strip<Wide<T>, 1>(at, of, j, columns);
}

template <class T>
REGARD_INLINE void multiply(const SmallProduct<T>& at, const Matrices<T>& of) {
  Size j = 0;
  for (; j + 2 * width<T> <= at.n; j += 2 * width<T>) strip<Wide<T>, 2>(at, of, j, All{});
  if (j == at.n) return;
    // A half vector, where there is one, is better than most of a vector that do not exist.
#if defined(__AVX512VL__)
  constexpr Size half = Half<T>::width;
#else
  constexpr Size half = 0;
#endif
  if (j + width<T> + half < at.n) return strip<Wide<T>, 2>(at, of, j, at.n - j - width<T>);
  if (j + width<T> < at.n) {
    strip<Wide<T>, 1>(at, of, j, All{});
    j += width<T>;
  }
  last_strip(at, of, j);
}

/// Product `i` of them.
template <class T>
REGARD_INLINE Matrices<T> matrices(const SmallProduct<T>& at, Size i) {
  return {at.a + i * at.next_a, at.b + i * at.next_b, at.b_row, at.c + i * at.next_c};
}

/// B is turned into rows first: vectors lie along C's rows.
template <class T, Size room>
__attribute__((noinline)) void turned_products(const SmallProduct<T>& at) {
  T rows[room];
  for (Size i = 0; i < at.count; ++i) {
    Matrices<T> of = matrices(at, i);
    transpose(at.n, at.k, of.b, at.b_column, at.b_row, rows, at.n);
    of.b = rows, of.b_row = at.n;
    multiply(at, of);
  }
}

template <class T>
void small_product(const SmallProduct<T>& at) {
  constexpr Size few = 2048;  // beyond this a compiler may touch every page of the room
  if (at.b_column != 1)
    return at.n * at.k <= few ? turned_products<T, few>(at) : turned_products<T, small_product_room>(at);
  for (Size i = 0; i < at.count; ++i) multiply(at, matrices(at, i));
}

}  // namespace

void set_product(Table& table) {
  table.f32.small_product = small_product<float>;
  table.f64.small_product = small_product<double>;
}

}  // namespace regard::kernels::REGARD_VARIANT

// Products of which one matrix is a block of attention: what the mask hides by position is left out, tile by
// tile.
#include "kernels/vector/tile.hpp"
#include "kernels/vector/transpose.hpp"
#include "kernels/vector/variant.hpp"

namespace regard::kernels::REGARD_VARIANT {
namespace {

#if defined(__AVX512VL__)
template <class T>
using Narrow = Half<T>;
#else
template <class T>
using Narrow = Wide<T>;
#endif

/// As many as there are registers for beside two vectors of B.
template <class T>
inline constexpr int rows_at_once = sizeof(Batch<T>) == 64 ? 8 : 6;

struct Range {
  Size begin, end;
};

/// The columns of the band in any of these rows.
REGARD_INLINE Range columns_of(const Band& band, Size i, Size rows, Size columns) {
  const Size begin = i + band.low, end = i + rows + band.high;
  return {begin > 0 ? begin : 0, end < columns ? end : columns};
}

template <class T>
REGARD_INLINE TileOperands<T> operands(const BandProduct<T>& at, Size i, const Range& inner, Size j) {
  return {inner.end - inner.begin,
          at.alpha,
          at.a + i * at.a_row + inner.begin * at.a_column,
          at.a_row,
          at.a_column,
          at.b + inner.begin * at.b_row + j,
          at.b_row};
}

/// f(V, how many of them, how many lanes of the last exist, j) for columns j ... end - 1, in as few vectors
/// as hold them.
template <class T, class F>
REGARD_INLINE void for_each_strip(Size j, Size end, F f) {
  using Two = std::integral_constant<int, 2>;
  using One = std::integral_constant<int, 1>;
  for (; j + 2 * width<T> <= end; j += 2 * width<T>) f(Wide<T>(), Two(), All{}, j);
  if (j + width<T> + Narrow<T>::width < end) return f(Wide<T>(), Two(), end - j - width<T>, j);
  if (j + width<T> <= end) {
    f(Wide<T>(), One(), All{}, j);
    j += width<T>;
  }
  if (j >= end) return;
  if (end - j == Narrow<T>::width) return f(Narrow<T>(), One(), All{}, j);
  if (end - j < Narrow<T>::width) return f(Narrow<T>(), One(), end - j, j);
  f(Wide<T>(), One(), end - j, j);
}

// ---- scores: the band is of the result ------------------------------------------------------------------

/// A row has room for whole vectors, but what is turned has no more columns than there are.
template <int rows, class T>
__attribute__((noinline)) void put_scores(const BandProduct<T>& at, Size i) {
  const Range columns = columns_of(at.band, i, rows, at.n);
  const Size begin = columns.begin - columns.begin % width<T>;
  const Size filled =
      begin + (columns.end - begin + Narrow<T>::width - 1) / Narrow<T>::width * Narrow<T>::width;
  for_each_strip<T>(
      begin, filled <= at.n ? filled : columns.end,
      [&](auto v, auto vectors, auto count, Size j) __attribute__((always_inline)) {
        using V = decltype(v);
        T* const c = at.c + i * at.c_row + j;
        const Size c_row = at.c_row;
        tile<V, rows, decltype(vectors)::value>(
            operands(at, i, {0, at.k}, j), count,
            [=](Size row, Size offset, auto, const typename V::Vector& sum)
                __attribute__((always_inline)) { V::store(c + row * c_row + offset, All{}, sum); });
      });
}

// ---- mixes: the band is of the left operand -------------------------------------------------------------

template <int rows, class T>
__attribute__((noinline)) void add_mixes(const BandProduct<T>& at, Size i) {
  const Range inner = columns_of(at.band, i, rows, at.k);
  if (inner.begin >= inner.end) return;
  for_each_strip<T>(
      0, at.n, [&](auto v, auto vectors, auto count, Size j) __attribute__((always_inline)) {
        using V = decltype(v);
        T* const c = at.c + i * at.c_row + j;
        const Size c_row = at.c_row;
        tile<V, rows, decltype(vectors)::value>(
            operands(at, i, inner, j), count,
            [=](Size row, Size offset, auto lanes, const typename V::Vector& sum)
                __attribute__((always_inline)) {
                  T* const to = c + row * c_row + offset;
                  V::store(to, lanes, V::add(V::load(to, lanes), sum));
                });
      });
}

// ---- all rows -------------------------------------------------------------------------------------------

#define ALL_ROWS(name, some_rows)                                    \
  template <int rows, class T>                                       \
  REGARD_INLINE void name##_rest(const BandProduct<T>& at, Size i) { \
    if constexpr (rows > 0) {                                        \
      if (at.m - i == rows) return some_rows<rows>(at, i);           \
      name##_rest<rows - 1>(at, i);                                  \
    }                                                                \
  }                                                                  \
  template <class T>                                                 \
  void name(const BandProduct<T>& at) {                              \
    constexpr int rows = rows_at_once<T>;                            \
    Size i = 0;                                                      \
    for (; i + rows <= at.m; i += rows) some_rows<rows>(at, i);      \
    name##_rest<rows - 1>(at, i);                                    \
  }
ALL_ROWS(band_scores, put_scores)
ALL_ROWS(band_mix, add_mixes)

template <class T>
void turn(Size rows, Size columns, const T* from, Size row, T* to, Size step) {
  transpose(rows, columns, from, row, 1, to, step);
}

template <class T>
void set_rows(Rows<T>& rows) {
  rows.band_scores = band_scores<T>;
  rows.band_mix = band_mix<T>;
  rows.turn = turn<T>;
}

}  // namespace

void set_band_product(Table& table) {
  set_rows(table.f32);
  set_rows(table.f64);
}

}  // namespace regard::kernels::REGARD_VARIANT

// Blocks of attention scores, row by row: what the softmax makes of them, and its gradient.
#include "kernels/vector/functions.hpp"
#include "kernels/vector/kept.hpp"
#include "kernels/vector/sums.hpp"
#include "kernels/vector/variant.hpp"

#include <cmath>
#include <type_traits>

namespace regard::kernels::REGARD_VARIANT {
namespace {

// Rows have room for whole vectors, so that no vector is written in part: that would cost more than it saves
// when it is read again. What a mask hides in the last one, and what lies behind its end, is told by a count.

/// f(begin, n, what is kept) of the columns that row i sees, if it sees any by position; zeros beside them,
/// as far as a tile of rows reaches. Sums begin at a full set of lanes, as they do over whole rows, so that
/// their order does not depend on the kind of mask: what lies before the band counts for nothing.
template <class T, class F>
REGARD_INLINE void in_row(const ScoreBlock<T>& s, Size i, T* slopes, F f) {
  T* const row = s.scores + i * s.step;
  const auto fill = [&](Size begin, Size end, T score) __attribute__((always_inline)) {
    for (Size j = begin > 0 ? begin : 0; j < end && j < s.columns; ++j) {
      row[j] = score;
      if (slopes) slopes[i * s.step + j] = T{0};
    }
  };
  const Size low = i + s.band.low, high = i + s.band.high + 1;
  const Size seen = low > 0 ? low : 0, end = high < s.columns ? high : s.columns;
  if (seen >= end) {
    const bool crossed = low > high;
    return fill((crossed ? high : low) - most_tile_rows, (crossed ? low : high) + most_tile_rows, T{0});
  }
  const Size begin = seen - seen % lanes<T>;
  if (begin < seen) fill(begin, seen, hidden<T>);
  if (s.keep)
    f(begin, end - begin, Keep{s.keep + i * s.step + begin});
  else
    f(begin, end - begin, KeepAll{});
  if (seen > 0) fill(seen - most_tile_rows, seen, T{0});
  const Size written = begin + (end - begin + width<T> - 1) / width<T> * width<T>;
  for (Size j = written; j < s.columns && j < end + most_tile_rows; j += width<T>) {
    store(row + j, Batch<T>(T{0}));
    if (slopes) store(slopes + i * s.step + j, Batch<T>(T{0}));
  }
}

/// store(i, f(i, count)) for every vector.
template <class T, class F>
REGARD_INLINE void put(Size n, T* to, F f) {
  for_each_vector<T>(
      n, [=](Size i, auto count) __attribute__((always_inline)) { store(to + i, f(i, count)); });
}

/// The same of a row that showed nothing but -inf and NaN so far.
template <class T, class Kept>
REGARD_INLINE double online_softmax_of_nothing(Size n, T* s, Kept kept) {
  return sum_of<T>(
      n, [=](Size i, auto count) __attribute__((always_inline)) {
        const Batch<T> e = exp<T>(kept(load(s + i), hidden<T>, i, count));
        store(s + i, e);
        return e;
      });
}

template <class T, class Kept>
REGARD_INLINE T online_softmax_of(Size n, T* s, Kept kept, bool whole, T& largest, double& total) {
  const T here = largest_of<T>(
      n, [=](Size i, auto count)
             __attribute__((always_inline)) { return kept(load(s + i), hidden<T>, i, count); });
  const T before = largest;
  if (here > before) largest = here;
  if (largest == hidden<T>) {
    total += online_softmax_of_nothing(n, s, kept);
    return T{1};
  }
  const Batch<T> shift(largest), factor(whole ? T{1} : static_cast<T>(1 / raised_by));
  const double sum = sum_of<T, vectors_beside_exp>(
      n, [=](Size i, auto count) __attribute__((always_inline)) {
        const Batch<T> power = kept(raised_exp_of_rounded<T>(load(s + i) - shift), T{0}, i, count);
        store(s + i, Batch<T>(power * factor));
        return power;
      });
  // Before the first number there is nothing to correct.
  const T correction = largest == before || before == hidden<T> ? T{1} : std::exp(before - largest);
  total = total * static_cast<double>(correction) + sum;
  return correction;
}

// Whole rows of one or two vectors stay in registers.

/// f(k, how many lanes of it exist) for each vector.
template <int vectors, class Count, class F>
REGARD_INLINE void for_each_of_few(Count count, F f) {
  if constexpr (vectors == 2) f(Size{0}, All{});
  f(Size{vectors - 1}, count);
}
template <class T, std::size_t vectors>
REGARD_INLINE T sum_of_few(const Batch<T> (&x)[vectors]) {
  if constexpr (vectors == 2)
    return fold<T>(Batch<T>(x[0] + x[1]), Add{});
  else
    return fold<T>(x[0], Add{});
}

/// f(vectors, count) for n numbers, if they are few.
template <class T, class F>
REGARD_INLINE bool if_few(Size n, F f) {
  if (n > 2 * width<T>) return false;
  if (n > width<T>)
    with_count<T>(
        n - width<T>, [=](auto count)
                          __attribute__((always_inline)) { f(std::integral_constant<int, 2>(), count); });
  else
    with_count<T>(
        n, [=](auto count) __attribute__((always_inline)) { f(std::integral_constant<int, 1>(), count); });
  return true;
}

template <int vectors, class T, class Kept, class Count>
REGARD_INLINE void softmax_of_few(Count count, T* s, Kept kept, T& largest, double& total) {
  Batch<T> x[vectors], most(hidden<T>);
  for_each_of_few<vectors>(
      count, [&](Size k, auto lanes_there) __attribute__((always_inline)) {
        x[k] = kept(load(s + k * width<T>), hidden<T>, k * width<T>, lanes_there);
        most = larger(x[k], most);
      });
  largest = fold<T>(most, Larger{});
  if (largest == hidden<T>) {
    total = online_softmax_of_nothing((vectors - 1) * width<T> + size_of<T>(count), s, kept);
    return;
  }
  const Batch<T> shift(largest);
  for_each_of_few<vectors>(
      count, [&](Size k, auto lanes_there) __attribute__((always_inline)) {
        x[k] = kept(raised_exp_of_rounded<T>(x[k] - shift), T{0}, k * width<T>, lanes_there);
      });
  const T sum = sum_of_few<T>(x);
  const Batch<T> share(1 / sum);
  for (Size k = 0; k < vectors; ++k) store(s + k * width<T>, Batch<T>(x[k] * share));
  total = static_cast<double>(sum);
}

template <int vectors, class T, class Kept, class Count>
REGARD_INLINE void slopes_of_few(Count count, T* s, T* dp, Kept kept, const Batch<T>& shift,
                                 const Batch<T>& share) {
  Batch<T> weights[vectors], products[vectors];
  for_each_of_few<vectors>(
      count, [&](Size k, auto lanes_there) __attribute__((always_inline)) {
        const Size at = k * width<T>;
        weights[k] = kept(raised_exp_of_rounded<T>(load(s + at) - shift) * share, T{0}, at, lanes_there);
        products[k] = kept(weights[k] * load(dp + at), T{0}, at, lanes_there);
        store(s + at, weights[k]);
      });
  const Batch<T> mean(sum_of_few<T>(products));
  for_each_of_few<vectors>(
      count, [&](Size k, auto lanes_there) __attribute__((always_inline)) {
        const Size at = k * width<T>;
        store(dp + at, kept(weights[k] * (load(dp + at) - mean), T{0}, at, lanes_there));
      });
}

template <class T>
bool online_softmax(const ScoreBlock<T>& s, T* largest, double* total, T* corrections) {
  bool corrects = false;
  for (Size i = 0; i < s.rows; ++i) {
    T* const row = s.scores + i * s.step;
    corrections[i] = T{1};
    in_row(
        s, i, static_cast<T*>(nullptr), [&](Size begin, Size n, auto kept) __attribute__((always_inline)) {
          T* const p = row + begin;
          if (s.whole && if_few<T>(
                             n, [=](auto vectors, auto count) __attribute__((always_inline)) {
                               softmax_of_few<decltype(vectors)::value>(count, p, kept, largest[i], total[i]);
                             }))
            return;
          corrections[i] = online_softmax_of(n, p, kept, s.whole, largest[i], total[i]);
          if (!s.whole || total[i] == 0) return;
          const Batch<T> share(1 / static_cast<T>(total[i]));
          put(
              n, p, [=](Size j, auto) __attribute__((always_inline)) { return load(p + j) * share; });
        });
    corrects |= corrections[i] != T{1};
  }
  return corrects;
}

template <class T>
void attention_slopes(const ScoreBlock<T>& s, const RowsOfOutput<T>& of, T* slopes) {
  for (Size i = 0; i < s.rows; ++i) {
    in_row(
        s, i, slopes, [&](Size begin, Size n, auto kept) __attribute__((always_inline)) {
          T *const p = s.scores + i * s.step + begin, *const dp = slopes + i * s.step + begin;
          const Batch<T> shift(of.softmax[2 * i]), share(of.softmax[2 * i + 1]);
          if (s.whole && if_few<T>(
                             n, [=](auto vectors, auto count) __attribute__((always_inline)) {
                               slopes_of_few<decltype(vectors)::value>(count, p, dp, kept, shift, share);
                             }))
            return;
          const T inner = static_cast<T>(sum_of<T>(
              n, [=](Size j, auto count) __attribute__((always_inline)) {
                const Batch<T> weight =
                    kept(raised_exp_of_rounded<T>(load(p + j) - shift) * share, T{0}, j, count);
                store(p + j, weight);
                return kept(weight * load(dp + j), T{0}, j, count);
              }));
          // Σ p·dp over all keys is Σ y·dy, should this block hold only a part of them.
          const T *const y = of.y + i * of.y_row, *const dy = of.dy + i * of.dy_row;
          const auto product = [=](Size a, auto count) __attribute__((always_inline)) {
            return load(y + a, count) * load(dy + a, count);
          };
          const Batch<T> mean(s.whole ? inner : static_cast<T>(sum_of<T>(of.width, product)));
          put(
              n, dp, [=](Size j, auto count) __attribute__((always_inline)) {
                return kept(load(p + j) * (load(dp + j) - mean), T{0}, j, count);
              });
        });
  }
}

template <class T>
void scale_rows(Size rows, Size columns, T* y, Size step, const T* factors, Size factor_step) {
  for (Size i = 0; i < rows; ++i, y += step, factors += factor_step) {
    const Batch<T> factor(*factors);
    T* const row = y;
    for_each_vector<T>(
        columns, [=](Size j, auto count) __attribute__((always_inline)) {
          store(row + j, count, load(row + j, count) * factor);
        });
  }
}

/// 0·x is 0 for every finite x, and NaN for the rest.
template <class T>
bool all_finite(Size rows, Size columns, const T* x, Size step) {
  if (step == columns) columns *= rows, rows = 1;
  const Batch<T> zero(T{0});
  Batch<T> zeros[4] = {zero, zero, zero, zero};
  for (Size i = 0; i < rows; ++i, x += step) {
    Size j = 0;
    for (; j + 4 * width<T> <= columns; j += 4 * width<T>)
      for (Size k = 0; k < 4; ++k) zeros[k] = multiply_add(load(x + j + k * width<T>), zero, zeros[k]);
    for (; j + width<T> <= columns; j += width<T>) zeros[0] = multiply_add(load(x + j), zero, zeros[0]);
    if (j < columns) zeros[1] = multiply_add(load_first(x + j, columns - j), zero, zeros[1]);
  }
  return fold<T>(Batch<T>((zeros[0] + zeros[1]) + (zeros[2] + zeros[3])), Add{}) == T{0};
}

template <class T>
void set_rows(Rows<T>& rows) {
  rows.online_softmax = online_softmax<T>;
  rows.attention_slopes = attention_slopes<T>;
  rows.scale_rows = scale_rows<T>;
  rows.all_finite = all_finite<T>;
}

}  // namespace

void set_attention(Table& table) {
  set_rows(table.f32);
  set_rows(table.f64);
}

}  // namespace regard::kernels::REGARD_VARIANT

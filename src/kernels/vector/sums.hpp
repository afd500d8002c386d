// Sums and maxima of rows. Sums are taken in an order that the vectors' width does not change: element i is
// added to lane i % lanes, the lanes in halves, and blocks of lanes one after the other in float64.
#pragma once

#include <limits>

#include "kernels/vector/batch.hpp"

namespace regard::kernels::REGARD_VARIANT {
namespace {

template <class T>
inline constexpr Size lanes = static_cast<Size>(128 / sizeof(T));
/// So that a lane adds up 32 numbers.
template <class T>
inline constexpr Size block = 32 * lanes<T>;

template <class T>
REGARD_INLINE T sum_of_lanes(Batch<T>* sums) {
  for (Size half = lanes<T> / width<T> / 2; half > 0; half /= 2)
    for (Size k = 0; k < half; ++k) sums[k] = sums[k] + sums[k + half];
  T last[width<T>];
  store(last, sums[0]);
  for (Size half = width<T> / 2; half > 0; half /= 2)
    for (Size k = 0; k < half; ++k) last[k] += last[k + half];
  return last[0];
}

/// f(i, count) gives the vector of terms first + i ...; count as in for_each_vector.
template <class T, class F>
REGARD_INLINE T sum_of_block(Size first, Size n, F f) {
  constexpr Size vectors = lanes<T> / width<T>;
  Batch<T> sums[static_cast<std::size_t>(vectors)];
  for (Batch<T>& sum : sums) sum = Batch<T>(T{0});
  Size i = 0;
  for (; i + lanes<T> <= n; i += lanes<T>)
    for (Size k = 0; k < vectors; ++k) sums[k] = sums[k] + f(first + i + k * width<T>, All{});
  if (i < n) {
    T rest[static_cast<std::size_t>(lanes<T>)] = {};
    for_each_vector<T>(
        n - i, [&](Size k, auto count)
                   __attribute__((always_inline)) { store(rest + k, count, f(first + i + k, count)); });
    for (Size k = 0; k < vectors; ++k) sums[k] = sums[k] + load(rest + k * width<T>);
  }
  return sum_of_lanes<T>(sums);
}

/// Σ f over n terms.
template <class T, class F>
REGARD_INLINE double sum_of(Size n, F f) {
  double total = 0;
  for (Size i = 0; i < n; i += block<T>) total += sum_of_block<T>(i, n - i < block<T> ? n - i : block<T>, f);
  return total;
}

/// The largest of the terms, which f gives as for sum_of; -inf for none; a NaN is passed over.
template <class T, class F>
REGARD_INLINE T largest_of(Size n, F f) {
  constexpr T lowest = -std::numeric_limits<T>::infinity();
  const auto larger = [](const Batch<T>& a, const Batch<T>& b) __attribute__((always_inline)) {
    return xsimd::select(a > b, a, b);
  };
  Batch<T> even(lowest), odd(lowest);
  Size i = 0;
  for (; i + 2 * width<T> <= n; i += 2 * width<T>) {
    even = larger(f(i, All{}), even);
    odd = larger(f(i + width<T>, All{}), odd);
  }
  for_each_vector<T>(
      n - i, [&](Size k, auto count) __attribute__((always_inline)) {
        Batch<T> terms = f(i + k, count);
        if constexpr (!std::is_same_v<decltype(count), All>) terms = first_of(terms, count, Batch<T>(lowest));
        even = larger(terms, even);
      });
  T last[width<T>];
  store(last, larger(even, odd));
  for (Size half = width<T> / 2; half > 0; half /= 2)
    for (Size k = 0; k < half; ++k) last[k] = last[k] > last[k + half] ? last[k] : last[k + half];
  return last[0];
}

}  // namespace
}  // namespace regard::kernels::REGARD_VARIANT

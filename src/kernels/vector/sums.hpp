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

#if defined(__SSE2__)

struct Add {
  REGARD_INLINE __m128 operator()(__m128 a, __m128 b) const { return _mm_add_ps(a, b); }
  REGARD_INLINE __m128d operator()(__m128d a, __m128d b) const { return _mm_add_pd(a, b); }
#if defined(__AVX__)
  REGARD_INLINE __m256 operator()(__m256 a, __m256 b) const {
    return _mm256_add_ps(a, b);
  }
  REGARD_INLINE __m256d operator()(__m256d a, __m256d b) const {
    return _mm256_add_pd(a, b);
  }
#endif
};

/// Of numbers that are not NaN.
struct Larger {
  REGARD_INLINE __m128 operator()(__m128 a, __m128 b) const { return _mm_max_ps(a, b); }
  REGARD_INLINE __m128d operator()(__m128d a, __m128d b) const { return _mm_max_pd(a, b); }
#if defined(__AVX__)
  REGARD_INLINE __m256 operator()(__m256 a, __m256 b) const {
    return _mm256_max_ps(a, b);
  }
  REGARD_INLINE __m256d operator()(__m256d a, __m256d b) const {
    return _mm256_max_pd(a, b);
  }
#endif
};

// The lower half of a vector with its upper half, until one number is left.
template <class Op>
REGARD_INLINE float folded(__m128 x, Op op) {
  const __m128 two = op(x, _mm_movehl_ps(x, x));
  return _mm_cvtss_f32(op(two, _mm_shuffle_ps(two, two, 1)));
}
template <class Op>
REGARD_INLINE double folded(__m128d x, Op op) {
  return _mm_cvtsd_f64(op(x, _mm_unpackhi_pd(x, x)));
}
#if defined(__AVX__)
template <class Op>
REGARD_INLINE float folded(__m256 x, Op op) {
  return folded(op(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1)), op);
}
template <class Op>
REGARD_INLINE double folded(__m256d x, Op op) {
  return folded(op(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1)), op);
}
#endif
#if defined(__AVX512F__)
template <class Op>
REGARD_INLINE float folded(__m512 x, Op op) {
  return folded(op(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1)), op);
}
template <class Op>
REGARD_INLINE double folded(__m512d x, Op op) {
  return folded(op(_mm512_castpd512_pd256(x), _mm512_extractf64x4_pd(x, 1)), op);
}
#endif

template <class T, class Op>
REGARD_INLINE T fold(const Batch<T>& x, Op op) {
  return folded(static_cast<typename Batch<T>::register_type>(x), op);
}

#else

struct Add {
  template <class T>
  REGARD_INLINE T operator()(T a, T b) const {
    return a + b;
  }
};

struct Larger {
  template <class T>
  REGARD_INLINE T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};

template <class T, class Op>
REGARD_INLINE T fold(const Batch<T>& x, Op op) {
  T last[width<T>];
  store(last, x);
  for (Size half = width<T> / 2; half > 0; half /= 2)
    for (Size k = 0; k < half; ++k) last[k] = op(last[k], last[k + half]);
  return last[0];
}

#endif

/// How many vectors hold the lanes.
template <class T>
inline constexpr Size vectors_of_lanes = lanes<T> / width<T>;

/// As many as leave registers for exp; everywhere, so that a softmax has one order.
inline constexpr Size vectors_beside_exp = 2;

template <class T, Size vectors = vectors_of_lanes<T>>
REGARD_INLINE T sum_of_lanes(Batch<T>* sums) {
  if constexpr (vectors == 1) {
    return fold<T>(sums[0], Add{});
  } else {
    constexpr Size half = vectors / 2;
    REGARD_UNROLLED for (Size k = 0; k < half; ++k) sums[k] = sums[k] + sums[k + half];
    return sum_of_lanes<T, half>(sums);
  }
}

/// f(i, count) gives the vector of terms first + i ...; count as in for_each_vector.
template <class T, Size vectors, class F>
REGARD_INLINE T sum_of_block(Size first, Size n, F f) {
  constexpr Size together = vectors * width<T>;
  Batch<T> sums[static_cast<std::size_t>(vectors)];
  REGARD_UNROLLED for (Size k = 0; k < vectors; ++k) sums[k] = Batch<T>(T{0});
  Size i = 0;
  for (; i + together <= n; i += together)
    REGARD_UNROLLED for (Size k = 0; k < vectors; ++k) sums[k] = sums[k] + f(first + i + k * width<T>, All{});
  if (i == n) return sum_of_lanes<T, vectors>(sums);
  // Copies, so that the sums above stay in registers.
  Batch<T> last[static_cast<std::size_t>(vectors)];
  REGARD_UNROLLED for (Size k = 0; k < vectors; ++k) last[k] = sums[k];
  for (Size k = 0; i < n; ++k, i += width<T>) {
    if (i + width<T> <= n)
      last[k] = last[k] + f(first + i, All{});
    else
      last[k] = last[k] + first_of(f(first + i, n - i), n - i, Batch<T>(T{0}));
  }
  return sum_of_lanes<T, vectors>(last);
}

/// Σ f over n terms. With other vectors than hold the lanes each set has an order of its own.
template <class T, Size vectors = vectors_of_lanes<T>, class F>
REGARD_INLINE double sum_of(Size n, F f) {
  constexpr Size block = 32 * vectors * width<T>;  // so that a lane adds up 32 numbers
  double total = 0;
  for (Size i = 0; i < n; i += block)
    total += static_cast<double>(sum_of_block<T, vectors>(i, n - i < block ? n - i : block, f));
  return total;
}

template <class X>
struct Two {
  X first, second;
};

/// Adds the terms i ... end - 1, fewer than there are lanes, in copies: the sums themselves stay in
/// registers.
template <class T, class F, std::size_t vectors>
REGARD_INLINE void add_last(Size i, Size end, Batch<T> (&firsts)[vectors], Batch<T> (&seconds)[vectors],
                            F f) {
  Batch<T> last_firsts[vectors], last_seconds[vectors];
  REGARD_UNROLLED for (std::size_t k = 0; k < vectors; ++k) {
    last_firsts[k] = firsts[k];
    last_seconds[k] = seconds[k];
  }
  for (std::size_t k = 0; i < end; ++k, i += width<T>) {
    Two<Batch<T>> terms;
    if (i + width<T> <= end) {
      terms = f(i, All{});
    } else {
      const Batch<T> zero(T{0});
      terms = f(i, end - i);
      terms = {first_of(terms.first, end - i, zero), first_of(terms.second, end - i, zero)};
    }
    last_firsts[k] = last_firsts[k] + terms.first;
    last_seconds[k] = last_seconds[k] + terms.second;
  }
  REGARD_UNROLLED for (std::size_t k = 0; k < vectors; ++k) {
    firsts[k] = last_firsts[k];
    seconds[k] = last_seconds[k];
  }
}

/// Two sums in one pass, each as sum_of has it; f gives both vectors of terms.
template <class T, class F>
REGARD_INLINE Two<double> sum_of_two(Size n, F f) {
  constexpr Size vectors = vectors_of_lanes<T>;
  Two<double> totals{0, 0};
  for (Size start = 0; start < n; start += block<T>) {
    const Size end = n - start < block<T> ? n : start + block<T>;
    Batch<T> firsts[static_cast<std::size_t>(vectors)], seconds[static_cast<std::size_t>(vectors)];
    REGARD_UNROLLED for (Size k = 0; k < vectors; ++k) firsts[k] = seconds[k] = Batch<T>(T{0});
    Size i = start;
    for (; i + lanes<T> <= end; i += lanes<T>) {
      REGARD_UNROLLED for (Size k = 0; k < vectors; ++k) {
        const Two<Batch<T>> terms = f(i + k * width<T>, All{});
        firsts[k] = firsts[k] + terms.first;
        seconds[k] = seconds[k] + terms.second;
      }
    }
    if (i < end) add_last<T>(i, end, firsts, seconds, f);
    totals.first += static_cast<double>(sum_of_lanes<T>(firsts));
    totals.second += static_cast<double>(sum_of_lanes<T>(seconds));
  }
  return totals;
}

/// a where it is the larger, else b: a NaN in a is passed over.
template <class T>
REGARD_INLINE Batch<T> larger(const Batch<T>& a, const Batch<T>& b) {
#if defined(__SSE2__)
  return xsimd::max(a, b);  // which gives its second operand for a NaN
#else
  return xsimd::select(a > b, a, b);
#endif
}

/// The largest of the terms, which f gives as for sum_of; -inf for none; a NaN is passed over.
template <class T, class F>
REGARD_INLINE T largest_of(Size n, F f) {
  constexpr T lowest = -std::numeric_limits<T>::infinity();
  constexpr std::size_t streams = 4;
  Batch<T> most[streams];
  for (Batch<T>& one : most) one = Batch<T>(lowest);
  Size i = 0;
  for (; i + Size{streams} * width<T> <= n; i += Size{streams} * width<T>)
    for (std::size_t k = 0; k < streams; ++k)
      most[k] = larger<T>(f(i + static_cast<Size>(k) * width<T>, All{}), most[k]);
  for_each_vector<T>(
      n - i, [&](Size k, auto count) __attribute__((always_inline)) {
        Batch<T> terms = f(i + k, count);
        if constexpr (!std::is_same_v<decltype(count), All>) terms = first_of(terms, count, Batch<T>(lowest));
        most[0] = larger<T>(terms, most[0]);
      });
  return fold<T>(larger<T>(larger<T>(most[0], most[1]), larger<T>(most[2], most[3])), Larger{});
}

}  // namespace
}  // namespace regard::kernels::REGARD_VARIANT

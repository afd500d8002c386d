// Small matrices turned, four by four in registers.
#pragma once

#include "kernels/vector/batch.hpp"

namespace regard::kernels::REGARD_VARIANT {
namespace {

#if defined(__SSE2__)

/// The four numbers at from + i·step become column i of four dense rows, to_step apart.
REGARD_INLINE void transpose_four(const float* from, Size step, float* to, Size to_step) {
  const __m128 x0 = _mm_loadu_ps(from), x1 = _mm_loadu_ps(from + step), x2 = _mm_loadu_ps(from + 2 * step),
               x3 = _mm_loadu_ps(from + 3 * step);
  const __m128 low01 = _mm_unpacklo_ps(x0, x1), low23 = _mm_unpacklo_ps(x2, x3),
               high01 = _mm_unpackhi_ps(x0, x1), high23 = _mm_unpackhi_ps(x2, x3);
  _mm_storeu_ps(to, _mm_movelh_ps(low01, low23));
  _mm_storeu_ps(to + to_step, _mm_movehl_ps(low23, low01));
  _mm_storeu_ps(to + 2 * to_step, _mm_movelh_ps(high01, high23));
  _mm_storeu_ps(to + 3 * to_step, _mm_movehl_ps(high23, high01));
}

#if defined(__AVX__)

REGARD_INLINE void transpose_four(const double* from, Size step, double* to, Size to_step) {
  const __m256d x0 = _mm256_loadu_pd(from), x1 = _mm256_loadu_pd(from + step),
                x2 = _mm256_loadu_pd(from + 2 * step), x3 = _mm256_loadu_pd(from + 3 * step);
  const __m256d even01 = _mm256_unpacklo_pd(x0, x1), even23 = _mm256_unpacklo_pd(x2, x3),
                odd01 = _mm256_unpackhi_pd(x0, x1), odd23 = _mm256_unpackhi_pd(x2, x3);
  constexpr int lower_halves = 0x20, upper_halves = 0x31;
  _mm256_storeu_pd(to, _mm256_permute2f128_pd(even01, even23, lower_halves));
  _mm256_storeu_pd(to + to_step, _mm256_permute2f128_pd(odd01, odd23, lower_halves));
  _mm256_storeu_pd(to + 2 * to_step, _mm256_permute2f128_pd(even01, even23, upper_halves));
  _mm256_storeu_pd(to + 3 * to_step, _mm256_permute2f128_pd(odd01, odd23, upper_halves));
}

#else

REGARD_INLINE void transpose_two(const double* from, Size step, double* to, Size to_step) {
  const __m128d x0 = _mm_loadu_pd(from), x1 = _mm_loadu_pd(from + step);
  _mm_storeu_pd(to, _mm_unpacklo_pd(x0, x1));
  _mm_storeu_pd(to + to_step, _mm_unpackhi_pd(x0, x1));
}
REGARD_INLINE void transpose_four(const double* from, Size step, double* to, Size to_step) {
  for (Size i = 0; i < 4; i += 2)
    for (Size p = 0; p < 4; p += 2) transpose_two(from + i * step + p, step, to + p * to_step + i, to_step);
}

#endif

#else

template <class T>
REGARD_INLINE void transpose_four(const T* from, Size step, T* to, Size to_step) {
  for (Size p = 0; p < 4; ++p)
    for (Size i = 0; i < 4; ++i) to[p * to_step + i] = from[i * step + p];
}

#endif

/// The matrix n x k whose element (j, p) lies at from[j·row + p·column], as k rows of n numbers, to_step
/// apart.
template <class T>
REGARD_INLINE void transpose(Size n, Size k, const T* from, Size row, Size column, T* to, Size to_step) {
  if (column != 1 || n < 4 || k < 4) {
    for (Size j = 0; j < n; ++j)
      for (Size p = 0; p < k; ++p) to[p * to_step + j] = from[j * row + p * column];
    return;
  }
  // The last four rows and columns are met again where there are not a multiple of four.
  for (Size j = 0; j < n; j += 4) {
    const Size first = j + 4 <= n ? j : n - 4;
    Size p = 0;
    for (; p + 4 <= k; p += 4) transpose_four(from + first * row + p, row, to + p * to_step + first, to_step);
    if (p < k) transpose_four(from + first * row + k - 4, row, to + (k - 4) * to_step + first, to_step);
  }
}

}  // namespace
}  // namespace regard::kernels::REGARD_VARIANT

// What a mask leaves of a row of scores.
#pragma once

#include <limits>

#include "kernels/vector/batch.hpp"

namespace regard::kernels::REGARD_VARIANT {
namespace {

template <class T>
inline constexpr T hidden = -std::numeric_limits<T>::infinity();

/// A row without a mask. Lanes that do not exist count as hidden.
struct KeepAll {
  template <class T, class Count>
  REGARD_INLINE Batch<T> operator()(const Batch<T>& x, T otherwise, Size, Count count) const {
    return known_lanes(x, count, Batch<T>(otherwise));
  }
};

/// x where kept, `otherwise` elsewhere, whatever x holds there.
struct Keep {
  const bool* keep;

  template <class T, class Count>
  REGARD_INLINE Batch<T> operator()(const Batch<T>& x, T otherwise, Size i, Count count) const {
    return xsimd::select(load_truths<T>(keep + i, count), x, Batch<T>(otherwise));
  }
};

/// f(All) or f(n), for a row of one vector at most.
template <class T, class F>
REGARD_INLINE void with_count(Size n, F f) {
  if (n == width<T>)
    f(All{});
  else if (n > 0)
    f(n);
}

}  // namespace
}  // namespace regard::kernels::REGARD_VARIANT

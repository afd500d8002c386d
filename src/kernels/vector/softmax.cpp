#include "kernels/vector/functions.hpp"
#include "kernels/vector/sums.hpp"
#include "kernels/vector/variant.hpp"

#include <cmath>

namespace regard::kernels::REGARD_VARIANT {
namespace {

template <class T>
inline constexpr T hidden = -std::numeric_limits<T>::infinity();

/// A row without a mask.
struct KeepAll {
  template <class T, class Count>
  REGARD_INLINE Batch<T> operator()(const Batch<T>& x, T, Size, Count) const {
    return x;
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

/// y = exp(x - largest) where kept, else 0. Gives Σ y, and what was subtracted: without a mask the shift of a
/// row of -inf stays 0, so that 0 / 0 gives NumPy's NaN.
template <class T, class Kept>
REGARD_INLINE T exponentials(Size n, const T* x, Kept kept, T* y, T& shift) {
  const T largest = largest_of<T>(
      n, [=](Size i, auto count)
             __attribute__((always_inline)) { return kept(load(x + i, count), hidden<T>, i, count); });
  shift = largest == hidden<T> ? T{0} : largest;
  const Batch<T> subtracted(shift);
  for_each_vector<T>(
      n, [=](Size i, auto count) __attribute__((always_inline)) {
        store(y + i, count, exp<T>(kept(load(x + i, count), hidden<T>, i, count) - subtracted));
      });
  return static_cast<T>(sum_of<T>(
      n, [=](Size i, auto count) __attribute__((always_inline)) { return load(y + i, count); }));
}

template <class T, class Kept>
REGARD_INLINE void softmax_of(Size n, const T* x, Kept kept, T* y) {
  T shift;
  const T total = exponentials(n, x, kept, y, shift);
  if (!std::is_same_v<Kept, KeepAll> && total == 0) return;  // nothing kept, or nothing but -inf
  const Batch<T> share(1 / total);
  for_each_vector<T>(
      n, [=](Size i, auto count) __attribute__((always_inline)) {
        store(y + i, count, kept(load(y + i, count) * share, T{0}, i, count));
      });
}

template <class T, class Kept>
REGARD_INLINE void log_softmax_of(Size n, const T* x, Kept kept, T* y) {
  T shift;
  const T total = exponentials(n, x, kept, y, shift);
  const bool nothing = !std::is_same_v<Kept, KeepAll> && total == 0;
  const Batch<T> subtracted(shift), log_total(nothing ? -hidden<T> : std::log(total));
  for_each_vector<T>(
      n, [=](Size i, auto count) __attribute__((always_inline)) {
        store(y + i, count, kept((load(x + i, count) - subtracted) - log_total, hidden<T>, i, count));
      });
}

template <class T, class Kept>
REGARD_INLINE void softmax_backward_of(Size n, const T* dy, const T* y, Kept kept, T* dx) {
  const T inner = static_cast<T>(sum_of<T>(
      n, [=](Size i, auto count) __attribute__((always_inline)) {
        return kept(load(y + i, count) * load(dy + i, count), T{0}, i, count);
      }));
  const Batch<T> mean(inner);
  for_each_vector<T>(
      n, [=](Size i, auto count) __attribute__((always_inline)) {
        store(dx + i, count, kept(load(y + i, count) * (load(dy + i, count) - mean), T{0}, i, count));
      });
}

template <class T, class Kept>
REGARD_INLINE void log_softmax_backward_of(Size n, const T* dy, const T* y, Kept kept, T* dx) {
  const T total = static_cast<T>(sum_of<T>(
      n, [=](Size i, auto count)
             __attribute__((always_inline)) { return kept(load(dy + i, count), T{0}, i, count); }));
  for_each_vector<T>(
      n, [=](Size i, auto count) __attribute__((always_inline)) {
        store(dx + i, count, kept(exp(load(y + i, count)), T{0}, i, count));
      });
  const auto p = [=](Size i, auto count) __attribute__((always_inline)) {
    return load(dx + i, count);
  };
  const bool nothing = !std::is_same_v<Kept, KeepAll> && sum_of<T>(n, p) == 0;
  const Batch<T> sum(total);
  for_each_vector<T>(
      n, [=](Size i, auto count) __attribute__((always_inline)) {
        const Batch<T> slope = load(dy + i, count) - p(i, count) * sum;
        store(dx + i, count, nothing ? Batch<T>(T{0}) : kept(slope, T{0}, i, count));
      });
}

// With and without a mask.
#define ROW(name)                                                          \
  template <class T>                                                       \
  void name##_row(Size n, const T* x, const bool* keep, T* y) {            \
    keep ? name##_of(n, x, Keep{keep}, y) : name##_of(n, x, KeepAll{}, y); \
  }
#define BACKWARD_ROW(name)                                                           \
  template <class T>                                                                 \
  void name##_row(Size n, const T* dy, const T* y, const bool* keep, T* dx) {        \
    keep ? name##_of(n, dy, y, Keep{keep}, dx) : name##_of(n, dy, y, KeepAll{}, dx); \
  }
ROW(softmax)
ROW(log_softmax)
BACKWARD_ROW(softmax_backward)
BACKWARD_ROW(log_softmax_backward)

template <class T>
void set_rows(Rows<T>& rows) {
  rows.softmax = softmax_row<T>;
  rows.log_softmax = log_softmax_row<T>;
  rows.softmax_backward = softmax_backward_row<T>;
  rows.log_softmax_backward = log_softmax_backward_row<T>;
}

}  // namespace

void set_softmax(Table& table) {
  set_rows(table.f32);
  set_rows(table.f64);
}

}  // namespace regard::kernels::REGARD_VARIANT

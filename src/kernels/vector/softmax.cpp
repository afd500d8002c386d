#include "kernels/vector/functions.hpp"
#include "kernels/vector/kept.hpp"
#include "kernels/vector/sums.hpp"
#include "kernels/vector/variant.hpp"

#include <cmath>

namespace regard::kernels::REGARD_VARIANT {
namespace {

template <class T, class Kept>
REGARD_INLINE T largest_of_kept(Size n, const T* x, Kept kept) {
  return largest_of<T>(
      n, [=](Size i, auto count)
             __attribute__((always_inline)) { return kept(load(x + i, count), hidden<T>, i, count); });
}

/// A row that keeps nothing but -inf and NaN: 0 under a mask unless there is a NaN, and NumPy's NaN without
/// one.
template <class T, class Kept>
REGARD_INLINE void softmax_of_nothing(Size n, const T* x, Kept kept, T* y) {
  const bool any_nan =
      std::is_same_v<Kept, KeepAll> ||
      std::isnan(sum_of<T>(
          n, [=](Size i, auto count) __attribute__((always_inline)) {
            const Batch<T> values = load(x + i, count);
            return kept(xsimd::select(is_nan(values), values, Batch<T>(T{0})), T{0}, i, count);
          }));
  const Batch<T> all(any_nan ? std::numeric_limits<T>::quiet_NaN() : T{0});
  for_each_vector<T>(
      n, [=](Size i, auto count)
             __attribute__((always_inline)) { store(y + i, count, kept(all, T{0}, i, count)); });
}

/// A row of one vector stays in a register.
template <class T, class Kept, class Count>
REGARD_INLINE void softmax_of_one(Count count, const T* x, Kept kept, T* y) {
  const Batch<T> values = kept(load(x, count), hidden<T>, 0, count);
  const T largest = fold<T>(larger(values, Batch<T>(hidden<T>)), Larger{});
  if (largest == hidden<T>) return softmax_of_nothing(size_of<T>(count), x, kept, y);
  const Batch<T> powers = kept(raised_exp_of_rounded<T>(values - Batch<T>(largest)), T{0}, 0, count);
  const Batch<T> shares = powers * Batch<T>(1 / fold<T>(powers, Add{}));
  store(y, count, kept(shares, T{0}, 0, count));
}

/// A row and its mask.
template <class T, class Kept>
struct Line {
  Size n;
  const T* x;
  Kept kept;
};

/// In one pass for exp and the sum, and one for the shares, from the row's largest; gives that of the next
/// row, which is found while the sum is not known yet. Where the sum is a number, hidden ones are 0 already
/// when the shares are taken.
template <class T, class Kept>
REGARD_INLINE T softmax_of_many(Size n, const Line<T, Kept>& line, T largest, const Line<T, Kept>& next,
                                T* y) {
  const T* const x = line.x;
  const Kept kept = line.kept;
  const Batch<T> shift(largest);
  const double total = sum_of<T, vectors_beside_exp>(
      n, [=](Size i, auto count) __attribute__((always_inline)) {
        const Batch<T> power = kept(raised_exp_of_rounded<T>(load(x + i, count) - shift), T{0}, i, count);
        store(y + i, count, power);
        __builtin_prefetch(y + i + n, 1);
        return power;
      });
  const T largest_of_next = largest_of_kept(next.n, next.x, next.kept);
  if (largest == hidden<T>) {
    softmax_of_nothing(n, x, kept, y);
    return largest_of_next;
  }
  const T share = 1 / static_cast<T>(total);
  const Batch<T> times(share);
  const auto scale = [=](auto kept_of) __attribute__((always_inline)) {
    for_each_vector<T>(
        n, [=](Size i, auto count) __attribute__((always_inline)) {
          store(y + i, count, kept_of(load(y + i, count) * times, T{0}, i, count));
        });
  };
  share == share ? scale(KeepAll{}) : scale(kept);
  return largest_of_next;
}

template <class T, class KeptOf>
REGARD_INLINE void softmax_of_lines(const SoftmaxLines<T>& at, KeptOf kept_of) {
  const Size n = at.n;
  const auto line = [=](Size i) __attribute__((always_inline)) {
    return Line<T, decltype(kept_of(i))>{i < at.lines ? n : 0, at.x + i * at.x_step, kept_of(i)};
  };
  if (n <= width<T>) {
    for (Size i = 0; i < at.lines; ++i)
      with_count<T>(
          n, [=](auto count) __attribute__((always_inline)) {
            softmax_of_one(count, line(i).x, line(i).kept, at.y + i * at.y_step);
          });
    return;
  }
  T largest = largest_of_kept(n, line(0).x, line(0).kept);
  for (Size i = 0; i < at.lines; ++i)
    largest = softmax_of_many(n, line(i), largest, line(i + 1), at.y + i * at.y_step);
}

template <class T>
void softmax_lines(const SoftmaxLines<T>& at) {
  if (at.keep)
    softmax_of_lines(
        at, [at](Size i) __attribute__((always_inline)) { return Keep{at.keep + i * at.keep_step}; });
  else
    softmax_of_lines(
        at, [](Size) __attribute__((always_inline)) { return KeepAll{}; });
}

template <class T>
void softmax_row(Size n, const T* x, const bool* keep, T* y) {
  softmax_lines<T>({1, n, x, 0, keep, 0, y, 0});
}

/// The shift of a row of -inf stays 0: without a mask log(0) gives NumPy's NaN.
template <class T, class Kept>
REGARD_INLINE void log_softmax_of(Size n, const T* x, Kept kept, T* y) {
  const T largest = largest_of_kept(n, x, kept);
  const Batch<T> shift(largest == hidden<T> ? T{0} : largest);
  const T total = static_cast<T>(sum_of<T, vectors_beside_exp>(
      n, [=](Size i, auto count) __attribute__((always_inline)) {
        return kept(exp_of_negative<T>(load(x + i, count) - shift), T{0}, i, count);
      }));
  const bool nothing = !std::is_same_v<Kept, KeepAll> && total == 0;
  const Batch<T> log_total(nothing ? -hidden<T> : std::log(total));
  for_each_vector<T>(
      n, [=](Size i, auto count) __attribute__((always_inline)) {
        store(y + i, count, kept((load(x + i, count) - shift) - log_total, hidden<T>, i, count));
      });
}

template <class T, class Kept, class Count>
REGARD_INLINE void softmax_backward_of_one(Count count, const T* dy, const T* y, Kept kept, T* dx) {
  const Batch<T> slopes = load(dy, count), values = load(y, count);
  const Batch<T> mean(fold<T>(kept(values * slopes, T{0}, 0, count), Add{}));
  store(dx, count, kept(values * (slopes - mean), T{0}, 0, count));
}

template <class T, class Kept>
REGARD_INLINE void softmax_backward_of(Size n, const T* dy, const T* y, Kept kept, T* dx) {
  if (n <= width<T>)
    return with_count<T>(
        n, [=](auto count)
               __attribute__((always_inline)) { softmax_backward_of_one(count, dy, y, kept, dx); });
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
  const double whole = sum_of<T>(
      n, [=](Size i, auto count) __attribute__((always_inline)) {
        const Batch<T> p = kept(exp(load(y + i, count)), T{0}, i, count);
        store(dx + i, count, p);
        return p;
      });
  const bool nothing = !std::is_same_v<Kept, KeepAll> && whole == 0;
  const Batch<T> sum(total);
  for_each_vector<T>(
      n, [=](Size i, auto count) __attribute__((always_inline)) {
        const Batch<T> slope = load(dy + i, count) - load(dx + i, count) * sum;
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
ROW(log_softmax)
BACKWARD_ROW(softmax_backward)
BACKWARD_ROW(log_softmax_backward)

template <class T>
void set_rows(Rows<T>& rows) {
  rows.softmax = softmax_row<T>;
  rows.softmax_lines = softmax_lines<T>;
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

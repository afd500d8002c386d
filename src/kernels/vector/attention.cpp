// Rows of a block of attention scores.
#include "kernels/vector/functions.hpp"
#include "kernels/vector/sums.hpp"
#include "kernels/vector/variant.hpp"

#include <cmath>

namespace regard::kernels::REGARD_VARIANT {
namespace {

template <class T>
inline constexpr T hidden = -std::numeric_limits<T>::infinity();

template <class T>
struct EveryOne {
  template <class Count>
  REGARD_INLINE Batch<T> operator()(const Batch<T>& x, T, Size, Count) const {
    return x;
  }
};

template <class T>
struct Kept {
  const bool* keep;

  template <class Count>
  REGARD_INLINE Batch<T> operator()(const Batch<T>& x, T otherwise, Size i, Count count) const {
    return xsimd::select(load_truths<T>(keep + i, count), x, Batch<T>(otherwise));
  }
};

template <class T, class Keep>
REGARD_INLINE T online_softmax_of(Size n, T* s, Keep kept, T& largest, double& total) {
  const T here = largest_of<T>(
      n, [=](Size i, auto count)
             __attribute__((always_inline)) { return kept(load(s + i, count), hidden<T>, i, count); });
  const T most = here > largest ? here : largest;
  const T shift = most == hidden<T> ? T{0} : most;
  const Batch<T> subtracted(shift);
  for_each_vector<T>(
      n, [=](Size i, auto count) __attribute__((always_inline)) {
        store(s + i, count, exp<T>(kept(load(s + i, count), hidden<T>, i, count) - subtracted));
      });
  const double sum = sum_of<T>(
      n, [=](Size i, auto count) __attribute__((always_inline)) { return load(s + i, count); });
  const T correction = most == largest ? T{1} : std::exp(largest - shift);
  total = total * static_cast<double>(correction) + sum;
  largest = most;
  return correction;
}

template <class T, class Keep>
REGARD_INLINE void attention_slopes_of(Size n, T* s, T* dp, Keep kept, T shift, T delta) {
  const Batch<T> subtracted(shift), mean(delta);
  for_each_vector<T>(
      n, [=](Size i, auto count) __attribute__((always_inline)) {
        const Batch<T> p = exp<T>(kept(load(s + i, count) - subtracted, hidden<T>, i, count));
        store(s + i, count, p);
        store(dp + i, count, kept(p * (load(dp + i, count) - mean), T{0}, i, count));
      });
}

template <class T>
T online_softmax(Size n, T* s, const bool* keep, T& largest, double& total) {
  return keep ? online_softmax_of(n, s, Kept<T>{keep}, largest, total)
              : online_softmax_of(n, s, EveryOne<T>{}, largest, total);
}

template <class T>
void attention_slopes(Size n, T* s, T* dp, const bool* keep, T shift, T delta) {
  keep ? attention_slopes_of(n, s, dp, Kept<T>{keep}, shift, delta)
       : attention_slopes_of(n, s, dp, EveryOne<T>{}, shift, delta);
}

template <class T>
void set_rows(Rows<T>& rows) {
  rows.online_softmax = online_softmax<T>;
  rows.attention_slopes = attention_slopes<T>;
}

}  // namespace

void set_attention(Table& table) {
  set_rows(table.f32);
  set_rows(table.f64);
}

}  // namespace regard::kernels::REGARD_VARIANT

#include "kernels/vector/sums.hpp"
#include "kernels/vector/variant.hpp"

#include <cmath>

namespace regard::kernels::REGARD_VARIANT {
namespace {

/// What centres and scales a row. The mean is kept as the distance from the first element, in two parts:
/// equal numbers then have exactly their value as mean, and a row far from 0 loses no digits.
template <class T>
struct Normalizer {
  T first = 0, mean_high = 0, mean_low = 0;
  T scale = 0;  ///< 1 / sqrt(variance + epsilon)

  REGARD_INLINE Normalizer(Size n, const T* x, double epsilon) {
    if (n == 0) return;
    first = x[0];
    const double count = static_cast<double>(n);
    const Batch<T> start(first);
    const double mean = sum_of<T>(
                            n, [=
    ](Size i, auto lanes_used) __attribute__((always_inline)) { return load(x + i, lanes_used) - start; }) /
                        count;
    mean_high = static_cast<T>(mean);
    mean_low = static_cast<T>(mean - static_cast<double>(mean_high));
    const double squares = sum_of<T>(
        n, [ x, self = *this ](Size i, auto lanes_used) __attribute__((always_inline)) {
          const Batch<T> distance = self.distance(load(x + i, lanes_used));
          return distance * distance;
        });
    scale = static_cast<T>(1 / std::sqrt(squares / count + epsilon));
  }

  /// From the mean.
  REGARD_INLINE Batch<T> distance(const Batch<T>& x) const {
    return x - Batch<T>(first) - Batch<T>(mean_high) - Batch<T>(mean_low);
  }
  REGARD_INLINE Batch<T> operator()(const Batch<T>& x) const { return distance(x) * Batch<T>(scale); }
};

/// A missing gamma.
struct Ones {
  template <class T, class Count>
  REGARD_INLINE Batch<T> operator()(const Batch<T>& x, Size, Count) const {
    return x;
  }
};

template <class T>
struct Times {
  const T* gamma;

  template <class Count>
  REGARD_INLINE Batch<T> operator()(const Batch<T>& x, Size i, Count count) const {
    return x * load(gamma + i, count);
  }
};

template <class T, class Gamma>
REGARD_INLINE void normalise(Size n, const T* x, Gamma times_gamma, const T* beta, double epsilon, T* y) {
  const Normalizer<T> normalize(n, x, epsilon);
  for_each_vector<T>(
      n, [=](Size i, auto count) __attribute__((always_inline)) {
        const Batch<T> scaled = times_gamma(normalize(load(x + i, count)), i, count);
        store(y + i, count, beta ? scaled + load(beta + i, count) : scaled);
      });
}

// With g = dy·gamma and z the normalised row: dx = scale·(g - mean(g) - z·mean(g·z)).
template <class T, class Gamma>
REGARD_INLINE void differentiate(Size n, const T* dy, const T* x, Gamma times_gamma, double epsilon, T* dx) {
  const Normalizer<T> normalize(n, x, epsilon);
  const double count_of_all = static_cast<double>(n);
  const auto g = [=](Size i, auto count) __attribute__((always_inline)) {
    return times_gamma(load(dy + i, count), i, count);
  };
  // The mean of g comes off first: what is left is small where g is nearly constant, and keeps its digits.
  const Batch<T> mean(static_cast<T>(sum_of<T>(n, g) / count_of_all));
  const T slope = static_cast<T>(
      sum_of<T>(
          n, [=](Size i, auto count) __attribute__((
                 always_inline)) { return (g(i, count) - mean) * normalize(load(x + i, count)); }) /
      count_of_all);
  for_each_vector<T>(
      n, [=](Size i, auto count) __attribute__((always_inline)) {
        const Batch<T> z = normalize(load(x + i, count));
        store(dx + i, count, Batch<T>(normalize.scale) * ((g(i, count) - mean) - z * Batch<T>(slope)));
      });
}

template <class T>
void layer_norm_row(Size n, const T* x, const T* gamma, const T* beta, double epsilon, T* y) {
  gamma ? normalise(n, x, Times<T>{gamma}, beta, epsilon, y) : normalise(n, x, Ones{}, beta, epsilon, y);
}

template <class T>
void layer_norm_backward_row(Size n, const T* dy, const T* x, const T* gamma, double epsilon, T* dx) {
  gamma ? differentiate(n, dy, x, Times<T>{gamma}, epsilon, dx)
        : differentiate(n, dy, x, Ones{}, epsilon, dx);
}

template <class T>
void add_layer_norm_gamma_row(Size n, const T* dy, const T* x, double epsilon, T* totals) {
  const Normalizer<T> normalize(n, x, epsilon);
  for_each_vector<T>(
      n, [=](Size i, auto count) __attribute__((always_inline)) {
        store(totals + i, count,
              load(totals + i, count) + load(dy + i, count) * normalize(load(x + i, count)));
      });
}

template <class T>
void set_rows(Rows<T>& rows) {
  rows.layer_norm = layer_norm_row<T>;
  rows.layer_norm_backward = layer_norm_backward_row<T>;
  rows.add_layer_norm_gamma = add_layer_norm_gamma_row<T>;
}

}  // namespace

void set_layer_norm(Table& table) {
  set_rows(table.f32);
  set_rows(table.f64);
}

}  // namespace regard::kernels::REGARD_VARIANT

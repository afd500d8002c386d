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

  REGARD_INLINE void set_mean(double from_first) {
    mean_high = static_cast<T>(from_first);
    mean_low = static_cast<T>(from_first - static_cast<double>(mean_high));
  }
  REGARD_INLINE void set_variance(double variance, double epsilon) {
    scale = static_cast<T>(1 / std::sqrt(variance + epsilon));
  }

  /// From the first element.
  REGARD_INLINE Batch<T> from_first(const Batch<T>& x) const { return x - Batch<T>(first); }
  /// From the mean.
  REGARD_INLINE Batch<T> distance(const Batch<T>& x) const {
    return from_first(x) - Batch<T>(mean_high) - Batch<T>(mean_low);
  }
  REGARD_INLINE Batch<T> operator()(const Batch<T>& x) const { return distance(x) * Batch<T>(scale); }
};

template <class T>
REGARD_INLINE Normalizer<T> normalizer_of(Size n, const T* x, double epsilon) {
  Normalizer<T> of;
  if (n == 0) return of;
  const double count = static_cast<double>(n);
  of.first = x[0];
  of.set_mean(sum_of<T>(
                  n, [ x, of ](Size i, auto used)
                         __attribute__((always_inline)) { return of.from_first(load(x + i, used)); }) /
              count);
  of.set_variance(sum_of<T>(
                      n, [ x, of ](Size i, auto used) __attribute__((always_inline)) {
                        const Batch<T> distance = of.distance(load(x + i, used));
                        return distance * distance;
                      }) /
                      count,
                  epsilon);
  return of;
}

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
  const Normalizer<T> normalize = normalizer_of(n, x, epsilon);
  for_each_vector<T>(
      n, [=](Size i, auto count) __attribute__((always_inline)) {
        const Batch<T> scaled = times_gamma(normalize(load(x + i, count)), i, count);
        store(y + i, count, beta ? scaled + load(beta + i, count) : scaled);
      });
}

// With g = dy·gamma, d the distance from the mean and z = scale·d: dx = scale·(g - mean(g) - z·mean(g·z)).
// The mean of g comes off first: what is left is small where g is nearly constant, and keeps its digits.
template <class T, class Gamma, class More>
REGARD_INLINE void differentiate(Size n, const T* dy, const T* x, Gamma times_gamma, double epsilon, T* dx,
                                 More more) {
  if (n == 0) return;
  const double all = static_cast<double>(n);
  const auto g = [=](Size i, auto count) __attribute__((always_inline)) {
    return times_gamma(load(dy + i, count), i, count);
  };
  Normalizer<T> of;
  of.first = x[0];
  const Two<double> means = sum_of_two<T>(
      n, [=](Size i, auto count) __attribute__((always_inline)) {
        return Two<Batch<T>>{of.from_first(load(x + i, count)), g(i, count)};
      });
  of.set_mean(means.first / all);
  const Batch<T> mean(static_cast<T>(means.second / all));
  const Two<double> squares = sum_of_two<T>(
      n, [=](Size i, auto count) __attribute__((always_inline)) {
        const Batch<T> distance = of.distance(load(x + i, count));
        return Two<Batch<T>>{distance * distance, (g(i, count) - mean) * distance};
      });
  of.set_variance(squares.first / all, epsilon);
  const double scale = static_cast<double>(of.scale);
  const Batch<T> slope(static_cast<T>(squares.second / all * scale * scale)), times(of.scale);
  for_each_vector<T>(
      n, [=](Size i, auto count) __attribute__((always_inline)) {
        const Batch<T> distance = of.distance(load(x + i, count));
        store(dx + i, count, times * ((g(i, count) - mean) - distance * slope));
        more(i, count, distance * times);
      });
}

/// Nothing more is to be done with a normalised row.
struct NoMore {
  template <class T, class Count>
  REGARD_INLINE void operator()(Size, Count, const Batch<T>&) const {}
};

/// What a row adds to the gradients of gamma and beta.
template <class T>
struct AddToSums {
  const T* dy;
  T *of_gamma, *of_beta;

  template <class Count>
  REGARD_INLINE void operator()(Size i, Count count, const Batch<T>& normalised) const {
    const Batch<T> slope = load(dy + i, count);
    store(of_gamma + i, count, load(of_gamma + i, count) + slope * normalised);
    store(of_beta + i, count, load(of_beta + i, count) + slope);
  }
};

template <class T>
void layer_norm_row(Size n, const T* x, const T* gamma, const T* beta, double epsilon, T* y) {
  gamma ? normalise(n, x, Times<T>{gamma}, beta, epsilon, y) : normalise(n, x, Ones{}, beta, epsilon, y);
}

template <class T>
void layer_norm_backward_row(Size n, const T* dy, const T* x, const T* gamma, double epsilon, T* dx) {
  gamma ? differentiate(n, dy, x, Times<T>{gamma}, epsilon, dx, NoMore{})
        : differentiate(n, dy, x, Ones{}, epsilon, dx, NoMore{});
}

template <class T>
void layer_norm_backward_all_row(Size n, const T* dy, const T* x, const T* gamma, double epsilon, T* dx,
                                 T* of_gamma, T* of_beta) {
  differentiate(n, dy, x, Times<T>{gamma}, epsilon, dx, AddToSums<T>{dy, of_gamma, of_beta});
}

template <class T>
void add_layer_norm_gamma_row(Size n, const T* dy, const T* x, double epsilon, T* totals) {
  const Normalizer<T> normalize = normalizer_of(n, x, epsilon);
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
  rows.layer_norm_backward_all = layer_norm_backward_all_row<T>;
  rows.add_layer_norm_gamma = add_layer_norm_gamma_row<T>;
}

}  // namespace

void set_layer_norm(Table& table) {
  set_rows(table.f32);
  set_rows(table.f64);
}

}  // namespace regard::kernels::REGARD_VARIANT

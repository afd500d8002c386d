#include "kernels/layer_norm.hpp"

#include <cmath>

#include "kernels/lines.hpp"
#include "kernels/summation.hpp"
#include "memory/pool.hpp"

namespace regard::kernels {
namespace {

/// What centres and scales a row. In float64, whatever the row is.
struct Normalizer {
  double mean = 0;
  double scale = 0;  ///< 1 / sqrt(variance + epsilon)

  double operator()(double x) const { return (x - mean) * scale; }
};

// The mean is taken of the distances to the first element: equal numbers then have exactly their value as
// mean, and a row far from 0 loses no digits.
template <class X>
Normalizer normalizer_of(Size n, X x, double epsilon) {
  if (n == 0) return {};
  const double count = static_cast<double>(n), first = x[0];
  const double mean = first + sum_of(n, [&](Size i) { return x[i] - first; }) / count;
  const double variance = sum_of(n, [&](Size i) { return (x[i] - mean) * (x[i] - mean); }) / count;
  return {mean, 1 / std::sqrt(variance + epsilon)};
}

/// A missing gamma.
struct Ones {
  constexpr double operator[](Size) const { return 1; }
};

/// Calls f(gamma) with something to index: the array's line, or ones.
template <class T, class F>
void with_gamma(const Array& gamma, F f) {
  if (!gamma.data)
    f(Ones{});
  else if (gamma.strides[0] == 1)
    f(LineOf{gamma.as<const T>(), UnitStep{}});
  else
    f(LineOf{gamma.as<const T>(), gamma.strides[0]});
}

int last_axis(const Array& x) {
  return x.shape.rank() - 1;
}

template <class T>
void layer_norm_kernel(const Call& c) {
  const Array &y = c.out(), &x = c.in(0), &gamma = c.in(1), &beta = c.in(2);
  const double epsilon = c.get<LayerNormEpsilon>().epsilon;
  const int axis = last_axis(x);
  const Size n = x.shape[axis];
  with_gamma<T>(gamma, [&](auto scale) {
    for_each_line<2>({&y, &x}, axis, [&](const auto& at) {
      const auto run = [&](auto to, auto from) {
        const Normalizer normalize = normalizer_of(n, from, epsilon);
        if (beta.data) {
          const LineOf shift{beta.as<const T>(), beta.strides[0]};
          for (Size i = 0; i < n; ++i) to[i] = static_cast<T>(normalize(from[i]) * scale[i] + shift[i]);
        } else {
          for (Size i = 0; i < n; ++i) to[i] = static_cast<T>(normalize(from[i]) * scale[i]);
        }
      };
      T* const to = y.as<T>() + at[0];
      const T* const from = x.as<T>() + at[1];
      if (y.strides[axis] == 1 && x.strides[axis] == 1)
        run(LineOf{to, UnitStep{}}, LineOf{from, UnitStep{}});
      else
        run(LineOf{to, y.strides[axis]}, LineOf{from, x.strides[axis]});
    });
  });
}

// With g = dy·gamma and z the normalised row: dx = scale·(g - mean(g) - z·mean(g·z)).
template <class T>
void layer_norm_backward_kernel(const Call& c) {
  const Array &dx = c.out(), &dy = c.in(0), &x = c.in(1), &gamma = c.in(2);
  const double epsilon = c.get<LayerNormEpsilon>().epsilon;
  const int axis = last_axis(x);
  const Size n = x.shape[axis];
  const double count = static_cast<double>(n);
  with_gamma<T>(gamma, [&](auto scale) {
    for_each_line<3>({&dx, &dy, &x}, axis, [&](const auto& at) {
      const auto run = [&](auto to, auto slope, auto from) {
        const Normalizer normalize = normalizer_of(n, from, epsilon);
        const auto g = [&](Size i) { return static_cast<double>(slope[i]) * scale[i]; };
        const double mean_g = sum_of(n, g) / count;
        const double mean_gz = sum_of(n, [&](Size i) { return g(i) * normalize(from[i]); }) / count;
        for (Size i = 0; i < n; ++i)
          to[i] = static_cast<T>(normalize.scale * (g(i) - mean_g - normalize(from[i]) * mean_gz));
      };
      T* const to = dx.as<T>() + at[0];
      const T* const slope = dy.as<T>() + at[1];
      const T* const from = x.as<T>() + at[2];
      if (dx.strides[axis] == 1 && dy.strides[axis] == 1 && x.strides[axis] == 1)
        run(LineOf{to, UnitStep{}}, LineOf{slope, UnitStep{}}, LineOf{from, UnitStep{}});
      else
        run(LineOf{to, dx.strides[axis]}, LineOf{slope, dy.strides[axis]}, LineOf{from, x.strides[axis]});
    });
  });
}

template <class T>
void layer_norm_backward_gamma_kernel(const Call& c) {
  const Array &dgamma = c.out(), &dy = c.in(0), &x = c.in(1);
  const double epsilon = c.get<LayerNormEpsilon>().epsilon;
  const int axis = last_axis(x);
  const Size n = x.shape[axis];
  const detail::PoolArray<double> memory(static_cast<std::size_t>(n));
  double* const totals = memory.data();
  for_each_line<2>({&dy, &x}, axis, [&](const auto& at) {
    const LineOf slope{dy.as<const T>() + at[0], dy.strides[axis]};
    const LineOf from{x.as<const T>() + at[1], x.strides[axis]};
    const Normalizer normalize = normalizer_of(n, from, epsilon);
    for (Size i = 0; i < n; ++i) totals[i] += slope[i] * normalize(from[i]);
  });
  T* const to = dgamma.as<T>();
  for (Size i = 0; i < n; ++i)
    to[i * dgamma.strides[0]] = static_cast<T>(totals[i]);
}

}  // namespace

const KernelSet layer_norm = {layer_norm_kernel<float>, layer_norm_kernel<double>};
const KernelSet layer_norm_backward = {layer_norm_backward_kernel<float>, layer_norm_backward_kernel<double>};
const KernelSet layer_norm_backward_gamma = {layer_norm_backward_gamma_kernel<float>,
                                             layer_norm_backward_gamma_kernel<double>};

}  // namespace regard::kernels

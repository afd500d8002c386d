#include "kernels/rms_norm.hpp"

#include <cmath>

#include "kernels/lines.hpp"
#include "kernels/summation.hpp"

namespace regard::kernels {
namespace {

/// 1 / sqrt(mean(x²) + epsilon). In float64, whatever the row is.
template <class X>
double inverse_root(Size n, X x, double epsilon) {
  const auto square = [&](Size i) { return static_cast<double>(x[i]) * static_cast<double>(x[i]); };
  return 1 / std::sqrt(sum_of(n, square) / static_cast<double>(n) + epsilon);
}

int last_axis(const Array& x) {
  return x.shape.rank() - 1;
}

template <class T>
void rms_norm_kernel(const Call& c) {
  const Array &y = c.out(), &x = c.in(0);
  const double epsilon = c.get<RmsNormEpsilon>().epsilon;
  const int axis = last_axis(x);
  const Size n = x.shape[axis];
  for_each_line_in_parallel<2>({&y, &x}, axis, computed, [&](auto&& lines) {
    lines([&](const auto& at) {
      const auto run = [&](auto to, auto from) {
        const double r = inverse_root(n, from, epsilon);
        for (Size i = 0; i < n; ++i) to[i] = static_cast<T>(from[i] * r);
      };
      T* const to = y.as<T>() + at[0];
      const T* const from = x.as<const T>() + at[1];
      if (y.strides[axis] == 1 && x.strides[axis] == 1)
        run(LineOf{to, UnitStep{}}, LineOf{from, UnitStep{}});
      else
        run(LineOf{to, y.strides[axis]}, LineOf{from, x.strides[axis]});
    });
  });
}

template <class T>
void rms_norm_backward_kernel(const Call& c) {
  const Array &dx = c.out(), &dy = c.in(0), &x = c.in(1);
  const double epsilon = c.get<RmsNormEpsilon>().epsilon;
  const int axis = last_axis(x);
  const Size n = x.shape[axis];
  for_each_line_in_parallel<3>({&dx, &dy, &x}, axis, computed, [&](auto&& lines) {
    lines([&](const auto& at) {
      const auto run = [&](auto to, auto slope, auto from) {
        const double r = inverse_root(n, from, epsilon);
        const auto weighted = [&](Size i) {
          return static_cast<double>(slope[i]) * static_cast<double>(from[i]);
        };
        const double along = r * r * sum_of(n, weighted) / static_cast<double>(n);
        for (Size i = 0; i < n; ++i) to[i] = static_cast<T>(r * (slope[i] - from[i] * along));
      };
      T* const to = dx.as<T>() + at[0];
      const T* const slope = dy.as<const T>() + at[1];
      const T* const from = x.as<const T>() + at[2];
      if (dx.strides[axis] == 1 && dy.strides[axis] == 1 && x.strides[axis] == 1)
        run(LineOf{to, UnitStep{}}, LineOf{slope, UnitStep{}}, LineOf{from, UnitStep{}});
      else
        run(LineOf{to, dx.strides[axis]}, LineOf{slope, dy.strides[axis]}, LineOf{from, x.strides[axis]});
    });
  });
}

}  // namespace

const KernelSet rms_norm = {rms_norm_kernel<float>, rms_norm_kernel<double>};
const KernelSet rms_norm_backward = {rms_norm_backward_kernel<float>, rms_norm_backward_kernel<double>};

}  // namespace regard::kernels

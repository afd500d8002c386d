// What the cases share. Each test is named after its case: an input that broke another library, with the
// answer worked out by hand in double precision. Where regard had a choice, the function's docstring says
// which.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include <regard/autograd.hpp>
#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard::test {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Runs the case in float64 and in float32.
inline void in_both_dtypes(const std::function<void(DType)>& run) {
  for (const DType dtype : {float64, float32}) {
    SCOPED_TRACE(name(dtype));
    run(dtype);
  }
}

/// got has this dtype and these numbers: to 1e-12 relative in float64, to 1e-6 in float32.
inline void expect_case(const Tensor& got, const Tensor& expected, DType dtype) {
  const bool fine = dtype == float64;
  EXPECT_TENSOR_NEAR(got.detach(), expected.to(dtype), fine ? 1e-12 : 1e-6, fine ? 1e-15 : 1e-7);
}

/// The gradient of output with respect to input, from this gradient of output.
inline Tensor grad_from(const Tensor& output, const Tensor& input, const Tensor& dy) {
  GradOptions options;
  options.seeds = {dy.to(output.dtype())};
  return grad(output, input, options);
}

/// f'(at) of a function of one number.
inline double slope(const std::function<Tensor(const Tensor&)>& f, double at, DType dtype = float64) {
  const Tensor x = variable(scalar(at, dtype));
  return grad(f(x), x).item();
}

}  // namespace regard::test

// What the tests of these op families share: values written out, and both orders of derivatives in one call.
#pragma once

#include <vector>

#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/gradients.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard::test {

/// x has this shape and these elements in row-major order.
inline void expect_tensor(const Tensor& x, const Shape& shape, const std::vector<double>& values,
                          double tolerance = 0) {
  EXPECT_TENSOR_NEAR(x, from_values(values, shape, x.dtype()), tolerance, tolerance);
}

inline void expect_derivatives(const FunctionOfMany& f, const Tensors& inputs) {
  expect_gradients(f, inputs);
  expect_second_order(f, inputs);
}

}  // namespace regard::test

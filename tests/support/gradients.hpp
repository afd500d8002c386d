// check_gradients() as the tests of operations use it: every coordinate of every float64 input, to 1e-8.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <regard/autograd.hpp>

namespace regard::test {

struct GradientOptions {
  /// Relative. A central difference over five points errs by about epsilon^(4/5) = 3e-13 times the size of
  /// the derivatives involved; 1e-8 leaves room for a fifth derivative that is 1e4 times the first, and still
  /// sees a formula that is wrong in its eighth digit.
  double tolerance = 1e-8;
  /// Inputs that are not differentiated (besides those that are not float64).
  std::vector<std::size_t> constants;
  /// Of the weights that make a scalar of the output: random, so that no symmetry of f hides an error.
  std::uint64_t seed = 20;
};

/// Is the gradient of sum(w · f(inputs)) with respect to every element of every float64 input what difference
/// quotients say? The message is the checker's report. f must not depend on anything else that changes.
::testing::AssertionResult gradients_agree(const FunctionOfMany& f, const Tensors& inputs,
                                           const GradientOptions& options = {});
/// The same for the gradient itself as well, with respect to the inputs and to the seed of the first walk,
/// and for jvp.
::testing::AssertionResult second_order_agrees(const FunctionOfMany& f, const Tensors& inputs,
                                               const GradientOptions& options = {});

inline void expect_gradients(const FunctionOfMany& f, const Tensors& inputs,
                             const GradientOptions& options = {}) {
  EXPECT_TRUE(gradients_agree(f, inputs, options));
}
inline void expect_second_order(const FunctionOfMany& f, const Tensors& inputs,
                                const GradientOptions& options = {}) {
  EXPECT_TRUE(second_order_agrees(f, inputs, options));
}

}  // namespace regard::test

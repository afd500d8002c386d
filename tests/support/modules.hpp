// Gradients of modules against differences: with respect to the inputs and to every parameter.
#pragma once

#include <regard/gradcheck.hpp>
#include <regard/gradcheck_gtest.hpp>

#include "support/gradients.hpp"

namespace regard::test {

/// call(inputs), which uses the module and must be free of chance. The module keeps its numbers.
template <class Module>
void expect_module_gradients(const Module& module, const Tensors& inputs, const FunctionOfMany& call) {
  expect_gradients(call, inputs);
  GradientCheckOptions options;
  options.coverage = Coverage::slow;
  options.tolerance = GradientOptions().tolerance;
  EXPECT_GRADIENTS_OK(
      module, [&] { return call(inputs); }, options);
}

}  // namespace regard::test

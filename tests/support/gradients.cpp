#include "support/gradients.hpp"

#include <regard/gradcheck_gtest.hpp>

namespace regard::test {
namespace {

::testing::AssertionResult check(const FunctionOfMany& f, const Tensors& inputs, const GradientOptions& given,
                                 int order) {
  GradientCheckOptions options;
  options.coverage = Coverage::slow;
  options.order = order;
  options.tolerance = given.tolerance;
  options.seed = given.seed;
  options.constants = given.constants;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].defined() || inputs[i].dtype() != float64) options.constants.push_back(i);
  options.also_accept = {Verdict::vacuous};  // what depends on nothing has gradient 0, and that was compared
  return gradients_ok(f, inputs, options);
}

}  // namespace

::testing::AssertionResult gradients_agree(const FunctionOfMany& f, const Tensors& inputs,
                                           const GradientOptions& options) {
  return check(f, inputs, options, 1);
}

::testing::AssertionResult second_order_agrees(const FunctionOfMany& f, const Tensors& inputs,
                                               const GradientOptions& options) {
  return check(f, inputs, options, 2);
}

}  // namespace regard::test

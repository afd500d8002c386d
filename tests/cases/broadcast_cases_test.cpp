// Failures that other libraries had with broadcast gradients and rank 0, as tests. Each names where it was
// reported.
#include <gtest/gtest.h>

#include <vector>

#include "ops/twin.hpp"

namespace regard::test {
namespace {

// pytorch #1787, nd4j #2424: the gradient kept the stretched shape.
TEST(BroadcastCases, GradientsHaveTheShapeOfTheSmallOperand) {
  const Tensor a = zeros({3, 4}), w = reshape(arange(1, 13, 1), {3, 4});
  const auto gradient_for = [&](const Shape& shape) {
    const Tensor b = variable(zeros(shape));
    return grad(sum((a + b) * w), b);
  };
  expect_tensor(gradient_for({1, 4}), {1, 4}, {15, 18, 21, 24});
  expect_tensor(gradient_for({4}), {4}, {15, 18, 21, 24});
  expect_tensor(gradient_for({3, 1}), {3, 1}, {10, 26, 42});
  expect_tensor(gradient_for({}), {}, {78});
}

// rust-autograd #38: a parameter of rank 0 times a vector.
TEST(BroadcastCases, ANumberTimesAVectorHasANumberAsGradient) {
  const Tensor v = variable(scalar(0));
  expect_tensor(grad(sum(tensor({1, 1}) * v), v), {}, {2});
}

// pytorch #1813: reducing the only axis without keeping it.
TEST(BroadcastCases, MeanOverTheOnlyAxis) {
  const Tensor x = variable(ones({5}));
  const Tensor y = mean(square(x), {0});
  expect_tensor(y, {}, {1});
  expect_tensor(grad(y, x), {5}, std::vector<double>(5, 0.4), 1e-15);
}

}  // namespace
}  // namespace regard::test

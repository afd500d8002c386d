// Gradients of what was stretched, and tensors of rank 0.
#include "cases/cases.hpp"

namespace regard::test {
namespace {

// pytorch/pytorch #1787, deeplearning4j/nd4j #2424: the gradient kept the stretched shape.
TEST(B23, GradientsHaveTheShapeOfTheSmallOperand) {
  in_both_dtypes([](DType dtype) {
    const Tensor a = zeros({3, 4}, dtype), w = reshape(arange(1, 13, 1, dtype), {3, 4});
    const auto gradient_for = [&](const Shape& shape) {
      const Tensor b = variable(zeros(shape, dtype));
      return grad(sum((a + b) * w), b);
    };
    EXPECT_SAME_BITS(gradient_for({1, 4}), tensor({{15, 18, 21, 24}}, dtype));
    EXPECT_SAME_BITS(gradient_for({4}), tensor({15, 18, 21, 24}, dtype));
    EXPECT_SAME_BITS(gradient_for({3, 1}), tensor({{10}, {26}, {42}}, dtype));
    EXPECT_SAME_BITS(gradient_for({}), scalar(78, dtype));
  });
}

// raskr/rust-autograd #38: a parameter of rank 0 times a vector.
TEST(B24, ANumberTimesAVectorHasANumberAsGradient) {
  in_both_dtypes([](DType dtype) {
    const Tensor v = variable(scalar(0, dtype));
    EXPECT_SAME_BITS(grad(sum(tensor({1, 1}, dtype) * v), v), scalar(2, dtype));
  });
}

// pytorch/pytorch #1813: reducing the only axis without keeping it.
TEST(B25, TheOnlyAxisCanBeDropped) {
  in_both_dtypes([](DType dtype) {
    const Tensor x = variable(ones({5}, dtype));
    const Tensor y = mean(square(x), {0});
    EXPECT_SAME_BITS(y.detach(), scalar(1, dtype));
    expect_case(grad(y, x), full({5}, 0.4), dtype);
  });
}

}  // namespace
}  // namespace regard::test

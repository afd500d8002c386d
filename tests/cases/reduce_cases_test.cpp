// Reductions: roots at zero, NaN, nothing at all.
#include <vector>

#include "cases/cases.hpp"

namespace regard::test {
namespace {

// pytorch/pytorch #2421, #4320, jax-ml/jax #11716: the root of a sum of squares at zero.
TEST(B37, NormAtZero) {
  in_both_dtypes([](DType dtype) {
    const Tensor zero = variable(zeros({3}, dtype));
    const Tensor y = norm(zero, {0});
    EXPECT_EQ(y.item(), 0);
    EXPECT_SAME_BITS(grad(y, zero), zeros({3}, dtype));
    const Tensor v = variable(tensor({3, 4}, dtype));
    EXPECT_EQ(norm(v, {0}).item(), 5);
    expect_case(grad(norm(v, {0}), v), tensor({0.6, 0.8}), dtype);
  });
}

// Written by hand it has a NaN there, as sqrt documents: its slope is infinite, that of what is inside is 0.
TEST(B37, StandardDeviationOfEqualNumbers) {
  in_both_dtypes([](DType dtype) {
    const Tensor x = variable(tensor({1, 1}, dtype));
    const Tensor y = variance(x, {0});
    EXPECT_EQ(y.item(), 0);
    EXPECT_SAME_BITS(grad(variance(x, {0}), x), zeros({2}, dtype));
    EXPECT_EQ(sqrt(y).item(), 0);
    EXPECT_TRUE(all(isnan(grad(sqrt(y), x))));
    const Tensor centred = x - mean(x, {0}, keep_axes);  // the way out
    EXPECT_SAME_BITS(grad(norm(centred, {0}), x), zeros({2}, dtype));
  });
}

// tensorflow/tensorflow #13046, mindspore #391: max dropped NaN.
TEST(B65, NanIsTheLargest) {
  in_both_dtypes([](DType dtype) {
    for (const Tensor& x : {tensor({1, nan}, dtype), tensor({nan, 1}, dtype), tensor({nan, 1, 2}, dtype)}) {
      EXPECT_TRUE(std::isnan(max(x).item()));
      EXPECT_TRUE(std::isnan(logsumexp(x, {0}).item()));
      EXPECT_TRUE(all(isnan(max(stretched(expand_dims(x, {1}), {x.numel(), 3}), {0}))));
    }
  });
}

// xtensor-stack/xtensor #1617, #1625, #1563: reducing an empty axis read memory that was not there.
TEST(B66, EmptyAxes) {
  in_both_dtypes([](DType dtype) {
    const Tensor x = zeros({0, 2}, dtype);
    EXPECT_SAME_BITS(sum(x, {0}), zeros({2}, dtype));
    EXPECT_SAME_BITS(sum(x, {1}), zeros({0}, dtype));
    EXPECT_EQ(sum(x).item(), 0);
    EXPECT_TENSOR_NEAR(mean(x, {0}), full({2}, nan, dtype), 0, 0);
    EXPECT_TENSOR_NEAR(mean(x), scalar(nan, dtype), 0, 0);
    EXPECT_TENSOR_NEAR(variance(x, {0}), full({2}, nan, dtype), 0, 0);
    EXPECT_TENSOR_NEAR(logsumexp(x, {0}), full({2}, -infinity, dtype), 0, 0);
    EXPECT_SAME_BITS(max(x, {1}), zeros({0}, dtype));
    EXPECT_THROWS_WITH(max(x, {0}), ShapeError, "max: x [0, 2] has no elements along the axes [0]");
    EXPECT_THROWS_WITH(max(x), ShapeError, "max");
    EXPECT_THROWS_WITH(argmax(x, 0), ShapeError, "argmax");
  });
  EXPECT_TRUE(all(zeros({0}, boolean)));
  EXPECT_FALSE(any(zeros({0}, boolean)));
}

}  // namespace
}  // namespace regard::test

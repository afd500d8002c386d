// Elementwise functions at their edges: the op table has what is smooth.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <regard/autograd.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"

namespace regard {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Tensor slope(const Function& f, const Tensor& x) {
  const Tensor leaf = variable(x);
  return grad(f(leaf), leaf);
}

TEST(Xlogy, CountsNothingTimesTheLogarithmOfZeroAsNothing) {
  EXPECT_TENSOR_NEAR(xlogy(tensor({0, 0, 0, 2, 0}), tensor({0, -1, inf, 0, nan})),
                     tensor({0, 0, 0, -inf, nan}), 0, 0);
  const Tensors x = {variable(tensor({0, 0})), variable(tensor({0, 4}))};
  const Tensors d = grad(Tensors{sum(xlogy(x[0], x[1]))}, x);
  EXPECT_TENSOR_NEAR(d[0], tensor({0, std::log(4.0)}), 1e-15, 0);
  EXPECT_TENSOR_NEAR(d[1], zeros({2}), 0, 0);
}

TEST(Clamp, PassesTheGradientOnTheBounds) {
  const auto f = [](const Tensor& x) { return sum(clamp(x, -1, 1)); };
  EXPECT_TENSOR_NEAR(slope(f, tensor({-2, -1, 0, 1, 2})), tensor({0, 1, 1, 1, 0}), 0, 0);
  EXPECT_TENSOR_NEAR(clamp(tensor({-2, nan, 5}), 3, 1), tensor({1, nan, 1}), 0, 0);
  EXPECT_EQ(clamp(tensor({-5, 5}, int64), {}, 2).to_vector<Size>(), (std::vector<Size>{-5, 2}));
}

TEST(Expm1AndLog1p, KeepTheDigitsNearZero) {
  EXPECT_EQ(expm1(scalar(1e-20)).item(), 1e-20);
  EXPECT_EQ(log1p(scalar(1e-20)).item(), 1e-20);
  const auto f = [](const Tensor& x) { return expm1(x); };
  EXPECT_DOUBLE_EQ(slope(f, scalar(-50)).item(), std::exp(-50));  // what expm1(-50) + 1 has lost
}

TEST(LogSigmoid, KeepsTheDigitsOnBothSides) {
  EXPECT_TENSOR_NEAR(log_sigmoid(tensor({-1000, 40, inf})), tensor({-1000, -std::exp(-40), 0}), 1e-15, 0);
}

}  // namespace
}  // namespace regard

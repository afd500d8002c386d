// Failures that other libraries had in their engines, as tests. Each names where it was reported.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include <regard/autograd.hpp>
#include <regard/error.hpp>
#include <regard/loss.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/throws.hpp"

namespace regard::test {
namespace {

double slope(const std::function<Tensor(const Tensor&)>& f, double at) {
  const Tensor x = variable(scalar(at));
  return grad(f(x), x).item();
}

// pytorch #68425, jax #347: the branch that was not chosen overflows. The value is right; the gradient is
// 0·inf as in the mathematics of floats, unless the function is kept away from what it cannot take.
TEST(EngineCases, WhereTheBranchNotChosenOverflows) {
  const Tensor x = variable(scalar(1000));
  const Tensor small = less_equal(x, scalar(0));
  const Tensor y = where(small, exp(x), x + 1.0);
  EXPECT_EQ(y.item(), 1001);
  EXPECT_TRUE(std::isnan(grad(y, x).item()));
  const Tensor safe = where(small, exp(where(small, x, scalar(0))), x + 1.0);
  EXPECT_EQ(safe.item(), 1001);
  EXPECT_EQ(grad(safe, x).item(), 1);
}

// pytorch #2210: the second order was missing.
TEST(EngineCases, CrossEntropyAndItsGradientInOneLoss) {
  const Tensor x = variable(tensor({{1, 0}}));
  const Tensor loss = cross_entropy(x, tensor({0}, int64));
  EXPECT_NEAR(loss.item(), 0.313261687518223, 1e-14);
  GradOptions options;
  options.create_graph = true;
  const Tensor g = grad(loss, x, options);
  const Tensor expected = tensor({{-0.341270909498508, 0.341270909498508}});
  EXPECT_TENSOR_NEAR(grad(loss + sum(g * x), x), expected, 1e-13, 0);
}

// pytorch PR #65242: the formula of softmax's second derivative.
TEST(EngineCases, HessianOfSoftmax) {
  const auto f = [](const Tensor& x) { return sum(tensor({1, 2, 3}) * softmax(x)); };
  const Tensor x = variable(tensor({0, 0, 0}));
  EXPECT_TENSOR_NEAR(grad(f(x), x), tensor({-1.0 / 3, 0, 1.0 / 3}), 1e-14, 1e-16);
  const double ninth = 1.0 / 9;
  EXPECT_TENSOR_NEAR(hessian(f, x), tensor({{-ninth, ninth, 0}, {ninth, 0, -ninth}, {0, -ninth, ninth}}),
                     1e-14, 1e-16);
}

// karpathy/micrograd #2, PR #64: recursion visits a shared node twice.
TEST(EngineCases, ASharedNodeIsVisitedOnce) {
  EXPECT_EQ(slope(
                [](const Tensor& a) {
                  const Tensor b = a + a;
                  return b + b;
                },
                1),
            4);
  EXPECT_EQ(slope([](const Tensor& a) { return a * a; }, 3), 6);
  EXPECT_EQ(slope([](const Tensor& a) { return a - a; }, 3), 0);
  EXPECT_EQ(slope([](const Tensor& a) { return a / a; }, 3), 0);
}

// sebgao/cTensor #5: several paths to the loss.
TEST(EngineCases, SeveralPathsToTheLoss) {
  const Tensor x = variable(scalar(1));
  const Tensor xa = x * 1.0, x2 = x * x;
  const Tensor f = x * xa + x2 * 1.0 + x * xa;
  EXPECT_EQ(f.item(), 3);
  EXPECT_EQ(grad(f, x).item(), 6);
}

// Janko-dev/autodiff PR #3: a name that is bound to an expression of itself.
TEST(EngineCases, ANameReboundToAnExpressionOfItself) {
  const Tensor a = variable(scalar(5)), b = variable(scalar(10));
  Tensor c = a + b;
  c = c + (c + a);
  EXPECT_EQ(c.item(), 35);
  const Tensors g = grad(Tensors{c}, Tensors{a, b});
  EXPECT_EQ(g[0].item(), 3);
  EXPECT_EQ(g[1].item(), 2);
}

// karpathy/micrograd PR #102: a second backward added the inner gradients once more.
TEST(EngineCases, BackwardTwice) {
  Parameter a(scalar(2));
  const Tensor b = a * a.tensor(), c = b * 3.0;
  BackwardOptions retaining;
  retaining.retain_graph = true;
  backward(c, retaining);
  EXPECT_EQ(a.gradient().item(), 12);
  a.zero_grad();
  backward(c);
  EXPECT_EQ(a.gradient().item(), 12);
  a.zero_grad();
  EXPECT_THROWS_WITH(backward(c), GraphError, "already freed");
  EXPECT_FALSE(a.has_gradient());
}

// pytorch #1528, HIPS/autograd #39: of two reads of one element the last writer won.
TEST(EngineCases, TwoReadsOfOneElementAddUp) {
  const Tensor y = variable(tensor({1}));
  const Tensor z = take(y, tensor({0, 0}, int64));
  GradOptions retaining;
  retaining.retain_graph = true;
  EXPECT_SAME_BITS(grad(select(z, 0, 0), y, retaining), tensor({1}));
  EXPECT_SAME_BITS(grad(select(z, 0, 1), y, retaining), tensor({1}));
  EXPECT_SAME_BITS(grad(select(z, 0, 0) + select(z, 0, 1), y), tensor({2}));
}

// pytorch #8940, #27134, HIPS/autograd #581: powers at zero.
TEST(EngineCases, PowersAtZero) {
  const Tensor x = variable(tensor({0, 1}));
  EXPECT_EQ(sum(power(x, 0.0)).item(), 2);
  EXPECT_SAME_BITS(grad(sum(power(x, 0.0)), x), tensor({0, 0}));
  EXPECT_SAME_BITS(grad(sum(power(x, zeros({2}))), x), tensor({0, 0}));

  const Tensor a = variable(tensor({0, 2})), b = variable(tensor({1, 1}));
  const Tensor y = sum(power(a, b));
  EXPECT_TENSOR_NEAR(grad(y, b), tensor({0, 1.38629436111989}), 1e-14, 0);
  EXPECT_EQ(slope([](const Tensor& at) { return power(at, 1.5); }, 0), 0);
  EXPECT_EQ(slope([](const Tensor& at) { return power(at, 2.0); }, 0), 0);
  EXPECT_EQ(slope([](const Tensor& at) { return power(at, 1.0); }, 0), 1);
  EXPECT_EQ(slope([](const Tensor& at) { return power(at, 0.5); }, 0),
            std::numeric_limits<double>::infinity());
}

// The Hessian at zero of whole powers, x² included, is finite.
TEST(EngineCases, SecondDerivativesOfPowersAtZero) {
  for (const auto& [exponent, expected] : {std::pair{2.0, 2.0}, {3.0, 0.0}, {1.0, 0.0}, {0.0, 0.0}}) {
    const auto f = [e = exponent](const Tensor& x) { return power(x, e); };
    EXPECT_EQ(hessian(f, scalar(0)).item(), expected) << exponent;
  }
}

// tenstorrent/tt-metal PR #54440: powers of a negative base went through a logarithm.
TEST(EngineCases, PowersOfANegativeBase) {
  const Tensor x = variable(tensor({-2}));
  EXPECT_SAME_BITS(grad(sum(power(x, 3.0)), x), tensor({12}));
  EXPECT_SAME_BITS(grad(sum(power(x, tensor({3}))), x), tensor({12}));
  EXPECT_EQ(slope([](const Tensor& at) { return power(at, 2.0); }, -3), -6);
  const Tensor negative = variable(scalar(-1));
  const Tensor root = power(negative, 0.5);
  EXPECT_TRUE(std::isnan(root.item()));
  EXPECT_TRUE(std::isnan(grad(root, negative).item()));
}

// pytorch #184572, jax #37821: what happens at kinks and ties is a decision, and written down.
TEST(EngineCases, KinksAndTies) {
  EXPECT_EQ(slope([](const Tensor& x) { return relu(x); }, 0), 0);
  EXPECT_EQ(slope([](const Tensor& x) { return abs(x); }, 0), 0);
  EXPECT_EQ(slope([](const Tensor& x) { return sign(x); }, 0), 0);
  EXPECT_EQ(slope([](const Tensor& x) { return maximum(x, scalar(0)); }, 0), 0.5);
  EXPECT_EQ(slope([](const Tensor& x) { return minimum(x, scalar(0)); }, 0), 0.5);
  EXPECT_EQ(slope([](const Tensor& x) { return maximum(x, x); }, 3), 1);
  const Tensor x = variable(tensor({2, 2, 1}));
  EXPECT_SAME_BITS(grad(max(x), x), tensor({0.5, 0.5, 0}));
}

// xtensor: the largest of a list with NaN depended on the NaN's place.
TEST(EngineCases, NaNIsNeverDropped) {
  const double nan = std::nan("");
  for (const double v : {-1.0, 0.0, 1.0}) {
    EXPECT_TRUE(std::isnan(maximum(scalar(v), scalar(nan)).item()));
    EXPECT_TRUE(std::isnan(maximum(scalar(nan), scalar(v)).item()));
    EXPECT_TRUE(std::isnan(minimum(scalar(v), scalar(nan)).item()));
    EXPECT_TRUE(std::isnan(minimum(scalar(nan), scalar(v)).item()));
  }
  EXPECT_TRUE(std::isnan(relu(scalar(nan)).item()));
  EXPECT_TRUE(std::isnan(slope([](const Tensor& x) { return relu(x); }, nan)));
  EXPECT_TRUE(std::isnan(abs(scalar(nan)).item()));
  EXPECT_TRUE(std::isnan(sign(scalar(nan)).item()));
}

// A number that int64 cannot hold must not be cut to one that it can.
TEST(EngineCases, NumbersThatInt64CannotHold) {
  const Tensor ids = tensor({1, 2, 3}, int64);
  EXPECT_SAME_BITS(ids + 2.0, tensor({3, 4, 5}, int64));
  EXPECT_THROWS_WITH(ids + 0.5, DTypeError,
                     "add: 0.5 is no whole number, but the tensor int64 [3] holds only such");
  EXPECT_THROWS_WITH(ids * 0.5, DTypeError, "multiply: 0.5 is no whole number");
  EXPECT_THROWS_WITH(ids - std::nan(""), DTypeError, "add: nan");
  EXPECT_THROWS_WITH(masked_fill(ids, ones({3}, boolean), 1e300), DTypeError, "masked_fill: 1e+300");
  EXPECT_THROWS_WITH(full({2}, std::nan(""), int64), ValueError, "nan");
  EXPECT_THROWS_WITH(tensor({1e19}, int64), ValueError, "1e+19");
  EXPECT_THROWS_WITH(scalar(1e19).to(int64), ValueError, "does not fit int64");
  EXPECT_THROWS_WITH(scalar(std::nan("")).to(int64), ValueError, "NaN");
  EXPECT_SAME_BITS(tensor({1.9, -1.9}).to(int64), tensor({1, -1}, int64));  // toward zero
}

}  // namespace
}  // namespace regard::test

// grad(): gradients of any outputs with respect to any tensors, of any order.
#include <gtest/gtest.h>

#include <cmath>

#include <regard/autograd.hpp>
#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/throws.hpp"

namespace regard::test {
namespace {

GradOptions creating() {
  GradOptions options;
  options.create_graph = true;
  return options;
}

TEST(Grad, TouchesNoParameter) {
  const Parameter p(tensor({1, 2}));
  const Tensor x = p;
  EXPECT_SAME_BITS(grad(sum(square(x)), x), tensor({2, 4}));
  EXPECT_FALSE(p.has_gradient());
}

TEST(Grad, KnowsAParameterByAnyOfItsTensors) {
  const Parameter p(tensor({1, 2}));
  EXPECT_SAME_BITS(grad(sum(square(p)), p), tensor({2, 4}));
}

TEST(Grad, OfWhatLiesBetween) {
  const Tensor x = variable(tensor({1, 2}));
  const Tensor y = x * 3.0, z = sum(square(y));
  const Tensors g = grad(Tensors{z}, Tensors{y, x});
  EXPECT_SAME_BITS(g[0], tensor({6, 12}));
  EXPECT_SAME_BITS(g[1], tensor({18, 36}));
}

TEST(Grad, OfSeveralOutputsAddsUp) {
  const Tensor x = variable(tensor({1, 2}));
  GradOptions options;
  options.seeds = {tensor({1, 10}), scalar(100)};
  EXPECT_SAME_BITS(grad(Tensors{x * 2.0, sum(x)}, Tensors{x}, options)[0], tensor({102, 120}));
  EXPECT_SAME_BITS(grad(Tensors{sum(x), sum(square(x))}, Tensors{x})[0], tensor({3, 5}));
}

TEST(Grad, OfOneOutputTwice) {
  const Tensor x = variable(tensor({2}));
  const Tensor y = sum(square(x));
  EXPECT_SAME_BITS(grad(Tensors{y, y}, Tensors{x, x})[0], tensor({8}));
}

TEST(Grad, OfATensorWithRespectToItself) {
  const Tensor x = variable(scalar(3));
  EXPECT_SAME_BITS(grad(x, x), scalar(1));
}

TEST(Grad, RefusesAnInputThatNoOutputDependsOn) {
  const Tensor x = variable(tensor({1})), unused = variable(ones({2, 3}));
  EXPECT_THROWS_WITH(
      grad(Tensors{sum(x)}, Tensors{x, unused}), GraphError,
      "grad: no output depends on input 1 of shape [2, 3]; pass allow_unused to get zeros for it");
  GradOptions options;
  options.allow_unused = true;
  const Tensors g = grad(Tensors{sum(x)}, Tensors{x, unused}, options);
  EXPECT_SAME_BITS(g[0], tensor({1}));
  EXPECT_SAME_BITS(g[1], zeros({2, 3}));
}

TEST(Grad, RefusesAnInputOutsideAnyGraph) {
  const Tensor x = variable(tensor({1}));
  EXPECT_THROWS_WITH(
      grad(sum(x), ones({2})), GraphError,
      "grad: input 0 of shape [2] does not require a gradient; make it a leaf with variable()");
}

TEST(Grad, AnInputMadeAfterwardsIsUnreachable) {
  const Tensor x = variable(tensor({1}));
  const Tensor y = sum(square(x));
  EXPECT_THROWS_WITH(grad(y, variable(x)), GraphError, "no output depends on input 0");
}

TEST(Grad, NeedsSeedsThatFit) {
  const Tensor x = variable(tensor({1, 2}));
  EXPECT_THROWS_WITH(grad(x * 2.0, x), GraphError, "grad: expected a scalar loss, got shape [2]");
  GradOptions options;
  options.seeds = {ones({2}), ones({2})};
  EXPECT_THROWS_WITH(grad(x * 2.0, x, options), GraphError, "2 seeds for 1 outputs");
  options.seeds = {ones({3})};
  EXPECT_THROWS_WITH(grad(x * 2.0, x, options), GraphError,
                     "the seed is float64 [3] but the output is float64 [2]");
}

TEST(Grad, FreesWhatItWalkedAndSaysSo) {
  const Parameter p(tensor({2}));
  const Tensor x = p;
  const Tensor first = sum(square(x));
  EXPECT_SAME_BITS(grad(first, x), tensor({4}));
  EXPECT_THROWS_WITH(grad(first, x), GraphError, "was already freed");
  EXPECT_THROWS_WITH(backward(first), GraphError, "was already freed");
  const Tensor second = sum(square(x));
  backward(second);
  EXPECT_THROWS_WITH(grad(second, x), GraphError, "was already freed");
  GradOptions unused;
  unused.allow_unused = true;
  EXPECT_THROWS_WITH(grad(second, x, unused), GraphError, "was already freed");  // not silent zeros
}

TEST(Grad, FreesNothingBesideItsWay) {
  const Tensor x = variable(tensor({2})), y = variable(tensor({3}));
  const Tensor beside = square(y), loss = sum(square(x) * beside);
  EXPECT_SAME_BITS(grad(loss, x), tensor({36}));
  EXPECT_SAME_BITS(grad(sum(beside), y), tensor({6}));
}

TEST(Grad, RetainsOnRequest) {
  const Tensor x = variable(tensor({2}));
  const Tensor y = sum(square(x));
  GradOptions options;
  options.retain_graph = true;
  EXPECT_SAME_BITS(grad(y, x, options), tensor({4}));
  EXPECT_SAME_BITS(grad(y, x), tensor({4}));
}

// x^6 four times: 6x⁵, 30x⁴, 120x³, 360x².
TEST(Grad, OfEveryOrder) {
  const Tensor x = variable(tensor({2, -0.5}));
  Tensor d = power(x, 6);
  double factor = 1;
  for (int order = 1; order <= 4; ++order) {
    GradOptions options = creating();
    options.seeds = {ones({2})};
    d = grad(d, x, options);
    factor *= 7 - order;
    const Tensor expected = tensor({factor * std::pow(2, 6 - order), factor * std::pow(-0.5, 6 - order)});
    EXPECT_TENSOR_NEAR(d.detach(), expected, 1e-13, 0) << "order " << order;
  }
}

// tanh' = 1 - t², tanh'' = -2t(1-t²), tanh''' = (1-t²)(6t²-2), tanh'''' = (1-t²)(16t - 24t³).
TEST(Grad, OfTanhUpToTheFourthOrder) {
  const double at = 0.7, t = std::tanh(at), s = 1 - t * t;
  const double expected[] = {s, -2 * t * s, s * (6 * t * t - 2), s * (16 * t - 24 * t * t * t)};
  const Tensor x = variable(scalar(at));
  Tensor d = tanh(x);
  for (const double value : expected) {
    d = grad(d, x, creating());
    EXPECT_NEAR(d.item(), value, 1e-14);
  }
}

TEST(Grad, OfAGradientByBackward) {
  const Parameter p(tensor({1, 2}));
  const Tensor x = p;
  const Tensor g = grad(sum(power(x, 3)), x, creating());  // 3x²
  backward(sum(square(g)));                                // d(9x⁴) = 36x³
  EXPECT_SAME_BITS(p.gradient(), tensor({36, 288}));
}

TEST(Grad, WithoutCreateGraphIsAConstant) {
  const Tensor x = variable(tensor({2}));
  EXPECT_FALSE(grad(sum(square(x)), x).requires_grad());
}

TEST(Grad, InsideNoGradStillCreatesTheGraphItWasAskedFor) {
  const Tensor x = variable(tensor({2}));
  const Tensor y = sum(power(x, 3));
  const NoGrad guard;
  EXPECT_TRUE(grad(y, x, creating()).requires_grad());
  EXPECT_FALSE(grad_enabled());
}

}  // namespace
}  // namespace regard::test

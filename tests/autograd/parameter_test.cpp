#include <gtest/gtest.h>

#include <regard/autograd.hpp>
#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard::test {
namespace {

TEST(Parameter, IsASharedCell) {
  Parameter p(tensor({1, 2}), "weight");
  const Parameter same = p, other(tensor({1, 2}));
  EXPECT_TRUE(p.same_as(same));
  EXPECT_FALSE(p.same_as(other));
  p.assign(tensor({3, 4}));
  EXPECT_SAME_BITS(same.value(), tensor({3, 4}));
  backward(sum(same * 2.0));
  EXPECT_SAME_BITS(p.gradient(), tensor({2, 2}));
  EXPECT_EQ(same.name(), "weight");
  p.set_name("bias");
  EXPECT_EQ(same.name(), "bias");
}

TEST(Parameter, GivesALeafAndAConstant) {
  const Parameter p(tensor({1, 2}));
  EXPECT_TRUE(p.tensor().requires_grad());
  EXPECT_FALSE(p.value().requires_grad());
  EXPECT_EQ(p.shape(), (Shape{2}));
  EXPECT_EQ(p.dtype(), float64);
  const NoGrad guard;
  EXPECT_FALSE(p.tensor().requires_grad());
}

TEST(Parameter, FrozenIsAConstant) {
  Parameter p(tensor({1, 2}));
  EXPECT_TRUE(p.trainable());
  p.set_trainable(false);
  EXPECT_FALSE(p.tensor().requires_grad());
  const Parameter other(tensor({3, 4}));
  backward(sum(p * other));
  EXPECT_FALSE(p.has_gradient());
  EXPECT_SAME_BITS(other.gradient(), tensor({1, 2}));
  p.set_trainable(true);
  backward(sum(p * other));
  EXPECT_SAME_BITS(p.gradient(), tensor({3, 4}));
}

// Used while trainable, frozen before the walk: the graph that was recorded counts.
TEST(Parameter, FrozenBetweenForwardAndBackwardStillGetsItsGradient) {
  Parameter p(tensor({3}));
  const Tensor loss = sum(square(p));
  p.set_trainable(false);
  backward(loss);
  EXPECT_SAME_BITS(p.gradient(), tensor({6}));
}

TEST(Parameter, AssignedThroughWhatWasAViewOfItLeavesTheViewAlone) {
  Parameter w(tensor({{1, 2}, {3, 4}}));
  const Tensor column = select(w, 1, 0);
  w.assign(full({2, 2}, 9));
  EXPECT_SAME_BITS(column.detach(), tensor({1, 3}));
  backward(sum(square(column)));
  EXPECT_SAME_BITS(w.gradient(), tensor({{2, 0}, {6, 0}}));
}

// One leaf for all the values that a cell ever holds.
TEST(Parameter, UsesOfBothValuesAddUp) {
  Parameter w(tensor({3}));
  const Tensor before = square(w);
  w.assign(tensor({10}));
  backward(sum(before) + sum(square(w)));
  EXPECT_SAME_BITS(w.gradient(), tensor({26}));
}

TEST(Parameter, RefusesWhatDoesNotFit) {
  Parameter p(ones({2, 3}), "encoder.weight");
  EXPECT_THROWS_WITH(p.assign(ones({3, 2})), ShapeError,
                     "parameter encoder.weight: the new value has shape [3, 2], expected [2, 3]");
  EXPECT_THROWS_WITH(p.assign(ones({2, 3}, float32)), DTypeError,
                     "the new value is float32, expected float64");
  EXPECT_THROWS_WITH(p.set_gradient(ones({2})), ShapeError, "the gradient has shape [2], expected [2, 3]");
  EXPECT_THROWS_WITH(p.set_gradient(ones({2, 3}, float32)), DTypeError, "the gradient is float32");
  EXPECT_THROWS_WITH(p.assign(Tensor()), GraphError, "empty");
  EXPECT_SAME_BITS(p.value(), ones({2, 3}));
  EXPECT_FALSE(p.has_gradient());
  EXPECT_THROWS_WITH(Parameter(ones({2}, int64)), DTypeError,
                     "parameter: expected float32 or float64, got int64 [2]");
}

TEST(Parameter, EmptyHandleSaysSo) {
  const Parameter empty;
  EXPECT_FALSE(empty.defined());
  EXPECT_THROWS_WITH(empty.value(), GraphError, "parameter: this handle is empty");
  EXPECT_THROWS_WITH(empty.tensor(), GraphError, "parameter: this handle is empty");
  EXPECT_THROWS_WITH(empty.has_gradient(), GraphError, "parameter: this handle is empty");
}

TEST(Parameter, SetGradientIsWhatTheNextBackwardAddsTo) {
  Parameter p(tensor({1, 2}));
  const Tensor given = tensor({100, 200});
  p.set_gradient(given);
  backward(sum(p * 3.0));
  EXPECT_SAME_BITS(p.gradient(), tensor({103, 203}));
  EXPECT_SAME_BITS(given, tensor({100, 200}));
}

TEST(Parameter, MadeFromAGraphStandsOutsideIt) {
  const Tensor x = variable(tensor({2}));
  const Parameter p(square(x));
  EXPECT_FALSE(p.value().requires_grad());
  backward(sum(p * 3.0));
  EXPECT_SAME_BITS(p.gradient(), tensor({3}));
}

TEST(Parameter, MayGoBeforeTheGraphThatUsedIt) {
  const Parameter kept(tensor({5}));
  Tensor loss;
  {
    const Parameter gone(tensor({2}));
    loss = sum(gone * kept);
  }
  backward(loss);
  EXPECT_SAME_BITS(kept.gradient(), tensor({2}));
}

TEST(Parameter, TiedWeightsGetBothGradients) {
  const Parameter shared(tensor({{1, 2}, {3, 4}}));
  const Tensor x = tensor({{1, 1}});
  backward(sum(matmul(matmul(x, shared), transpose(shared))));
  // d/dW sum(x W Wᵀ) = xᵀ(1 W) + 1ᵀ(x W), both [4, 6] in every row
  EXPECT_SAME_BITS(shared.gradient(), tensor({{8, 12}, {8, 12}}));
}

}  // namespace
}  // namespace regard::test

// backward(): what it accumulates, what it frees, what it refuses.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <regard/autograd.hpp>
#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard::test {
namespace {

BackwardOptions seeded(const Tensor& seed) {
  BackwardOptions options;
  options.seed = seed;
  return options;
}

BackwardOptions retaining() {
  BackwardOptions options;
  options.retain_graph = true;
  return options;
}

TEST(Backward, AddsUpInParameters) {
  Parameter p(tensor({1, 2, 3}));
  EXPECT_FALSE(p.has_gradient());
  backward(sum(square(p)));
  EXPECT_SAME_BITS(p.gradient(), tensor({2, 4, 6}));
  backward(sum(square(p)));
  EXPECT_SAME_BITS(p.gradient(), tensor({4, 8, 12}));
  p.zero_grad();
  EXPECT_FALSE(p.has_gradient());
  backward(sum(square(p)));
  EXPECT_SAME_BITS(p.gradient(), tensor({2, 4, 6}));
}

// The user's handle on a gradient is a snapshot, as every Tensor is.
TEST(Backward, LeavesGradientsThatWereTakenAsTheyAre) {
  Parameter p(tensor({1, 2}));
  backward(sum(square(p)));
  const Tensor taken = p.gradient();
  backward(sum(square(p)));
  EXPECT_SAME_BITS(taken, tensor({2, 4}));
  EXPECT_SAME_BITS(p.gradient(), tensor({4, 8}));
}

TEST(Backward, LeavesTheSeedAsItIs) {
  Parameter p(tensor({1, 2}));
  const Tensor seed = tensor({1, 1});
  backward(p + p.tensor(), seeded(seed));
  backward(p.tensor(), seeded(seed));
  backward(p + p.tensor(), seeded(seed));
  EXPECT_SAME_BITS(seed, tensor({1, 1}));
  EXPECT_SAME_BITS(p.gradient(), tensor({5, 5}));
}

TEST(Backward, TakesASeedOfTheOutputsShape) {
  Parameter p(tensor({1, 2}));
  backward(square(p), seeded(tensor({10, 100})));
  EXPECT_SAME_BITS(p.gradient(), tensor({20, 400}));
}

TEST(Backward, NeedsAScalarOrASeed) {
  const Parameter p(ones({2, 3}));
  EXPECT_THROWS_WITH(
      (backward(p * 2.0), 0), GraphError,
      "backward: expected a scalar loss, got shape [2, 3]; pass a seed of that shape to start from "
      "another output");
  EXPECT_THROWS_WITH(backward(p * 2.0, seeded(ones({3}))), GraphError,
                     "the seed is float64 [3] but the output is float64 [2, 3]");
  EXPECT_THROWS_WITH(backward(p * 2.0, seeded(ones({2, 3}, float32))), GraphError,
                     "the seed is float32 [2, 3]");
  EXPECT_FALSE(p.has_gradient());
  backward(reshape(sum(p), {1, 1}));  // one element is a scalar, whatever its rank
  EXPECT_SAME_BITS(p.gradient(), ones({2, 3}));
}

TEST(Backward, NeedsSomethingThatRequiresAGradient) {
  const Parameter p(ones({2}));
  EXPECT_THROWS_WITH(backward(sum(ones({2}))), GraphError,
                     "depends on no trainable Parameter and no variable");
  EXPECT_THROWS_WITH(backward(sum(p.value())), GraphError, "detached");
  const NoGrad guard;
  EXPECT_THROWS_WITH(backward(sum(p)), GraphError, "was recording off (NoGrad)");
}

TEST(Backward, RefusesAGraphThatAnEarlierBackwardFreed) {
  const Parameter p(tensor({2}));
  const Tensor loss = sum(square(p));
  backward(loss);
  EXPECT_THROWS_WITH(backward(loss), GraphError,
                     "was already freed by an earlier backward; pass retain_graph");
  EXPECT_SAME_BITS(p.gradient(), tensor({4}));
}

TEST(Backward, RefusesASharedPartThatWasFreedAndLeavesTheGradientsAlone) {
  const Parameter a(tensor({2}));
  const Tensor shared = square(a);
  backward(sum(shared * 5.0));
  const Parameter b(tensor({3}));
  const Tensor loss = sum(shared) + sum(square(b));  // b's branch is whole, and newer: walked first
  EXPECT_THROWS_WITH(backward(loss), GraphError, "square");
  EXPECT_SAME_BITS(a.gradient(), tensor({20}));
  EXPECT_FALSE(b.has_gradient()) << "a backward that fails adds nothing";
}

TEST(Backward, WalksAgainWhenTheGraphWasRetained) {
  const Parameter p(tensor({2}));
  const Tensor loss = sum(square(p));
  backward(loss, retaining());
  backward(loss, retaining());
  backward(loss);
  EXPECT_SAME_BITS(p.gradient(), tensor({12}));
  EXPECT_THROWS_WITH(backward(loss), GraphError, "freed");
}

TEST(Backward, OfAParameterItself) {
  const Parameter p(scalar(3));
  backward(p);
  EXPECT_SAME_BITS(p.gradient(), scalar(1));
}

TEST(Backward, KeepsInfinitiesAndNaN) {
  const Parameter p(tensor({0, -1}));
  backward(sum(sqrt(p)));
  EXPECT_EQ(p.gradient().at({0}), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(p.gradient().at({1})));
}

TEST(Backward, RecordsNothingUnlessAskedTo) {
  const Parameter p(tensor({2}));
  const Size before = live_nodes();
  backward(sum(square(p)));
  EXPECT_EQ(live_nodes(), before);
  EXPECT_FALSE(p.gradient().requires_grad());
  BackwardOptions options;
  options.create_graph = true;
  backward(sum(square(p)), options);
  EXPECT_TRUE(p.gradient().requires_grad());
}

TEST(Backward, WorksWhileRecordingIsOff) {
  const Parameter p(tensor({2}));
  const Tensor loss = sum(square(p));
  const NoGrad guard;
  backward(loss);
  EXPECT_SAME_BITS(p.gradient(), tensor({4}));
  EXPECT_FALSE(grad_enabled());
}

// A gradient that both branches of a sum share must not be added to in place.
TEST(Backward, DoesNotMixBranchesThatShareAGradient) {
  const Parameter a(tensor({1, 1})), b(tensor({1, 1})), c(tensor({1, 1}));
  const Tensor left = a + b;     // passes dy on to both
  const Tensor both = left + c;  // and again
  const Tensor loss = sum(both * both) + sum(a * 10.0);
  backward(loss);
  EXPECT_SAME_BITS(a.gradient(), tensor({16, 16}));
  EXPECT_SAME_BITS(b.gradient(), tensor({6, 6}));
  EXPECT_SAME_BITS(c.gradient(), tensor({6, 6}));
}

TEST(Backward, InFloat32StaysInFloat32) {
  const Parameter p(tensor({0.1, 0.2}, float32));
  backward(sum(p * 0.1));
  EXPECT_SAME_BITS(p.gradient(), full({2}, 0.1, float32));
}

TEST(Backward, CastsGradientsBack) {
  const Parameter p(tensor({0.5, 0.25}, float32));
  backward(sum(square(p.tensor().to(float64))));
  EXPECT_SAME_BITS(p.gradient(), tensor({1, 0.5}, float32));
}

}  // namespace
}  // namespace regard::test

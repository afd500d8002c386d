// Hooks see, replace and clip gradients while backward walks.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include <regard/autograd.hpp>
#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/throws.hpp"

namespace regard::test {
namespace {

BackwardOptions retaining() {
  BackwardOptions options;
  options.retain_graph = true;
  return options;
}

TEST(Hook, SeesTheWholeGradientOnce) {
  const Tensor x = variable(tensor({1, 2}));
  const Tensor y = x * 3.0;
  std::vector<Tensor> seen;
  add_hook(y, [&seen](const Tensor& dy) {
    seen.push_back(dy);
    return Tensor();
  });
  backward(sum(square(y)) + sum(y));  // two ways to y: the hook waits for both
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_SAME_BITS(seen[0], tensor({7, 13}));
}

TEST(Hook, ReplacesTheGradientForAllThatFollows) {
  const Parameter p(tensor({1, 2}));
  const Tensor y = p * 3.0;
  add_hook(y, [](const Tensor& dy) { return dy * 10.0; });
  backward(sum(y));
  EXPECT_SAME_BITS(p.gradient(), tensor({30, 30}));
}

TEST(Hook, OfAParameterChangesWhatIsAddedUp) {
  const Parameter p(tensor({1, 2}));
  add_hook(p, [](const Tensor& dp) { return dp * -1.0; });
  backward(sum(p * 2.0));
  EXPECT_SAME_BITS(p.gradient(), tensor({-2, -2}));
}

TEST(Hook, OfAParameterOutlivesItsValue) {
  Parameter p(tensor({1}));
  int calls = 0;
  add_hook(p, [&calls](const Tensor&) { return ++calls, Tensor(); });
  backward(sum(square(p)));
  p.assign(tensor({5}));
  backward(sum(square(p)));
  EXPECT_EQ(calls, 2);
}

TEST(Hook, IsNotCalledForAFrozenParameter) {
  Parameter p(tensor({1}));
  const Parameter other(tensor({2}));
  int calls = 0;
  add_hook(p, [&calls](const Tensor&) { return ++calls, Tensor(); });
  p.set_trainable(false);
  backward(sum(p * other));
  EXPECT_EQ(calls, 0);
  EXPECT_FALSE(p.has_gradient());
}

TEST(Hook, RunInTheOrderTheyWereAdded) {
  const Parameter p(tensor({1}));
  add_hook(p, [](const Tensor& dp) { return dp + 1.0; });
  add_hook(p, [](const Tensor& dp) { return dp * 2.0; });
  backward(sum(p));
  EXPECT_SAME_BITS(p.gradient(), tensor({4}));
}

TEST(Hook, CanBeRemoved) {
  const Parameter p(tensor({1}));
  HookHandle hook = add_hook(p, [](const Tensor& dp) { return dp * 100.0; });
  HookHandle copy = hook;
  hook.remove();
  copy.remove();  // the same hook: nothing left to remove
  backward(sum(p));
  EXPECT_SAME_BITS(p.gradient(), tensor({1}));
}

// What the closure owns must be there until the call is over.
TEST(Hook, MayRemoveItself) {
  const Parameter p(tensor({1}));
  HookHandle hook;
  hook = add_hook(p, [&hook, own = std::make_shared<double>(3)](const Tensor& dp) {
    hook.remove();
    return dp * *own;
  });
  const Tensor loss = sum(p * 1.0);
  backward(loss, retaining());
  backward(loss);
  EXPECT_SAME_BITS(p.gradient(), tensor({4}));
}

TEST(Hook, LetsGoOfWhatItOwnsWhenRemoved) {
  const Parameter p(tensor({1}));
  auto owned = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = owned;
  HookHandle hook = add_hook(p, [owned = std::move(owned)](const Tensor&) { return Tensor(); });
  EXPECT_FALSE(watched.expired());
  hook.remove();
  EXPECT_TRUE(watched.expired());
}

TEST(Hook, MustReturnTheSameShapeAndDType) {
  const Parameter p(tensor({1, 2}), "weight");
  HookHandle hook = add_hook(p, [](const Tensor& dp) { return sum(dp); });
  EXPECT_THROWS_WITH(backward(sum(p)), GraphError,
                     "a hook on weight returned float64 [] for a gradient of float64 [2]");
  hook.remove();
  add_hook(p, [](const Tensor& dp) { return dp.to(float32); });
  EXPECT_THROWS_WITH(backward(sum(p)), GraphError, "a hook on weight returned float32 [2]");
  EXPECT_FALSE(p.has_gradient());
}

TEST(Hook, NeedsATensorThatRequiresAGradient) {
  EXPECT_THROWS_WITH(
      add_hook(ones({2}), [](const Tensor& dx) { return dx; }), GraphError,
      "add_hook: the tensor of shape [2] does not require a gradient; make it a leaf with variable()");
}

TEST(Hook, MayTakeAGradientThroughWhatLiesAheadOfTheWalk) {
  const Tensor w = variable(tensor({0.5, -1}));
  const Tensor shared = tanh(w), z = exp(square(shared)), aside = sum(sin(shared));
  GradOptions keep;
  keep.retain_graph = true;
  Tensor inner;
  HookHandle hook = add_hook(z, [&](const Tensor&) {
    inner = grad(aside, w, keep);
    return Tensor();
  });
  const Tensor outer = grad(sum(z), w, keep);
  hook.remove();
  EXPECT_SAME_BITS(inner, grad(aside, w, keep));
  EXPECT_SAME_BITS(outer, grad(sum(z), w, keep));
}

TEST(Hook, MustNotWalkTheGraphItHangsIn) {
  const Parameter p(tensor({1, 2}));
  const Tensor y = square(p);
  const Tensor loss = sum(y) + sum(p * 2.0);
  HookHandle hook = add_hook(y, [&loss](const Tensor&) {
    backward(loss, retaining());
    return Tensor();
  });
  EXPECT_THROWS_WITH(backward(loss, retaining()), GraphError, "is being walked already");
  EXPECT_FALSE(p.has_gradient());
  hook.remove();
  backward(loss);  // and the failed walks left nothing behind
  EXPECT_SAME_BITS(p.gradient(), tensor({4, 6}));
}

TEST(Hook, MayWalkAnotherGraph) {
  const Parameter p(tensor({2})), other(tensor({5}));
  add_hook(p, [&other](const Tensor&) {
    const EnableGrad recording;
    backward(sum(square(other)));
    return Tensor();
  });
  backward(sum(square(p)));
  EXPECT_SAME_BITS(p.gradient(), tensor({4}));
  EXPECT_SAME_BITS(other.gradient(), tensor({10}));
}

TEST(Hook, ThatThrowsLeavesGraphAndGradientsUsable) {
  const Parameter p(tensor({2}));
  const Tensor y = square(p);
  const Parameter q(tensor({3}));  // newer than y: its gradient is there before the hook throws
  HookHandle hook = add_hook(y, [](const Tensor&) -> Tensor { throw ValueError("enough"); });
  const Tensor loss = sum(y) + sum(square(q));
  EXPECT_THROWS_WITH(backward(loss, retaining()), ValueError, "enough");
  EXPECT_FALSE(p.has_gradient());
  EXPECT_FALSE(q.has_gradient());
  EXPECT_TRUE(grad_enabled());
  hook.remove();
  backward(loss);
  EXPECT_SAME_BITS(p.gradient(), tensor({4}));
  EXPECT_SAME_BITS(q.gradient(), tensor({6}));
}

TEST(Hook, RunsInGradToo) {
  const Tensor x = variable(tensor({3}));
  add_hook(x, [](const Tensor& dx) { return dx * 2.0; });
  EXPECT_SAME_BITS(grad(sum(x), x), tensor({2}));
}

}  // namespace
}  // namespace regard::test

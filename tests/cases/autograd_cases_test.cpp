// The engine: shared nodes, second walks, values that change. Long chains and lifetimes (B21, B22) are tested
// in tests/autograd/memory_test.cpp.
#include <regard/optim.hpp>

#include "cases/cases.hpp"

namespace regard::test {
namespace {

// karpathy/micrograd #2, PR #64: recursion visited a shared node twice.
TEST(B17, ASharedNodeIsVisitedOnce) {
  in_both_dtypes([](DType dtype) {
    const auto twice_twice = [](const Tensor& a) {
      const Tensor b = a + a;
      return b + b;
    };
    EXPECT_EQ(slope(twice_twice, 1, dtype), 4);
    EXPECT_EQ(slope([](const Tensor& a) { return a * a; }, 3, dtype), 6);
    EXPECT_EQ(slope([](const Tensor& a) { return a - a; }, 3, dtype), 0);
    EXPECT_EQ(slope([](const Tensor& a) { return a / a; }, 3, dtype), 0);
  });
}

// sebgao/cTensor #5: several paths to the loss; the bug gave 7.
TEST(B18, SeveralPathsToTheLoss) {
  in_both_dtypes([](DType dtype) {
    const Tensor x = variable(scalar(1, dtype));
    const Tensor xa = x * 1.0, x2 = x * x;
    const Tensor f = x * xa + x2 * 1.0 + x * xa;
    EXPECT_EQ(f.item(), 3);
    EXPECT_EQ(grad(f, x).item(), 6);
  });
}

// Janko-dev/autodiff PR #3: a name that is bound anew to an expression of itself.
TEST(B19, ANameReboundToAnExpressionOfItself) {
  in_both_dtypes([](DType dtype) {
    const Tensor a = variable(scalar(5, dtype)), b = variable(scalar(10, dtype));
    Tensor c = a + b;
    c = c + (c + a);
    EXPECT_EQ(c.item(), 35);
    const Tensors g = grad(Tensors{c}, Tensors{a, b});
    EXPECT_EQ(g[0].item(), 3);
    EXPECT_EQ(g[1].item(), 2);
  });
}

// karpathy/micrograd PR #102: a second backward added the gradients inside once more.
TEST(B20, BackwardTwice) {
  Parameter a(scalar(2));
  const Tensor b = a.tensor() * a.tensor(), c = b * 3.0;
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

// pytorch/pytorch #197887: a saved number changed before backward read it. Here a Tensor never changes, so
// the graph keeps the 3 that it saved.
TEST(B63, AValueChangedBeforeBackward) {
  in_both_dtypes([](DType dtype) {
    Parameter w(tensor({3}, dtype), "w");
    const Tensor view = reshape(w, {1, 1});
    const Tensor y = sum(w.tensor() * w.tensor()), z = sum(view * view);
    w.assign(tensor({10}, dtype));
    EXPECT_EQ(w.value().item(), 10);
    backward(y);
    EXPECT_EQ(w.gradient().item(), 6);
    w.zero_grad();
    backward(z);
    EXPECT_EQ(w.gradient().item(), 6);
    EXPECT_EQ(view.item(), 3);
    EXPECT_EQ(y.item(), 9);
  });
}

// The same when an optimiser writes, which does so in place where it can.
TEST(B63, AStepBetweenForwardAndBackward) {
  Parameter w(tensor({3}), "w");
  SgdOptions options;
  options.learning_rate = 1;
  Sgd optimizer({w}, options);
  const Tensor y = sum(w.tensor() * w.tensor());
  w.set_gradient(tensor({-7}));
  optimizer.step();
  EXPECT_EQ(w.value().item(), 10);
  w.zero_grad();
  backward(y);
  EXPECT_EQ(w.gradient().item(), 6);
}

}  // namespace
}  // namespace regard::test

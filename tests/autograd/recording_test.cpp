// NoGrad, EnableGrad, detach, variable: who is recorded when.
#include <gtest/gtest.h>

#include <thread>

#include <regard/autograd.hpp>
#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/throws.hpp"

namespace regard::test {
namespace {

TEST(Recording, NestsAndComesBackAfterAnException) {
  EXPECT_TRUE(grad_enabled());
  {
    const NoGrad outer;
    EXPECT_FALSE(grad_enabled());
    {
      const EnableGrad inner;
      EXPECT_TRUE(grad_enabled());
      {
        const NoGrad innermost;
        EXPECT_FALSE(grad_enabled());
      }
      EXPECT_TRUE(grad_enabled());
    }
    EXPECT_FALSE(grad_enabled());
  }
  EXPECT_TRUE(grad_enabled());
  try {
    const NoGrad guard;
    static_cast<void>(ones({2}) + ones({3}));
  } catch (const ShapeError&) {
  }
  EXPECT_TRUE(grad_enabled());
}

TEST(Recording, IsEachThreadsOwn) {
  const NoGrad guard;
  bool enabled = false;
  std::thread([&enabled] { enabled = grad_enabled(); }).join();
  EXPECT_TRUE(enabled);
}

TEST(Recording, NothingReachesThroughADetachedTensor) {
  const Tensor x = variable(tensor({2}));
  const Tensor y = square(x);
  EXPECT_SAME_BITS(grad(sum(y * y.detach()), x), tensor({16}));
  EXPECT_EQ(y.detach().data<double>(), y.data<double>());  // the same storage
}

TEST(Recording, NothingReachesThroughAnOpUnderNoGrad) {
  const Tensor x = variable(tensor({2, 3}));
  const Tensor constant = [&x] {
    const NoGrad guard;
    return square(x);
  }();
  EXPECT_FALSE(constant.requires_grad());
  EXPECT_SAME_BITS(grad(sum(x * constant), x), tensor({4, 9}));
}

// Even where an op has nothing to do and could hand its input through.
TEST(Recording, NoOpHandsItsInputThroughUnderNoGrad) {
  const Tensor x = variable(tensor({{2, 3}}));
  Rng rng(1);
  const NoGrad guard;
  for (const Tensor& y : {reshape(x, {1, 2}), broadcast_to(x, {1, 2}), sum_to(x, {1, 2}), x.contiguous(),
                          x.to(float64), expand_dims(x, Axes{}), squeeze(x, Axes{}), dropout(x, 0, rng)})
    EXPECT_FALSE(y.requires_grad());
}

TEST(Recording, AVariableIsALeafOfItsOwn) {
  const Tensor x = variable(tensor({2}));
  const Tensor cut = variable(square(x));
  EXPECT_SAME_BITS(grad(sum(cut * 3.0), cut), tensor({3}));
  EXPECT_THROWS_WITH(grad(sum(cut * 3.0), x), GraphError, "no output depends on input 0");
  EXPECT_THROWS_WITH(variable(ones({2}, int64)), DTypeError,
                     "variable: expected float32 or float64, got int64 [2]");
}

TEST(Recording, IntegersAndBooleansAreNeverPartOfAGraph) {
  const Tensor x = variable(tensor({1.5, -2}));
  EXPECT_FALSE(x.to(int64).requires_grad());
  EXPECT_FALSE(x.to(boolean).requires_grad());
  EXPECT_FALSE(greater(x, scalar(0)).requires_grad());
  EXPECT_FALSE(argmax(x).requires_grad());
}

TEST(Recording, OneInputIsEnough) {
  const Tensor x = variable(ones({2}));
  EXPECT_TRUE((x + ones({2})).requires_grad());
  EXPECT_TRUE((ones({2}) + x).requires_grad());
  EXPECT_FALSE((ones({2}) + ones({2})).requires_grad());
}

TEST(Recording, AGraphBelongsToItsThread) {
#ifdef NDEBUG
  // The check costs a comparison per input, so release builds leave it out; the asan preset is a debug build and runs it.
  GTEST_SKIP() << "only debug builds look";
#else
  const Tensor x = variable(ones({2}));
  const Tensor y = sum(square(x));
  std::thread([&] {
    EXPECT_THROWS_WITH(x * 2.0, GraphError,
                       "belongs to another thread; give threads numbers (to_vector), not handles");
    EXPECT_THROWS_WITH(backward(y), GraphError, "belongs to another thread");
  }).join();
  EXPECT_SAME_BITS(grad(y, x), tensor({2, 2}));
#endif
}

}  // namespace
}  // namespace regard::test

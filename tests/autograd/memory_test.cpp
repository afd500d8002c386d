// The graph neither leaks nor overflows, and a walk costs what the graph is long.
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <vector>

#include <regard/autograd.hpp>
#include <regard/ops.hpp>

#include "autograd/observer.hpp"
#include "support/close.hpp"
#include "support/tensors.hpp"

namespace regard::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

/// Runs f on a thread with the default stack of a main program, whatever this one was given.
void with_stack_of_8_MiB(std::function<void()> f) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, std::size_t{8} << 20), 0);
  pthread_t thread;
  const auto call = [](void* function) -> void* {
    (*static_cast<std::function<void()>*>(function))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, call, &f), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

/// Kernels that ran while it lives.
class CountedKernels : detail::Observer {
 public:
  Size count = 0;

 private:
  void before(const detail::Run&) override { ++count; }
};

// pytorch #5534: recursion in backward or in the destructor overflows the stack.
TEST(B21, AMillionAdditionsForwardBackwardAndFreed) {
  with_stack_of_8_MiB([] {
    const Size before = live_nodes();
    const Tensor x = variable(scalar(1));
    {
      Tensor y = x;
      for (int i = 0; i < 1000000; ++i) y = y + 1.0;
      EXPECT_EQ(y.item(), 1000001);
      EXPECT_EQ(live_nodes(), before + 1000001);
      EXPECT_EQ(grad(y, x).item(), 1);
    }
    EXPECT_EQ(live_nodes(), before + 1);
  });
}

TEST(B21, AHundredThousandProductsForwardAndBackward) {
  with_stack_of_8_MiB([] {
    const Parameter x(scalar(1));
    Tensor y = x;
    for (int i = 0; i < 100000; ++i) y = y + y * 1e-6;
    backward(y);
    const double expected = 1.10517086280805;  // 1.000001^100000
    EXPECT_NEAR(y.item() / expected, 1, 1e-9);
    EXPECT_NEAR(x.gradient().item() / expected, 1, 1e-9);
  });
}

TEST(B21, AMillionOpsThatNobodyWalksAreFreedWithoutRecursion) {
  with_stack_of_8_MiB([] {
    const Size before = live_nodes();
    {
      Tensor y = variable(scalar(1));
      for (int i = 0; i < 1000000; ++i) y = y * 1.000001;
    }
    EXPECT_EQ(live_nodes(), before);
  });
}

TEST(Memory, ARetainedChainIsFreedWithoutRecursion) {
  with_stack_of_8_MiB([] {
    const Tensor x = variable(scalar(1));
    const Size before = live_nodes();
    {
      Tensor y = x;
      for (int i = 0; i < 300000; ++i) y = y + 1.0;
      GradOptions options;
      options.retain_graph = true;
      EXPECT_EQ(grad(y, x, options).item(), 1);
      EXPECT_EQ(live_nodes(), before + 300000);
    }
    EXPECT_EQ(live_nodes(), before);
  });
}

Size kernels_of_backward(int length) {
  const Parameter p(ones({4}));
  Tensor y = p;
  for (int i = 0; i < length; ++i) y = tanh(y) * y;
  const Tensor loss = sum(y);
  const CountedKernels kernels;
  backward(loss);
  return kernels.count;
}

TEST(Memory, TheWalkIsLinearInTheLength) {
  const Size one = kernels_of_backward(100), two = kernels_of_backward(200), four = kernels_of_backward(400);
  EXPECT_GT(one, 100);
  EXPECT_EQ(two - one, (four - two) / 2);
}

// karpathy/micrograd: a shared node is visited once, however many ways lead to it. 2^60 ways here.
TEST(Memory, DeepSharingIsWalkedOnce) {
  const Parameter x(scalar(1));
  Tensor y = x;
  for (int i = 0; i < 60; ++i) y = y + y;
  const CountedKernels kernels;
  backward(y);
  EXPECT_EQ(x.gradient().item(), std::exp2(60));
  EXPECT_LE(kernels.count, 2 * 60 + 2);
}

TEST(Memory, OneConsumerOfManyInputs) {
  Tensors parts;
  const Parameter p(ones({2}));
  for (int i = 0; i < 1000; ++i) parts.push_back(p * static_cast<double>(i));
  backward(sum(concatenate(parts)));
  EXPECT_SAME_BITS(p.gradient(), full({2}, 999 * 1000 / 2));
}

struct Net {
  Rng rng{3};
  Parameter w1{normal({4, 8}, rng)}, b1{zeros({8})}, w2{normal({8, 1}, rng)};
  Tensor x = normal({16, 4}, rng), y = normal({16, 1}, rng);

  double step() {
    const Tensor loss = mean(square(matmul(tanh(matmul(x, w1) + b1), w2) - y));
    backward(loss);
    for (Parameter* p : {&w1, &b1, &w2}) {
      p->assign(p->value() - p->gradient() * 0.05);
      p->zero_grad();
    }
    return loss.item();
  }
};

TEST(B22, NoNodeIsLeftAfterAStep) {
  const Size before = live_nodes();
  {
    Net net;
    const Size idle = live_nodes();
    const double first = net.step();
    EXPECT_EQ(live_nodes(), idle);
    double last = first;
    for (int i = 0; i < 200; ++i) last = net.step();
    EXPECT_EQ(live_nodes(), idle);
    EXPECT_LT(last, first / 2);  // it trains
  }
  EXPECT_EQ(live_nodes(), before);
}

Size resident_bytes() {
  std::ifstream file("/proc/self/statm");
  Size pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * static_cast<Size>(sysconf(_SC_PAGESIZE));
}

// 10-zin/cpp-micrograd #3: a closure that owns its own output grows with every step.
TEST(B22, ResidentMemoryIsFlatOverTenThousandSteps) {
  if (sanitized) GTEST_SKIP() << "a sanitizer keeps freed blocks, so that resident memory says nothing";
  if (resident_bytes() == 0) GTEST_SKIP() << "there is no /proc/self/statm here";
  Net net;
  for (int i = 0; i < 100; ++i) net.step();
  const Size at_100 = resident_bytes();
  for (int i = 100; i < 10000; ++i) net.step();
  EXPECT_LE(resident_bytes() - at_100, Size{1} << 20);
}

TEST(Memory, NoNodeIsLeftAfterAnError) {
  const Size before = live_nodes();
  {
    const Parameter p(ones({2}));
    const CustomOp broken(
        "broken", [](const Tensors& x) { return x[0] * 1.0; }, [](const RuleInputs&) { return Tensors{}; });
    EXPECT_ANY_THROW(backward(sum(square(broken({tanh(p)})))));
    EXPECT_ANY_THROW(backward(square(p)));
  }
  EXPECT_EQ(live_nodes(), before);
}

// The gradient of a gradient holds the first graph, which must still go in the end.
TEST(Memory, HigherOrdersLeaveNoCycle) {
  const Size before = live_nodes();
  {
    Parameter p(tensor({1, 2}));
    BackwardOptions options;
    options.create_graph = true;
    backward(sum(power(p, 4)), options);
    const Tensor g = p.gradient();
    p.zero_grad();
    backward(sum(g), options);
    EXPECT_SAME_BITS(p.gradient().detach(), tensor({12, 48}));
  }
  EXPECT_EQ(live_nodes(), before);
}

}  // namespace
}  // namespace regard::test

// Kernels at sizes that are shared out as they are: values and gradients on several threads are those of one,
// to the last bit, for rows that no block and no vector divides.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include <regard/regard.hpp>

#include "support/close.hpp"
#include "support/tensors.hpp"
#include "support/threads.hpp"
#include "support/throws.hpp"

namespace regard::test {
namespace {

class OnThreads : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(DTypes, OnThreads, testing::Values(float32, float64),
                         [](const auto& dtype) { return std::string(name(dtype.param)); });

void expect_the_bits_of_one(const std::string& what, const std::function<Tensors()>& run) {
  const auto on = [&run](int threads) {
    const WithThreads with(threads);
    return run();
  };
  const Tensors one = on(1);
  for (const int threads : {2, 3, 7}) {
    const Tensors several = on(threads);
    ASSERT_EQ(one.size(), several.size());
    for (std::size_t i = 0; i < one.size(); ++i)
      EXPECT_SAME_BITS(one[i].detach(), several[i].detach())
          << what << ", output " << i << ", " << threads << " threads";
  }
}

/// f(x), and its gradient in x for slopes that are not the same everywhere.
Tensors with_gradient(const Tensor& numbers, const std::function<Tensor(const Tensor&)>& f) {
  const Tensor x = variable(numbers);
  const Tensor y = f(x);
  if (!y.requires_grad()) return {y};
  return {y, grad(sum(y * cos(y.detach())), x)};
}

TEST_P(OnThreads, FunctionsGiveTheBitsOfOne) {
  Rng rng(1);
  const Tensor rows = normal({517, 391}, rng).to(GetParam());
  const Tensor weight = normal({391}, rng).to(GetParam()), shift = normal({391}, rng).to(GetParam());
  const Tensor keep = random_mask({517, 391}, rng), ids = random_ids({517}, rng, 391),
               places = random_ids({3001}, rng, 517);
  const std::vector<std::pair<std::string, std::function<Tensor(const Tensor&)>>> functions = {
      {"gelu", [](const Tensor& x) { return gelu(x); }},
      {"a row added", [&](const Tensor& x) { return x + shift; }},
      {"softmax", [](const Tensor& x) { return softmax(x); }},
      {"softmax along columns", [](const Tensor& x) { return softmax(x, 0); }},
      {"masked softmax", [&](const Tensor& x) { return softmax(x, keep); }},
      {"layer norm", [&](const Tensor& x) { return layer_norm(x, weight, shift); }},
      {"weight of a layer norm", [&](const Tensor& x) { return layer_norm(rows, select(x, 0, 0), shift); }},
      {"rms norm", [&](const Tensor& x) { return rms_norm(x, weight); }},
      {"sum", [](const Tensor& x) { return sum(x); }},
      {"sum of rows", [](const Tensor& x) { return sum(x, {1}); }},
      {"sum of columns", [](const Tensor& x) { return sum(x, {0}); }},
      {"mean of a view", [](const Tensor& x) { return mean(transpose(x), {0}); }},
      {"max of columns", [](const Tensor& x) { return max(x, {0}); }},
      {"argmax", [](const Tensor& x) { return argmax(x, 1); }},
      {"logsumexp", [](const Tensor& x) { return logsumexp(x, {1}); }},
      {"cross entropy", [&](const Tensor& x) { return cross_entropy(x, ids); }},
      {"rows looked up", [&](const Tensor& x) { return take(x, places); }},
      {"a copy of a view", [](const Tensor& x) { return transpose(x).contiguous(); }},
      {"where", [&](const Tensor& x) { return where(keep, x, shift); }},
      {"power", [](const Tensor& x) { return power(abs(x), 1.5); }},
  };
  for (const auto& [what, f] : functions)
    expect_the_bits_of_one(what, [&rows, &f = f] { return with_gradient(rows, f); });
}

TEST_P(OnThreads, DropoutDropsTheSame) {
  Rng rng(1);
  const Tensor x = normal({517, 391}, rng).to(GetParam());
  expect_the_bits_of_one("dropout", [&] {
    Rng own(5);
    return with_gradient(x, [&own](const Tensor& each) { return dropout(each, 0.3, own); });
  });
}

TEST_P(OnThreads, OptimisersTakeTheSameStep) {
  Rng rng(1);
  const Tensor start = normal({391, 517}, rng).to(GetParam()), slope = normal({391, 517}, rng).to(GetParam());
  const auto steps_of = [&](auto make) {
    const Parameter p(start);
    auto optimizer = make(std::vector<Parameter>{p});
    for (int i = 0; i < 3; ++i) {
      optimizer.zero_grad();
      backward(sum(p * slope));
      clip_gradients_by_norm(optimizer.parameters(), 1);
      optimizer.step();
    }
    return Tensors{p.value()};
  };
  expect_the_bits_of_one("adam", [&] { return steps_of([](auto p) { return Adam(p); }); });
  expect_the_bits_of_one("adamw", [&] { return steps_of([](auto p) { return AdamW(p); }); });
  expect_the_bits_of_one("sgd", [&] { return steps_of([](auto p) { return Sgd(p); }); });
  expect_the_bits_of_one("rmsprop", [&] { return steps_of([](auto p) { return Rmsprop(p); }); });
  expect_the_bits_of_one("lion", [&] { return steps_of([](auto p) { return Lion(p); }); });
}

// The place that is told is the first, whichever thread meets one.
TEST_P(OnThreads, AWrongClassIsNamedByItsFirstPlace) {
  const Tensor logits = zeros({900, 301}, GetParam());
  std::vector<Size> ids(900, 3);
  ids[601] = ids[602] = ids[899] = 301;
  for (const int threads : {1, 2, 3}) {
    const WithThreads with(threads);
    EXPECT_THROWS_WITH(cross_entropy(logits, from_vector(ids, {900})), ValueError, "target 301 at [601]");
  }
}

}  // namespace
}  // namespace regard::test

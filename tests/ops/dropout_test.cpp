// Dropout: which elements are dropped, how often, and that the backward drops the same ones.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <regard/autograd.hpp>
#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/gradients.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(Dropout, TheMaskIsAWordOfPhiloxForEachPlace) {
  Rng rng(7), same(7);
  const std::uint64_t key = same.next();
  const double p = 0.3;
  const Tensor y = dropout(ones({5, 3}), p, rng);
  for (Size i = 0; i < 15; ++i) {
    const bool dropped = philox_word(key, 0, static_cast<std::uint64_t>(i)) < std::llround(p * 4294967296.0);
    EXPECT_EQ(y.at({i / 3, i % 3}), dropped ? 0 : 1 / (1 - p)) << i;
  }
}

TEST(Dropout, TheLayoutOfXDoesNotMatter) {
  Rng values(1);
  const Tensor x = test::random_tensor({3, 5, 7}, values);
  Rng first(2);
  const Tensor expected = dropout(x, 0.4, first);
  for (const test::Layout layout : test::all_layouts) {
    Rng again(2);
    EXPECT_SAME_BITS(dropout(test::with_layout(x, layout), 0.4, again), expected) << layout;
  }
}

TEST(Dropout, DropsAFractionOfPAndKeepsTheMean) {
  for (const double p : {0.1, 0.5, 0.9}) {
    Rng rng(3);
    const Size n = 100000;
    const Tensor y = dropout(ones({n}), p, rng);
    const double dropped = sum(equal(y, scalar(0)).to(float64)).item() / static_cast<double>(n);
    const double deviation = std::sqrt(p * (1 - p) / static_cast<double>(n));
    EXPECT_NEAR(dropped, p, 4 * deviation);
    EXPECT_NEAR(mean(y).item(), 1, 4 * deviation / (1 - p));
  }
}

TEST(Dropout, AdvancesTheGeneratorByOneDrawWhateverP) {
  Rng expected(5);
  expected.next();
  for (const double p : {0.0, 0.5, 1.0}) {
    Rng rng(5);
    EXPECT_EQ(dropout(ones({9}), p, rng).numel(), 9);
    EXPECT_EQ(rng, expected) << p;
  }
}

TEST(Dropout, TwoDrawsDropDifferently) {
  Rng rng(6);
  const Tensor x = ones({64});
  const Tensor first = dropout(x, 0.5, rng), second = dropout(x, 0.5, rng);
  EXPECT_TRUE(any(not_equal(first, second)));
}

TEST(Dropout, TheGradientDropsTheSameElements) {
  Rng rng(7);
  const Tensor x = variable(ones({6, 4}));
  const Tensor y = dropout(x, 0.5, rng);
  GradOptions seeded;
  seeded.seeds = {where(equal(y, scalar(0)), full({6, 4}, nan), ones({6, 4}))};
  EXPECT_SAME_BITS(grad(Tensors{y}, Tensors{x}, seeded)[0], y.detach());
  EXPECT_SAME_BITS(grad(sum(dropout(x, 1, rng)), x), zeros({6, 4}));
}

TEST(Dropout, Derivatives) {
  Rng values(8);
  const auto f = [](const Tensors& in) {
    Rng rng(9);
    return dropout(in[0], 0.5, rng);
  };
  test::expect_gradients(f, {test::random_tensor({3, 5}, values)});
  test::expect_second_order(f, {test::random_tensor({3, 5}, values)});
}

TEST(Dropout, Errors) {
  Rng rng(10);
  for (const double p : {-0.1, 1.1, nan})
    EXPECT_THROWS_WITH(dropout(ones({2}), p, rng), ValueError,
                       "dropout: p must be a probability from 0 to 1");
  EXPECT_THROWS_WITH(dropout(ones({2}, int64), 0.5, rng), DTypeError, "dropout");
  EXPECT_EQ(rng, Rng(10));
}

}  // namespace
}  // namespace regard

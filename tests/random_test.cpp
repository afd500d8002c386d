#include "regard/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "regard/error.hpp"

namespace regard {
namespace {

using Block = std::array<std::uint32_t, 4>;

// The three philox4x32-10 vectors of Random123's known-answer file; the last one is made of the digits of pi.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox_block(0, 0, 0), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint64_t ones = ~std::uint64_t{0};
  EXPECT_EQ(philox_block(ones, ones, ones), (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox_block(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, WordIsWhatTheGeneratorDrawsThere) {
  Rng rng = Rng(5).split(3);
  const Rng::State start = rng.state();
  for (std::uint64_t index = 0; index < 20; ++index)
    EXPECT_EQ(rng.bits(), philox_word(start.seed, start.stream, index)) << "word " << index;
}

TEST(Rng, SameSeedSameNumbersOtherSeedOthers) {
  Rng a(7), b(7), c(8);
  int equal_to_other_seed = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t x = a.next();
    EXPECT_EQ(x, b.next());
    equal_to_other_seed += x == c.next();
  }
  EXPECT_EQ(equal_to_other_seed, 0);
}

// Pins the stream: a change here changes the result of every seeded run.
TEST(Rng, FirstNumbersOfSeedZero) {
  Rng rng(0);
  EXPECT_EQ(rng.next(), 0xe169c58d6627e8d5);
  EXPECT_EQ(rng.bits(), 0xbc57ac4c);
  Rng from_the_start(0);
  EXPECT_EQ(from_the_start.uniform(), static_cast<double>(0xe169c58d6627e8d5 >> 11) / 9007199254740992.0);
}

TEST(Rng, StateRoundTripAnywhereInABlock) {
  for (int drawn = 0; drawn < 9; ++drawn) {
    Rng rng(11);
    for (int i = 0; i < drawn; ++i) rng.bits();
    Rng restored(rng.state());
    EXPECT_EQ(restored, rng);
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(rng.bits(), restored.bits()) << drawn << " words drawn before";
      EXPECT_EQ(rng.normal(), restored.normal()) << drawn << " words drawn before";
    }
    EXPECT_EQ(rng.state(), restored.state());
  }
}

TEST(Rng, CopyContinuesFromTheSamePlace) {
  Rng rng(3);
  rng.bits();
  Rng copy = rng;
  EXPECT_EQ(copy.next(), rng.next());
  EXPECT_EQ(copy, rng);
  copy.bits();
  EXPECT_NE(copy, rng);
}

TEST(Rng, UniformStaysInRangeAndHasItsMoments) {
  Rng rng(1);
  const int n = 200000;
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double x = rng.uniform();
    ASSERT_GE(x, 0.0);
    ASSERT_LT(x, 1.0);
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / n, 0.5, 5 * std::sqrt(1.0 / 12 / n));  // five standard errors
  EXPECT_NEAR(squares / n, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / n));
}

TEST(Rng, UniformBetweenTwoNumbers) {
  Rng rng(2);
  const int n = 100000;
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    const double x = rng.uniform(-3, 5);
    ASSERT_GE(x, -3.0);
    ASSERT_LE(x, 5.0);
    sum += x;
  }
  EXPECT_NEAR(sum / n, 1.0, 5 * 8 * std::sqrt(1.0 / 12 / n));
  const double big = std::numeric_limits<double>::max();
  EXPECT_TRUE(std::isfinite(rng.uniform(-big, big)));
  EXPECT_EQ(rng.uniform(2.5, 2.5), 2.5);
  EXPECT_THROW(rng.uniform(1, 0), ValueError);
  EXPECT_THROW(rng.uniform(0, std::numeric_limits<double>::infinity()), ValueError);
  EXPECT_THROW(rng.uniform(std::nan(""), 1), ValueError);
}

TEST(Rng, NormalHasItsMomentsAndTails) {
  Rng rng(4);
  const int n = 400000;
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0;
  int beyond_two = 0;
  for (int i = 0; i < n; ++i) {
    const double x = rng.normal();
    m1 += x;
    m2 += x * x;
    m3 += x * x * x;
    m4 += x * x * x * x;
    beyond_two += std::fabs(x) > 2;
  }
  EXPECT_NEAR(m1 / n, 0, 5 * std::sqrt(1.0 / n));
  EXPECT_NEAR(m2 / n, 1, 5 * std::sqrt(2.0 / n));
  EXPECT_NEAR(m3 / n, 0, 5 * std::sqrt(15.0 / n));
  EXPECT_NEAR(m4 / n, 3, 5 * std::sqrt(96.0 / n));
  const double p = std::erfc(std::sqrt(2.0));
  EXPECT_NEAR(static_cast<double>(beyond_two) / n, p, 5 * std::sqrt(p * (1 - p) / n));
}

TEST(NormalQuantile, InvertsTheDistributionFunction) {
  const auto distribution = [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; };
  for (const double p : {0x1p-53, 1e-15, 1e-12, 1e-11, 1.4e-11, 1e-6, 0.01, 0.0749, 0.0751, 0.3, 0.4999}) {
    EXPECT_NEAR(distribution(normal_quantile(p)) / p, 1, 2e-14) << p;
    // 1 - p is rounded, which far out in the tail is a visible change of p.
    EXPECT_NEAR(normal_quantile(1 - p) / -normal_quantile(1 - (1 - p)), 1, 1e-14) << p;
  }
  EXPECT_EQ(normal_quantile(0.5), 0.0);
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-15);
  for (const double p : {0.0, 1.0, -1.0, std::nan("")}) EXPECT_THROW(normal_quantile(p), ValueError);
}

TEST(Rng, BelowIsUniform) {
  Rng rng(5);
  const int n = 7, draws = 70000;
  std::vector<int> count(n);
  for (int i = 0; i < draws; ++i) {
    const std::int64_t k = rng.below(n);
    ASSERT_GE(k, 0);
    ASSERT_LT(k, n);
    ++count[static_cast<std::size_t>(k)];
  }
  double chi_square = 0;
  for (const int c : count) chi_square += (c - 10000.0) * (c - 10000.0) / 10000.0;
  EXPECT_LT(chi_square, 22.46);  // 99.9 % point with 6 degrees of freedom
}

// With n = 3 * 2^61 a plain remainder of 64 bits would hit the lower two thirds of the range 1.5 times as
// often as it should the upper one: 3/8 of all draws below 2^61 instead of 1/3.
TEST(Rng, BelowHasNoBiasForLargeRanges) {
  Rng rng(6);
  const std::int64_t third = std::int64_t{1} << 61;
  const int draws = 20000;
  int low = 0;
  for (int i = 0; i < draws; ++i) low += rng.below(3 * third) < third;
  EXPECT_NEAR(static_cast<double>(low) / draws, 1.0 / 3, 5 * std::sqrt(2.0 / 9 / draws));
}

TEST(Rng, BelowEdges) {
  Rng rng(7);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(rng.below(1), 0);
  EXPECT_GE(rng.below(std::numeric_limits<std::int64_t>::max()), 0);
  EXPECT_THROW(rng.below(0), ValueError);
  EXPECT_THROW(rng.below(-4), ValueError);
}

TEST(Rng, ChanceHasItsProbability) {
  Rng rng(8);
  int yes = 0;
  for (int i = 0; i < 100000; ++i) {
    yes += rng.chance(0.3);
    ASSERT_FALSE(rng.chance(0));
    ASSERT_TRUE(rng.chance(1));
  }
  EXPECT_NEAR(yes / 1e5, 0.3, 5 * std::sqrt(0.21 / 1e5));
  EXPECT_THROW(rng.chance(-0.1), ValueError);
  EXPECT_THROW(rng.chance(1.1), ValueError);
  EXPECT_THROW(rng.chance(std::nan("")), ValueError);
}

TEST(Rng, SplitsAreIndependentAndDoNotAdvance) {
  Rng rng(9);
  const Rng::State before = rng.state();
  std::vector<Rng> streams{
      rng, rng.split(0), rng.split(1), rng.split(1).split(0), rng.split(0).split(1), Rng(10).split(1)};
  EXPECT_EQ(rng.state(), before);
  rng.next();
  EXPECT_EQ(rng.split(1), streams[2]);  // does not depend on how far the parent has come

  const int n = 20000;
  std::vector<std::vector<double>> drawn;
  for (Rng& stream : streams) {
    drawn.emplace_back();
    for (int i = 0; i < n; ++i) drawn.back().push_back(stream.uniform() - 0.5);
  }
  for (std::size_t a = 0; a < drawn.size(); ++a)
    for (std::size_t b = a + 1; b < drawn.size(); ++b) {
      const double dot = std::inner_product(drawn[a].begin(), drawn[a].end(), drawn[b].begin(), 0.0);
      EXPECT_NEAR(dot / n * 12, 0, 5 / std::sqrt(n)) << "correlation of streams " << a << " and " << b;
    }
}

TEST(Rng, ShuffleIsAPermutationAndEveryOrderIsEquallyLikely) {
  Rng rng(10);
  std::vector<int> items(100);
  std::iota(items.begin(), items.end(), 0);
  const std::vector<int> sorted = items;
  rng.shuffle(items);
  EXPECT_NE(items, sorted);
  EXPECT_TRUE(std::is_permutation(items.begin(), items.end(), sorted.begin(), sorted.end()));

  std::vector<int> count(6);
  for (int i = 0; i < 60000; ++i) {
    std::vector<int> three{0, 1, 2};
    rng.shuffle(three);
    ++count[static_cast<std::size_t>(three[0] * 2 + (three[1] > three[2]))];
  }
  double chi_square = 0;
  for (const int c : count) chi_square += (c - 10000.0) * (c - 10000.0) / 10000.0;
  EXPECT_LT(chi_square, 20.52);  // 99.9 % point with 5 degrees of freedom

  std::vector<int> none;
  rng.shuffle(none);
  EXPECT_TRUE(none.empty());
}

}  // namespace
}  // namespace regard

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include <regard/error.hpp>
#include <regard/optim.hpp>

#include "support/throws.hpp"

namespace regard {
namespace {

std::vector<double> rates(Size count, const std::function<double(Size)>& rate) {
  std::vector<double> all;
  for (Size step = 0; step < count; ++step) all.push_back(rate(step));
  return all;
}

TEST(Schedule, ConstantStays) {
  EXPECT_EQ(rates(3, [](Size step) { return constant_rate(0.5, step); }),
            (std::vector<double>{0.5, 0.5, 0.5}));
}

// The first step is not wasted on a rate of 0.
TEST(Schedule, WarmUpStartsAboveZeroAndEndsAtTheBase) {
  EXPECT_EQ(rates(6, [](Size step) { return warmup_rate(1, step, 4); }),
            (std::vector<double>{0.25, 0.5, 0.75, 1, 1, 1}));
  EXPECT_EQ(warmup_rate(1, 0, 0), 1);
}

TEST(Schedule, CosineFallsToItsMinimum) {
  CosineOptions options;
  options.total_steps = 4;
  const std::vector<double> expected = {1, 0.853553390593274, 0.5, 0.146446609406726, 0, 0};
  const std::vector<double> found = rates(6, [&](Size step) { return cosine_rate(1, step, options); });
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-15) << "step " << i;
  options.minimum = 0.2;
  EXPECT_NEAR(cosine_rate(1, 2, options), 0.6, 1e-15);
  EXPECT_EQ(cosine_rate(1, 4, options), 0.2);
}

TEST(Schedule, CosineBeginsAfterTheWarmUp) {
  CosineOptions options;
  options.total_steps = 6;
  options.warmup_steps = 2;
  const std::vector<double> expected = {0.5, 1, 1, 0.853553390593274, 0.5, 0.146446609406726, 0};
  const std::vector<double> found = rates(7, [&](Size step) { return cosine_rate(1, step, options); });
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-15) << "step " << i;
}

TEST(Schedule, NothingIsDividedByZero) {
  CosineOptions options;
  options.total_steps = 3;
  options.warmup_steps = 3;
  EXPECT_EQ(cosine_rate(1, 2, options), 1);
  EXPECT_EQ(cosine_rate(1, 3, options), 0);
  options.total_steps = options.warmup_steps = 0;
  EXPECT_EQ(cosine_rate(1, 0, options), 0);
}

TEST(Schedule, RefusesWhatMakesNoSense) {
  CosineOptions options;
  options.total_steps = 3;
  options.warmup_steps = 4;
  EXPECT_THROWS_WITH(cosine_rate(1, 0, options), ValueError, "got 4 and 3");
  EXPECT_THROWS_WITH(constant_rate(1, -1), ValueError, "counted from 0");
  EXPECT_THROWS_WITH(warmup_rate(1, -1, 2), ValueError, "counted from 0");
  EXPECT_THROWS_WITH(warmup_rate(1, 0, -2), ValueError, "warmup_steps");
  EXPECT_THROWS_WITH(cosine_rate(1, -1, {}), ValueError, "counted from 0");
}

}  // namespace
}  // namespace regard
